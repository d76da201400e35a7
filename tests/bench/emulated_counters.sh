#!/usr/bin/env bash
# Records hardware counters and emulated ones of the same small problems: emulated_counters.sh TREE OUT.convscope
# PROBLEMS (a pattern of its lines) and KERNELS choose some; what OUT holds already stays.
# Then, without a GPU: emulated_table.py OUT.convscope >results/h200-emulated.md
set -uo pipefail
convscope=$1/bin/convscope out=$2
export CONVSCOPE_COUNT_ALL=1  # whole grids: counts that can be the same to the last one
kernels=${KERNELS:-S0 S1 S2 S3 S4 direct scatter polyphase tiled registers mma_tf32 mma_3xtf32}
# Stride, dilation, groups, padding and an output padding; some tens of thousands of outputs each.
while read -r options; do
  # shellcheck disable=SC2086
  "$convscope" record "$out" $kernels --add $options --device "${DEVICE:-cuda}" --samples 5
done < <(grep -E "${PROBLEMS:-.}" <<'PROBLEMS'
--preset kernelbench-64-small
--preset kernelbench-74-small
--preset kernelbench-79-small
--batch 2 --in-channels 16 --out-channels 16 --kernel-size 4 --length 1000 --stride 2 --padding 1 --dilation 3
--batch 2 --in-channels 32 --out-channels 64 --kernel-size 5 --length 512 --stride 3 --padding 2 --output-padding 1 --groups 4 --bias
PROBLEMS
)
