#!/usr/bin/env bash
# What the profiler must show on a GPU, in one call: gpu_profile.sh TREE OUT
# TREE is an installed tree with its tests (cmake --install build/release --prefix TREE, and again with --component tests).
# Writes OUT/log.txt (all figures), OUT/ncu.csv, OUT/profile.json, OUT/bench.json, OUT/trace.json.
set -uo pipefail
tree=$1 out=$2
mkdir -p "$out"
log="$out/log.txt"
convscope="$tree/bin/convscope"
tests="$tree/bin/profiling_gpu_tests"
step() { echo "== $1 ($(date -u +%T))" | tee -a "$log"; }
{
  date -u +%F
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  grep RmProfilingAdminOnly /proc/driver/nvidia/params
  ls -l /usr/local/cuda/extras/CUPTI/lib64/libcupti.so* /usr/local/cuda/lib64/libcupti.so* 2>/dev/null
} 2>&1 | tee "$log"

step "tests"
timeout 60 "$tests" --gtest_filter='-*RunsEachKernelFiveTimes:*CountsEachKernel:*CountsOnSmallProblems' 2>&1 | tee "$out/tests.txt" |
  grep -vE '^\[ RUN|^\[---|^$' | tee -a "$log"

step "our figures and ncu's"
timeout 30 "$tests" --gtest_filter='*CountsEachKernel:*CountsOnSmallProblems' >"$out/ours.txt" 2>&1
grep -E '^ours|FAILED|PASSED|SKIPPED' "$out/ours.txt" | wc -l | tee -a "$log"
metrics=gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors.sum
metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
metrics+=,lts__t_sector_hit_rate.pct,l1tex__t_sector_hit_rate.pct,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
timeout 35 ncu --clock-control none --cache-control none --csv --page raw --print-units base --metrics "$metrics" \
  "$tests" --gtest_filter='*RunsEachKernelFiveTimes' >"$out/ncu.csv" 2>"$out/ncu.err"
tail -2 "$out/ncu.err" | tee -a "$log"
python3 "$(dirname "$0")/ncu_table.py" "$out/ours.txt" "$out/ncu.csv" 2>&1 | tee -a "$log"

step "a tool that holds CUPTI"
timeout 20 ncu --target-processes all --kernel-name none_of_ours "$convscope" profile direct --length 64 --samples 5 --device cuda 2>&1 |
  grep -E 'counters|of it|time hot' | tee -a "$log"

step "profile and bench"
timeout 40 "$convscope" profile tiled --preset kernelbench-79 --set full --samples 20 --device cuda 2>>"$log" | tee -a "$log"
timeout 40 "$convscope" profile cudnn --preset kernelbench-79 --set full --samples 20 --device cuda --json >"$out/profile.json" 2>>"$log"
timeout 40 "$convscope" profile registers --preset kernelbench-79 --set full --samples 20 --device cuda --format chrome-trace --out "$out/trace.json" 2>>"$log"
timeout 60 "$convscope" bench tiled registers --against cudnn --preset kernelbench-79 --samples 40 --device cuda --out "$out/bench.json" --format json 2>>"$log"
python3 - "$out/profile.json" "$out/bench.json" <<'PY' 2>&1 | tee -a "$log"
import json, sys
p = json.load(open(sys.argv[1]))
print("cudnn:", p["kernel"]["what_ran"], "hot", p["timing"]["hot"]["median_ms"], "kernels", p["timing"]["kernel_ms"], [k["name"][:60] for k in p["kernels"]])
print("cudnn:", p["bottleneck"]["rule"], p["bottleneck"]["sentence"])
for h in p["headlines"]: print("   ", h["name"], h["value"], h.get("reason", ""))
b = json.load(open(sys.argv[2]))
for e in b["entries"]:
    print("bench", e["name"], e["hot"]["median_ms"], e["hot"]["interval_ms"], "cold", e["cold"]["median_ms"], "x floor", e["times_floor"], e["against"]["hot"].get("verdict"), e["against"]["hot"].get("evidence", ""))
c = b["conditions"]
print("rounds", b["rounds"], "sm", c["sm_mhz"], "W", c["power_w"], "C", c["temperature_c"], c["slower_because"], b["warnings"])
PY
step "end"
