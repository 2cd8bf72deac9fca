#!/usr/bin/env bash
# Plays the scripted day on real stores and compares what other programs read there with what the table expects.
#
#   checks/day.sh [PYTHON]
#
# PYTHON has `icalendar` and `recurring-ical-events`. Fails on any difference, and when a store cannot be read.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
python=${1:-python3}
cargo build --quiet --manifest-path "$root/Cargo.toml" -p botpsy-agent --example day
program=${CARGO_TARGET_DIR:-$root/target}/debug/examples/day
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" "$folder" >/dev/null
"$python" "$root/checks/day_view.py" "$folder"
"$python" "$root/checks/read_stores.py" "$folder" | wc -l
