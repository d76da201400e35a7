#!/usr/bin/env bash
# readme_rungs.py sees a README that is not of the results, and takes reports of a GPU: readme_rungs_test.sh DIRECTORY
set -euo pipefail
here=$(dirname "$0") work=$1
script="$here/readme_rungs.py"
mkdir -p "$work"
fail() { echo "readme_rungs_test.sh: $1" >&2; exit 1; }

python3 "$script" --check || fail "the README's table is not that of the results"

# One digit of a result, and one row of the README.
sed '0,/"ms": 44.5/s//"ms": 44.6/' "$here/results/rungs.json" >"$work/rungs.json"
said=$(python3 "$script" --check --results "$work/rungs.json" 2>&1) && fail "another result is not seen"
[[ $said == *"| S0 |"*"44.6"* ]] || fail "the row is not named: $said"
sed '/^| direct |/d' "$here/../../README.md" >"$work/README.md"
python3 "$script" --check --readme "$work/README.md" >/dev/null 2>&1 && fail "a missing row is not seen"
python3 "$script" --write --readme "$work/README.md"
cmp -s "$work/README.md" "$here/../../README.md" || fail "--write does not restore the table"

# A rung that is slower than the one before it everywhere is none.
sed 's/"kernelbench-79": {"ms": 38.5,/"kernelbench-79": {"ms": 388.5,/; s/"kernelbench-74": {"ms": 57.1,/"kernelbench-74": {"ms": 571,/; s/"kernelbench-64": {"ms": 281.0,/"kernelbench-64": {"ms": 2810,/' "$here/results/rungs.json" >"$work/rungs.json"
said=$(python3 "$script" --results "$work/rungs.json" 2>&1) && fail "a rung that gains nothing is not seen"
[[ $said == *"polyphase is faster than scatter on no problem"* ]] || fail "it is not named: $said"

# One that gains on another layer only is a branch, and no branch is slower where it says that it gains.
sed 's/"row": "tiled",/&\n   "branch": false,/; s/"after": {"rung": "polyphase"}/"after": {"rung": "polyphase", "at": "dac.d1", "at_ms": 1, "ms": {"dac.d1": 2}}/' "$here/results/rungs.json" >"$work/rungs.json"
said=$(python3 "$script" --results "$work/rungs.json" 2>&1) && fail "a rung that gains elsewhere is not seen"
[[ $said == *"tiled is held against polyphase on dac.d1: a rung must gain on one of the three"* ]] || fail "it is not named: $said"
sed 's/"at_ms": 0.161/"at_ms": 0.261/' "$here/results/rungs.json" >"$work/rungs.json"
said=$(python3 "$script" --results "$work/rungs.json" 2>&1) && fail "a branch that gains nothing is not seen"
[[ $said == *"ordered_3xf16 is faster than stream_3xf16 on no problem"* ]] || fail "it is not named: $said"

# Reports: of a GPU and of a problem of the table only.
report() {  # KIND STRIDE
  printf '{"device": {"kind": "%s"}, "problem": {"batch": 16, "in_channels": 32, "out_channels": 64, "kernel_size": 3, "length": 131072, "stride": %s, "padding": 1, "dilation": 2, "dtype": "f32", "bias": false}, "entries": [{"name": "tiled", "hot": {"median_ms": 1.234}}]}' "$1" "$2"
}
cp "$here/results/rungs.json" "$work/rungs.json"
report cuda 2 >"$work/bench.json"
[[ $(python3 "$script" --results "$work/rungs.json" --take "$work/bench.json") == *"| tiled |"*"| ✓ 1.23 |"* ]] || fail "a report is not taken"
for other in "emulator 2" "cuda 4"; do
  # shellcheck disable=SC2086
  report $other >"$work/bench.json"
  python3 "$script" --results "$work/rungs.json" --take "$work/bench.json" >/dev/null 2>&1 && fail "taken: $other"
done
echo "as it should be"
