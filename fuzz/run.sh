#!/usr/bin/env bash
# Fuzzes every target, SECONDS in all (default 60), seeds included. Fails at the first crash and says how to see it again.
# FUZZ_SEED=N makes the same choices again; without it they are new each time.
set -euo pipefail
cd "$(dirname "$0")"

total=${1:-60}
# cargo-fuzz wants flags that a stable compiler takes only so; a nightly does not mind.
export RUSTC_BOOTSTRAP=1
command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

mapfile -t targets < <(sed -n 's/^name = "\(.*\)"/\1/p' Cargo.toml | grep -v -- -fuzz)
# The program is safe Rust: no sanitizer is needed, and without one it builds and runs far faster.
cargo fuzz build --sanitizer none --target "$host"
each=$((total / ${#targets[@]}))
for target in "${targets[@]}"; do
    echo "fuzzing $target for ${each} s"
    # What is found goes to a scratch folder; only the seeds are kept with the source.
    found=$(mktemp -d)
    status=0
    cargo fuzz run --sanitizer none --target "$host" "$target" "$found" "seeds/$target" -- \
        -seed="${FUZZ_SEED:-0}" -max_total_time=$((each > 0 ? each : 1)) -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
        >"$found.log" 2>&1 || status=$?
    grep -a '^Done' "$found.log" || true
    if [ "$status" -ne 0 ]; then
        grep -a -A 6 -e 'panicked at' -e 'ERROR: libFuzzer' -e '^error' "$found.log" | cut -c 1-2000 | head -n 40 || true
        input=$(sed -n 's/.*Test unit written to //p' "$found.log" | head -n 1)
        echo "again: cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none $target $input" >&2
        exit 1
    fi
    rm -rf "$found" "$found.log"
done
