#!/bin/sh
# How long `botpsy tools check` takes with a tool of 60 optional parameters, and with 200 tools of more than 100 KB of schemas.
#
# usage: checks/large_tools.sh target/release/botpsy MODEL.gguf [target/release/examples/random_calls]
#
# MODEL is any model file with a vocabulary of the Qwen3.5 family; only its vocabulary is read. With the third argument
# (cargo build --release -p botpsy-text --example random_calls) the time to compile alone is printed too.
set -eu
botpsy=$1 model=$2 timer=${3:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 - "$dir" <<'PYTHON'
import json, sys
KINDS = [{"type": "string"}, {"type": "integer", "minimum": 0, "maximum": 100}, {"type": "boolean"},
         {"type": "number", "exclusiveMinimum": 0}, {"enum": ["low", "middle", "high"]},
         {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 10}]
def tool(name, n):
    properties = {f"option_{i}": {**KINDS[i % len(KINDS)], "description": f"What option {i} of {name} sets."} for i in range(n)}
    return {"type": "function", "function": {"name": name, "description": f"Sets {name}.",
            "parameters": {"type": "object", "properties": properties}}}
for name, tools in [("sixty", [tool("sixty", 60)]), ("many", [tool(f"tool_{i}", 8) for i in range(200)])]:
    with open(f"{sys.argv[1]}/{name}.json", "w") as file:
        json.dump(tools, file)
PYTHON
for name in sixty many; do
    size=$(wc -c < "$dir/$name.json")
    start=$(date +%s%N)
    "$botpsy" tools check "$dir/$name.json" --model "$model" > "$dir/out" || { cat "$dir/out"; exit 1; }
    end=$(date +%s%N)
    echo "$name.json: $size bytes, $(wc -l < "$dir/out") lines, $(( (end - start) / 1000000 )) ms with the start of the process"
done
if [ -n "$timer" ]; then "$timer" --time; fi
