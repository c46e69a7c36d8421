#!/usr/bin/env bash
# Runs every benchmark of the build and of bench/. Each prints its figures and ratios; one that misses its bound fails.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
found=0
for program in build/bench/*_bench bench/*_bench.py; do
  [ -x "$program" ] || continue
  found=1
  echo "== $(basename "$program")"
  "$program" || { echo "missed: $(basename "$program")"; status=1; }
done
if [ $found -eq 0 ]; then
  echo "bench: there is no benchmark; build with ROCBRIDGE_BENCH=ON" >&2
  exit 3
fi
exit $status
