#!/usr/bin/env bash
# What the upper rungs and the window must show on a GPU, in one call: gpu_upper.sh TREE OUT
# TREE is an installed tree with its tests (cmake --install build/release --prefix TREE, and again with --component tests).
# Writes OUT/log.txt, OUT/bench.jsonl, OUT/tests.txt and pictures of the window.
set -uo pipefail
tree=$1 out=$2
mkdir -p "$out"
log="$out/log.txt"
convscope="$tree/bin/convscope"
step() { echo "== $1 ($(date -u +%T))" | tee -a "$log"; }
{
  date -u +%F
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
} | tee "$log"

step "the kernels on random problems"
timeout 75 "$tree/bin/gpu_tests" --gtest_filter='Rungs/GpuHopper.*:Gpu.EveryRungIsRightOnRandomProblems:Gpu.GpuAndEmulatorAgreeBitwiseOnIntegers' \
  >"$out/tests.txt" 2>&1
grep -E '^\[  (FAILED|PASSED|SKIPPED)|^\[ +OK|Failure' -A3 "$out/tests.txt" | tail -20 | tee -a "$log"

step "beside cuDNN, interleaved"
: >"$out/bench.jsonl"
for preset in kernelbench-79 kernelbench-74 kernelbench-64; do
  timeout 40 "$convscope" bench hopper_tf32 mma_tf32 --against cudnn-tf32 --preset $preset --accuracy tf32 --device cuda --samples 30 --format json >"$out/one.json" 2>>"$log"
  tr -d '\n' <"$out/one.json" >>"$out/bench.jsonl"; echo >>"$out/bench.jsonl"
  timeout 40 "$convscope" bench hopper_3xtf32 registers mma_3xtf32 --against cudnn --preset $preset --accuracy 3xtf32 --device cuda --samples 30 --format json >"$out/one.json" 2>>"$log"
  tr -d '\n' <"$out/one.json" >>"$out/bench.jsonl"; echo >>"$out/bench.jsonl"
done
rm -f "$out/one.json"
python3 - "$out/bench.jsonl" <<'PY' | tee -a "$log"
import json, sys
for line in open(sys.argv[1]):
    try: r = json.loads(line)
    except ValueError: print("no bench:", line[:200]); continue
    if "entries" not in r: print(r); continue
    p = r["problem"]
    for e in r["entries"]:
        t = lambda k: "-" if not e[k] else f'{e[k]["median_ms"]:.4g} ({e[k]["interval_ms"][0]:.4g}-{e[k]["interval_ms"][1]:.4g})'
        v = e["against"]["cold"] or {}
        print(f'{p["batch"]}x{p["in_channels"]}->{p["out_channels"]} s{p["stride"]}  {e["name"]:12} hot {t("hot")} cold {t("cold")} ms  {e["times_floor"] and round(e["times_floor"], 2)} x floor  {v.get("verdict")} {v.get("speedup")}')
PY

step "PyTorch, the same GPU, another process"
timeout 60 python3 tests/bench/pytorch_times.py 15 2>&1 | tee -a "$log"

step "judged at full shape"
for preset in kernelbench-79 kernelbench-74 kernelbench-64; do
  for way in tf32 3xtf32; do
    timeout 60 "$convscope" run hopper_$way --preset $preset --accuracy $way --device cuda 2>>"$log" | head -12 | tee -a "$log"
  done
done

step "the window"
"$tree/bin/convscope-window" --verbose --screenshot "$out/window.png" --session "$tree/h200.convscope" --action profile --timeout 60 2>&1 | tail -3 | tee -a "$log"
for panel in Roofline Counters; do
  "$tree/bin/convscope-window" --screenshot "$out/$panel.png" --session "$tree/h200.convscope" --panel $panel --size 620x760 --timeout 40 2>&1 | tail -2 | tee -a "$log"
done

step "compute-sanitizer"
timeout 60 compute-sanitizer --tool memcheck "$tree/bin/gpu_tests" --gtest_filter=Rungs/GpuHopper.* >"$out/sanitizer.txt" 2>&1
echo "memcheck: exit $?, $(grep 'ERROR SUMMARY' "$out/sanitizer.txt" | tail -1)" | tee -a "$log"
