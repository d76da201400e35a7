#!/usr/bin/env bash
# What the test presets leave out by name is left out: ctest takes no regular expression of more than nine groups, and
# then leaves out nothing and says nothing. presets_test.sh DIRECTORY
set -euo pipefail
here=$(dirname "$0") work=$1
mkdir -p "$work"
fail() { echo "presets_test.sh: $1" >&2; exit 1; }
# The most groups of a name's expression in a file of presets.
groups() {
  grep -o '"name": "^[^"]*"' "$1" | sed 's/\\\\[()]//g' | tr -cd '(\n' | awk '{ if (length > most) most = length } END { print most + 0 }'
}
most=$(groups "$here/../CMakePresets.json")
[ "$most" -ge 5 ] || fail "the expressions were not found"
[ "$most" -le 9 ] || fail "an expression has $most groups, and ctest takes nine"
# The control.
sed 's/Demo\\\\\./(D)(e)(m)(o)(s)/' "$here/../CMakePresets.json" >"$work/many.json"
[ "$(groups "$work/many.json")" -gt 9 ] || fail "many groups are not seen"
