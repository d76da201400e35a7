#!/usr/bin/env bash
# What the core must show on a GPU, in one call: gpu_core.sh TREE OUT [quick|rest]
# TREE is an installed tree with its tests (cmake --install build/cuda --prefix TREE, and again with --component tests).
# quick: without the demo and the sanitizer; rest: only those.
# Writes OUT/core.jsonl (one report of `run --json` a line), OUT/demo, OUT/sanitizer.txt and OUT/log.txt.
set -uo pipefail
tree=$1 out=$2 quick=${3:-}
mkdir -p "$out"
log="$out/log.txt"
convscope="$tree/bin/convscope"
{
  date -u +%F
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  "$convscope" info
} | tee "$log"

if [ "$quick" != rest ]; then
echo "== gpu tests" | tee -a "$log"
timeout 300 "$tree/bin/gpu_tests" 2>&1 | tee "$out/gpu_tests.txt" | grep -E '^\[  (FAILED|PASSED|SKIPPED)|^\[==|Failure|rror' | tail -40 | tee -a "$log"

echo "== every kernel at full shape" | tee -a "$log"
: >"$out/core.jsonl"
for preset in kernelbench-79 kernelbench-74 kernelbench-64; do
  for kernel in S0 S1 S2 S3 S4 direct scatter polyphase tiled registers mma_tf32 mma_3xtf32 hopper_tf32 hopper_3xtf32 stream_tf32 stream_3xtf32 columns_tf32 columns_3xtf32; do
    start=$(date +%s.%N)
    accuracy=strict # each is held to what it promises
    case $kernel in *_3xtf32) accuracy=3xtf32 ;; *_tf32) accuracy=tf32 ;; esac
    timeout 120 "$convscope" run $kernel --accuracy $accuracy --preset $preset --device cuda --json >"$out/one.json" 2>>"$log"
    code=$?
    python3 - "$out/one.json" "$preset" "$code" "$(date +%s.%N)" "$start" <<'PY' | tee -a "$log"
import json, sys
r = json.load(open(sys.argv[1]))
if "error" in r and "verdict" not in r: print(sys.argv[2], r); sys.exit()
e, t = r["error"], r["timing"]
f = lambda v: "-" if v is None else f"{v:.4g}" if not isinstance(v, str) else v
print(f'{sys.argv[2]:15} {r["kernel"]["name"]:10} exit {sys.argv[3]} {float(sys.argv[4])-float(sys.argv[5]):5.1f} s  hot {f(t and t["median_ms"])} ms cold {f(t and t["cold"] and t["cold"]["median_ms"])} floor {f(t and t["floor_ms"])}'
      f'  fail {f(e and e["failing_fraction"])} gate {f(e and e["gates"][0]["failing_fraction"])}  ' + r["verdict"]["sentence"][:150])
print("      where the time went: " + ", ".join(f'{p["name"]} {p["seconds"]:.1f} s' for p in sorted(r.get("phases", []), key=lambda p: -p["seconds"])[:5]))
if r["kernel"]["name"] in ("S0", "tiled"):
    for q in r["references"]: print("     ", q["name"], f(q["median_ms"]), "ms, worst of bound", f(q["max_bound_ratio"]), "max abs", f(q["max_abs"]), q.get("what_ran", ""), q.get("reason", ""))
PY
    tr -d '\n' <"$out/one.json" >>"$out/core.jsonl"; echo >>"$out/core.jsonl"
  done
done
rm -f "$out/one.json"
fi
[ "$quick" = quick ] && exit 0

echo "== demo" | tee -a "$log"
(time timeout 300 "$convscope" demo --out "$out/demo") 2>&1 | tee -a "$log" | tail -40

echo "== compute-sanitizer" | tee -a "$log"
for tool in memcheck racecheck initcheck synccheck; do
  timeout 200 compute-sanitizer --tool $tool "$tree/bin/gpu_tests" --gtest_filter='Gpu.EveryRungIsRightOnRandomProblems:Rungs/GpuHopper.*:Gpu.GpuAndEmulatorAgreeBitwiseOnIntegers:Gpu.DeviceOracleAgreesWithTheCpuOracle' >"$out/sanitizer-$tool.txt" 2>&1
  echo "$tool: exit $?, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/sanitizer-$tool.txt" | tail -1), $(grep -E '^\[  (PASSED|FAILED)' "$out/sanitizer-$tool.txt" | head -2 | tr '\n' ' ')" | tee -a "$log" | tee -a "$out/sanitizer.txt"
done
