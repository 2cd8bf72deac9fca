#!/usr/bin/env bash
# Official clients against the server with the demonstration model behind it.
#
#     checks/clients/run.sh PROGRAM
#
# Installs them in target/clients from PyPI and npm; says what it left out where Python or Node is missing.
set -euo pipefail
[ $# = 1 ] && [ -x "$1" ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
program=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
folder=$(realpath "$here/../..")/target/clients
mkdir -p "$folder"

python=
if python3 -m venv "$folder/venv" >/dev/null 2>&1; then
  python=$folder/venv/bin/python
  "$python" -m pip install --quiet --disable-pip-version-check openai==3.57.0 langchain-openai==1.7.4 \
    'pydantic-ai-slim[openai]==2.68.0' litellm==1.110.2
  "$python" "$here/openai_python.py" "$program"
else
  echo "left out: openai-python, LangChain, PydanticAI and LiteLLM, for want of Python with venv"
fi

log=$folder/server.log
"$program" serve --port 0 --api-key k --no-cache-disk 2>"$log" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
url=
for _ in $(seq 100); do
  url=$(sed -n 's/.*base URL for OpenAI clients: //p' "$log")
  [ -n "$url" ] && break
  sleep 0.1
done
[ -n "$url" ] || { cat "$log"; exit 1; }

if [ -n "$python" ]; then
  LITELLM_LOCAL_MODEL_COST_MAP=True "$python" "$here/more_python.py" "$url" k
fi
if command -v npm >/dev/null && command -v node >/dev/null; then
  cp "$here/node.mjs" "$folder/"
  (cd "$folder" && npm install --silent --no-audit --no-fund openai@6.49.0 ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7 && node node.mjs "$url" k)
else
  echo "left out: openai-node and the Vercel AI SDK, for want of Node"
fi
