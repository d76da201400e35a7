#!/usr/bin/env bash
# Our kernel times and counters against ncu's, in a minute: gpu_ncu.sh TREE OUT
# TREE is an installed tree with its tests (gpu_profile.sh says how). Writes OUT/ncu.md, OUT/ours.txt and OUT/ncu.csv.
# KernelBench #79 with BATCH (16: as it is, 1.3 GB, so that the L2 cache holds little of it and a launch is no matter of
# microseconds). Clocks and caches are left alone, as ours leaves them.
set -uo pipefail
tree=$1 out=$2
mkdir -p "$out"
tests="$tree/bin/profiling_gpu_tests"
export CONVSCOPE_TEST_BATCH=${BATCH:-16}
export LD_LIBRARY_PATH="$tree/lib:${LD_LIBRARY_PATH:-}"
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors.sum
metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
metrics+=,lts__t_sector_hit_rate.pct,l1tex__t_sector_hit_rate.pct,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
start=$SECONDS
timeout 40 "$tests" --gtest_filter='*CountsEachKernel' >"$out/ours.txt" 2>&1
echo "ours: exit $?, $((SECONDS - start)) s"
start=$SECONDS
timeout 90 ncu --clock-control none --cache-control none --csv --page raw --print-units base --metrics "$metrics" \
  "$tests" --gtest_filter='*RunsEachKernelFiveTimes' >"$out/ncu.csv" 2>"$out/ncu.err"
echo "ncu: exit $?, $((SECONDS - start)) s; $(ncu --version | tail -1)"
{
  echo "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), $(date -u +%F), $(ncu --version | tail -1)"
  echo "\`BATCH=$CONVSCOPE_TEST_BATCH tests/bench/gpu_ncu.sh TREE OUT\`, KernelBench #79; ours over ncu's, =: the same number."
  echo
  python3 "$(dirname "$0")/ncu_table.py" "$out/ours.txt" "$out/ncu.csv"
} | tee "$out/ncu.md"
