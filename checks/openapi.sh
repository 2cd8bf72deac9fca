#!/usr/bin/env bash
# The server against its own description: schemathesis makes requests of /openapi.json and checks the answers.
#
#     checks/openapi.sh PROGRAM [SECONDS]
#
# Needs Python with venv, and PyPI once: schemathesis 4.32.5 goes to target/openapi. Serves the demonstration model, with
# short answers. Takes SECONDS (240 unless stated) and a bit. Exits 1 on a finding.
#
# All checks are made but these:
# - positive_data_acceptance: what a schema cannot say is refused rightly (a prompt that fills the context, two tools of one
#   name, a tool_choice of a tool that is not offered, parameters that are no JSON Schema, token ids past the vocabulary).
# - use_after_free, ensure_resource_availability, object_level_authorization: the server keeps nothing that a request makes.
set -euo pipefail
[ $# -ge 1 ] && [ -x "$1" ] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2; }
program=$(realpath "$1")
seconds=${2:-240}
folder=$(realpath "$(dirname "$0")/..")/target/openapi
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check schemathesis==4.32.5

home=$(mktemp -d)
log=$home/server.log
HOME=$home BOTPSY_HOME=$home "$program" serve --port 0 --api-key k --no-cache-disk -n 8 2>"$log" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$home"' EXIT
url=
for _ in $(seq 100); do
  url=$(sed -n 's/.*base URL for OpenAI clients: \(.*\)\/v1.*/\1/p' "$log")
  [ -n "$url" ] && break
  sleep 0.1
done
[ -n "$url" ] || { cat "$log"; exit 1; }

found=0
cd "$home"
"$folder/bin/schemathesis" run "$url/openapi.json" -H 'Authorization: Bearer k' --checks all \
  --exclude-checks positive_data_acceptance,use_after_free,ensure_resource_availability,object_level_authorization \
  --phases examples,coverage,fuzzing --max-time "$seconds" --seed "${SEED:-1}" --continue-on-failure \
  --request-timeout 60 --suppress-health-check all --warnings off --generation-database none --no-color || found=1
answers=$(curl -s -H 'Authorization: Bearer k' "$url/metrics" | sed -n 's/^botpsy_answers_total //p')
echo "answers that the model made: ${answers:-none}"
if grep -E 'panicked|stack overflow' "$log"; then found=1; fi
exit $found
