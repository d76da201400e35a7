#!/usr/bin/env bash
# What the samplers must show on a GPU, in one call of about two minutes: gpu_sampling.sh TREE OUT
# TREE is an installed tree with its tests (gpu_profile.sh says how). Writes OUT/log.txt and profiles as JSON and as a trace.
set -uo pipefail
tree=$1 out=$2
mkdir -p "$out"
log="$out/log.txt"
export LD_LIBRARY_PATH="$tree/lib:${LD_LIBRARY_PATH:-}"
{
  date -u +%F
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  # Samples of warps in engines of their own, lines, disassembly; then lanes against counters.
  timeout 90 "$tree/bin/engine_gpu_tests" --gtest_filter='SamplesGpu.*'
  timeout 90 "$tree/bin/profiling_gpu_tests" --gtest_filter='TimelineGpu.*'
} 2>&1 | tee "$log" | grep -vE '^\[ RUN|^\[---|^$'
for kernel in direct tiled stream_tf32 hopper_3xtf32; do
  timeout 30 "$tree/bin/convscope" profile "$kernel" --preset kernelbench-79 --batch 4 --accuracy tf32 --set full --json >"$out/$kernel.json"
done
timeout 30 "$tree/bin/convscope" profile tiled --preset kernelbench-79 --batch 4 --set full --format chrome-trace --out "$out/trace.json"
timeout 30 "$tree/bin/convscope" profile stream_tf32 --preset kernelbench-79 --batch 4 --accuracy tf32 --set full | tee -a "$log"
