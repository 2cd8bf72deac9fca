#!/usr/bin/env bash
# Wall time of `botpsy ask` with the embedded model, from start to exit, and the size of the program.
#
#   checks/ask_latency.sh [PROGRAM] [RUNS]
#
# PROGRAM is built in release mode when it is not given. Fails when a run takes a second or the program has 15 MB.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
runs=${2:-20}
if [ $# -ge 1 ]; then
  program=$1
else
  cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p botpsy
  program=${CARGO_TARGET_DIR:-$root/target}/release/botpsy
fi

times=$(
  for _ in $(seq "$runs"); do
    start=${EPOCHREALTIME/[.,]/}
    "$program" ask --json "set an alarm for 7 am tomorrow" </dev/null | grep -q '"tool_calls":\[{"name":"set_alarm"'
    end=${EPOCHREALTIME/[.,]/}
    echo $(((end - start) / 1000))
  done | sort -n
)
median=$(sed -n "$(((runs + 1) / 2))p" <<<"$times")
max=$(tail -n 1 <<<"$times")
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
cp "$program" "$copy"
strip "$copy"
size=$(stat -c %s "$copy")
echo "ask: median $median ms, max $max ms of $runs runs; program $size bytes, stripped"
[ "$max" -lt 1000 ] && [ "$size" -lt 15000000 ]
