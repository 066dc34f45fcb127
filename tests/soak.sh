#!/usr/bin/env bash
# The long form of the durability tests: every crash point, failing step and power cut of every sample in
# `tests/it/samples.rs`, a share of their pairs, and some hundred rounds of kills. Prints what was tried and what went
# wrong: what was lost, torn, doubled or half done.
#
#   tests/soak.sh [ROUNDS OF KILLS, 500] [SEED]
#
# CRASH_ONLY=TEXT takes only the samples whose name contains it.
set -euo pipefail
cd "$(dirname "$0")/.."

export CRASH_ALL=1 CRASH_ROUNDS="${1:-500}"
if [ -n "${2:-}" ]; then export CRASH_SEED="$2"; fi
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

cargo test --quiet --test it --no-run
status=0
cargo test --test it -- --nocapture \
  crash_points:: power_cuts:: failing_disks:: mounted_files:: mishaps:: killer:: 2>&1 | tee "$log" | grep --line-buffered -v '^tally: ' || true
grep -q '^test result: ok' "$log" || status=1

echo
echo "| what | tried | wrong |"
echo "| --- | ---: | ---: |"
grep -o 'tally: .*' "$log" | awk -F ': ' '
  $3 == "wrong" { wrong[$2] = $4; next }
  { tried[$2] = $3 }
  END { for (what in tried) printf "| %s | %d | %s |\n", what, tried[what], (what in wrong) ? wrong[what] : "–" }' | sort
exit "$status"
