#!/usr/bin/env bash
# Makes the recordings that come with the program, on the GPU whose figures they are: make_recordings.sh TREE OUT [NAME]
# TREE is an installed tree (cmake --install build/release --prefix TREE). Writes OUT/NAME-PRESET.convscope (NAME: h200),
# to be kept in assets/recordings, and OUT/record.log.
# LIMIT_<n> seconds bound a preset (LIMIT: all of them): a recording that reaches its limit keeps what it has, the
# fastest kernels first. PRESETS and KERNELS choose some; with ADD=1 what a file holds already stays.
set -uo pipefail
tree=$1 out=$2 name=${3:-h200}
mkdir -p "$out"
for preset in ${PRESETS:-kernelbench-79 kernelbench-74 hifigan.u2 encodec.d3 dac.d3 demucs.d oobleck.d5 kernelbench-64}; do
  case $preset in
    kernelbench-64) limit=${LIMIT_64:-${LIMIT:-600}} ;;
    kernelbench-*) limit=${LIMIT_KERNELBENCH:-${LIMIT:-300}} ;;
    *) limit=${LIMIT_LAYER:-${LIMIT:-120}} ;;
  esac
  echo "== $preset"
  start=$(date +%s)
  "$tree/bin/convscope" record "$out/$name-$preset.convscope" ${KERNELS:-all} ${ADD:+--add} --preset "$preset" --device cuda --limit "$limit"
  echo "   exit $?, $(($(date +%s) - start)) s"
done 2>&1 | tee "$out/record.log"
