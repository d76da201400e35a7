#!/usr/bin/env bash
# Makes the recordings that come with the program, on the GPU whose figures they are: make_recordings.sh TREE OUT [NAME]
# TREE is an installed tree (cmake --install build/release --prefix TREE). Writes OUT/NAME-PRESET.convscope (NAME: h200),
# to be kept in assets/recordings, and OUT/record.log.
#
# TOTAL seconds are divided among the presets by what they need, and what one leaves goes to those after it (LIMIT_<n>
# bounds one by itself). In its time a preset gets the counters of all kernels, the fastest first and the first rung
# last, then the comparison, verdicts, and samples of warps. What did not fit is left out and named in the recording
# ("left_out"); while time remains, a second round goes on where the first one stopped.
# PRESETS and KERNELS choose some; with ADD=1 what a file holds already stays, but for the kernels in AGAIN (a,b,…), which
# have changed. DTYPE (f16, bf16, f64): the same problems in this type, in OUT/NAME-PRESET-DTYPE.convscope.
set -uo pipefail
tree=$1 out=$2 name=${3:-h200}
mkdir -p "$out"
total=${TOTAL:-540}
presets=${PRESETS:-kernelbench-79 kernelbench-74 hifigan.u2 encodec.d3 dac.d3 demucs.d oobleck.d5 kernelbench-64}
begin=$SECONDS
weight() {
  case $1 in
    kernelbench-64) echo 9 ;;
    kernelbench-*) echo 6 ;;
    *) echo 2 ;;
  esac
}
own_limit() {
  case $1 in
    kernelbench-64) echo "${LIMIT_64:-}" ;;
    kernelbench-*) echo "${LIMIT_KERNELBENCH:-}" ;;
    *) echo "${LIMIT_LAYER:-}" ;;
  esac
}
# One round over the presets; with anything as an argument, what is there stays, but for $again.
round() {
  local weights=0 preset left share own start
  for preset in $presets; do weights=$((weights + $(weight "$preset"))); done
  for preset in $presets; do
    left=$((total - (SECONDS - begin)))
    [ "$left" -ge 5 ] || { echo "== $preset: no time is left of $total s"; continue; }
    share=$((left * $(weight "$preset") / weights))
    weights=$((weights - $(weight "$preset")))
    own=$(own_limit "$preset")
    [ -n "$own" ] && [ "$own" -lt "$share" ] && share=$own
    echo "== $preset, at most $share s"
    start=$SECONDS
    "$tree/bin/convscope" record "$out/$name-$preset${DTYPE:+-$DTYPE}.convscope" ${KERNELS:-all} ${1:+--add} ${again:+--again "$again"} --preset "$preset" ${DTYPE:+--dtype "$DTYPE"} --device "${DEVICE:-cuda}" \
      ${SAMPLES:+--samples "$SAMPLES"} --limit "$share"
    echo "   exit $?, $((SECONDS - start)) s"
  done
}
{
  again="${AGAIN:-}" round "${ADD:-}"
  [ $((SECONDS - begin)) -lt $((total - 20)) ] && round add
  echo "== $((SECONDS - begin)) s in all"
} 2>&1 | tee "$out/record.log"
