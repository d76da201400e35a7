#!/usr/bin/env bash
# What ./dev test does with tests that fail: on three of its own, of which one fails once, and another as often as asked.
# again_test.sh PATH_OF_DEV
set -euo pipefail
eval "$(sed -n '/^say() {/p; /^test_all() {/,/^}/p' "$1")"
in=$(mktemp -d)
trap 'rm -rf "$in"' EXIT
cd "$in"
cat >CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(again NONE)
enable_testing()
add_test(NAME Good.One COMMAND true)
add_test(NAME Fails.Once COMMAND sh -c "echo said once; test -e ${CMAKE_SOURCE_DIR}/was || { touch ${CMAKE_SOURCE_DIR}/was; exit 1; }")
add_test(NAME Fails.Always COMMAND sh -c "echo said always; test ! -e ${CMAKE_SOURCE_DIR}/always")
TEXT
cat >CMakePresets.json <<'TEXT'
{"version": 3, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "build/release"}],
 "testPresets": [{"name": "release", "configurePreset": "release", "execution": {"jobs": 3}}]}
TEXT
cmake --preset release >/dev/null

wrong() {
  echo "$1"
  cat said
  exit 1
}
# attempt STATUS: what it ends with
attempt() {
  local status=0
  (set -e; test_all release) >said 2>&1 || status=$?
  [ "$status" -eq "$1" ] || wrong "ended with $status instead of $1"
}
attempt 0
grep -q "Fails.Once failed beside others" said || wrong "what failed once is not told"
grep -qx "said once" said || wrong "what it printed is not told"
grep -q "Fails.Once did not fail alone" said || wrong "that it passed then is not told"
attempt 0
if grep -q "run once more" said; then wrong "what passes is run again"; fi
rm was
touch always
attempt 8
grep -q "Fails.Once did not fail alone" said || wrong "which of two passed is not told"
if grep -q "Fails.Always did not fail alone" said; then wrong "what fails always is said to have passed"; fi
