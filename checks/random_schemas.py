"""Random tool schemas: whatever the grammar lets a model write must be one call, and PyPI's `jsonschema` must accept it.

usage: python checks/random_schemas.py PROGRAM [--n 10000] [--seed 1] [--fixtures FILE] [--failures FILE]

PROGRAM is `target/release/examples/random_calls` (cargo build --release -p botpsy-text --example random_calls).
needs: python -m venv .venv && .venv/bin/pip install "jsonschema[format-nongpl]==4.26.0"

Each tool is made from the seed and its number: every keyword that is enforced or told as not enforced, up to four levels
deep, names of all kinds. The program walks once at random through the grammar of its calls and reads what it wrote. Then:
a walk that ended is one call of that tool without faults; its arguments validate (Draft 2020-12, formats asserted, numbers
as decimals, patterns with ASCII classes as ECMA has them), keywords that were told as not enforced taken out; a walk that
the length limit cut is counted; with `strict` the tool is refused if, and only if, something is not enforced. Exit code 1
and the first failures in a file if any of it fails. `--fixtures` writes the first 500 cases that ended, with the verdicts.
"""
import argparse
import collections
import decimal
import json
import random
import re
import subprocess
import sys
import threading
from urllib.parse import unquote

import jsonschema

NAMES = ["time", "größe", "名前", "имя", "a b", "it's", 'say "hi"', "a/b", "a~b", "50%", "100%25", "x.y", "😀", "q'", '"q"',
         " lead", "trail ", "日本\u3000語", "back\\slash", "__proto__", "a~1b", "$ref", "é", "e\u0301", "type", "enum", "0",
         "a-very-long-name-" * 3, "[x]", "{y}", "tab\there", "items", "properties"]
UNCARRIED = ["", " ", "a<b", "a>b", "line\nbreak", "\u00a0", "x" * 1100]
TEXTS = ["a", "B b", "", " lead", "trail ", "two\nlines", "\n", "1", "1.0", "true", "True", "None", "null", "é", "😀", "[1]",
         "</parameter>", "<parameter=time>", "x</parameter>\n<parameter=y>", "a\r\n", "\"q\"", "{}", "0x1", "+1", "0",
         "</function>", "<function=f>\n<parameter=a>", "\t", "C:\\x", "\u007f", "\u0001", "//"]
PATTERNS = ["^[a-z]+$", "^a{2,4}b?$", r"^\d{3}-\d{2}$", "x", r"^\w+\.\w+$", "^(foo|bar)*$", "^[^<>]*$", "^é+$", r"^\S+$",
            "(?<!x)y", "(?=a)b", "^(a{1,100}){1,300}$", r"\D", "^$", r"^[\u4e00-\u9fff]{1,3}$", "^<[a-z]>$"]
FORMATS = ["date", "time", "date-time", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "duration", "regex", "foo"]
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]


class Maker:
    """Makes one tool."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.defs = {}

    def chance(self, p):
        return self.r.random() < p

    def names(self, least, most, rare=()):
        names = self.r.sample(NAMES, self.r.randint(least, most))
        return names + ([self.r.choice(rare)] if rare and self.chance(0.04) else [])

    def tool(self):
        names = self.names(1, 4, UNCARRIED)
        parameters = {"type": "object", "properties": {}}
        if self.chance(0.5):
            for name in self.r.sample(["D", "größe", "a/b", "a~b", "50%", "x y"], self.r.randint(1, 2)):
                self.defs[name] = True
            for name in self.defs:
                self.defs[name] = self.schema(2)
            for name in self.defs:
                # The standard forbids a definition that leads back to itself without going into a value: the judge would
                # never end. Inside a list it may.
                if self.leads(self.defs[name], name, set()):
                    self.defs[name] = {"type": "array", "items": self.defs[name]}
        parameters["properties"] = {name: self.schema(1) for name in names}
        if self.chance(0.7):
            parameters["required"] = [name for name in names if self.chance(0.5)]
            if self.chance(0.03):
                parameters["required"].append("nowhere")
        if self.chance(0.4):
            parameters["additionalProperties"] = self.r.choice(
                [False, False, True, {}, {"type": "string"}, {"type": "integer"}])
        if self.defs:
            parameters["$defs"] = self.defs
        if self.chance(0.04):
            other = self.names(1, 2)
            key, value = self.r.choice([
                ("anyOf", [{"required": [names[0]]}, {"required": other}]),
                ("allOf", [{"properties": {other[0]: self.schema(3)}}]),
                ("anyOf", [{"properties": {names[0]: self.schema(3)}}, {"properties": {other[0]: self.schema(3)}}]),
                ("minProperties", 1), ("maxProperties", 1), ("not", {"required": other}),
                ("patternProperties", {"^x": {"type": "integer"}}),
                ("dependentRequired", {names[0]: other}), ("propertyNames", {"maxLength": 5})])
            parameters[key] = value
        return {"name": self.r.choice(["f", "set.alarm", "größe", "get-x_1", "a b"]), "parameters": parameters}

    def leads(self, schema, name, seen):
        """Whether a schema leads to the definition of this name for the same value."""
        if not isinstance(schema, dict):
            return False
        parts = [schema[key] for key in ("not", "if", "then", "else") if key in schema]
        parts += [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, [])]
        if "$ref" in schema:
            target = self.name_of(schema["$ref"])
            if target == name:
                return True
            if target not in seen:
                seen.add(target)
                parts.append(self.defs[target])
        return any(self.leads(part, name, seen) for part in parts)

    @staticmethod
    def name_of(reference):
        return unquote(reference.removeprefix("#/$defs/")).replace("~1", "/").replace("~0", "~")

    def schema(self, depth):
        node = self.node(depth)
        if isinstance(node, dict):
            if self.chance(0.15):
                node["description"] = "what it is"
            if self.chance(0.1):
                node["default"] = self.value(1)
            if self.chance(0.03):
                node["title"] = "T"
            if self.chance(0.04):
                node.update(self.rare(depth))
            if self.chance(0.2):
                items = list(node.items())
                self.r.shuffle(items)
                node = dict(items)
        return node

    def rare(self, depth):
        return self.r.choice([
            lambda: {"uniqueItems": True}, lambda: {"not": self.schema(4)}, lambda: {"contains": self.schema(4)},
            lambda: {"if": self.schema(4), "then": self.schema(4), "else": self.schema(4)},
            lambda: {"dependentRequired": {"time": ["名前"]}}, lambda: {"propertyNames": {"maxLength": 3}},
            lambda: {"nullable": True}, lambda: {"examples": [1, {"$ref": "#/x"}]}, lambda: {"x-guidance": {"lenient": True}},
            lambda: {"enum": [self.value(1) for _ in range(3)]}, lambda: {"const": self.value(1)},
            lambda: {"minimum": self.r.choice([1, 10**17, 0.5])}, lambda: {"minItems": self.r.choice([1, 10**7])},
            lambda: {"contentEncoding": "base64"}, lambda: {"deprecated": True}, lambda: {"allOf": [self.schema(4)]},
            lambda: {"anyOf": [self.schema(4), self.schema(4)]}, lambda: {"type": self.r.choice(TYPES)},
        ])()

    def node(self, depth):
        leaf = [self.string, self.string, self.integer, self.number, self.enum, self.const, self.listed,
                lambda d: {"type": "boolean"}, lambda d: {"type": "null"}, lambda d: {"type": "string"},
                lambda d: self.r.choice([{}, True, {"minimum": 3}, {"maxLength": 2}, False if self.chance(0.2) else {}]),
                self.ref]
        deep = [self.array, self.array, self.object, self.object, self.any_of, self.one_of, self.all_of]
        return self.r.choice(leaf if depth >= 4 or self.chance(0.45) else deep)(depth)

    def string(self, depth):
        node = {"type": "string"}
        if self.chance(0.3):
            node["minLength"] = self.r.randint(0, 4)
        if self.chance(0.3):
            node["maxLength"] = self.r.randint(2, 8)
        if self.chance(0.25):
            node["pattern"] = self.r.choice(PATTERNS)
        elif self.chance(0.2):
            node["format"] = self.r.choice(FORMATS)
        return node

    def bounds(self, whole):
        draw = (lambda: self.r.randint(-50, 50)) if whole else (lambda: self.r.choice(
            [self.r.randint(-5, 5), round(self.r.uniform(-2, 2), self.r.randint(1, 3)), 0, 1e-3, 5.0]))
        low, node = draw(), {}
        high = low + (self.r.randint(0, 60) if whole else self.r.choice([0, 0.5, 1, 0.001, 100]))
        if not whole:
            high = round(high, 6)
        if self.chance(0.5):
            node[self.r.choice(["minimum", "minimum", "exclusiveMinimum"])] = low
        if self.chance(0.5):
            node[self.r.choice(["maximum", "maximum", "exclusiveMaximum"])] = high
        if self.chance(0.2):
            node["multipleOf"] = self.r.choice([1, 2, 3, 5, 7]) if whole else self.r.choice([0.5, 0.01, 2, 0.1, 1.5])
        return node

    def integer(self, depth):
        return {"type": "integer", **self.bounds(self.chance(0.9))}

    def number(self, depth):
        return {"type": "number", **self.bounds(self.chance(0.3))}

    def value(self, depth):
        scalars = [lambda: self.r.choice(TEXTS), lambda: self.r.choice(TEXTS), lambda: self.r.randint(-9, 99), lambda: None,
                   lambda: self.r.choice([True, False]),
                   lambda: self.r.choice([0.5, 1.0, 1e-7, 12345678901234567890, 1e20, -0.0])]
        if depth > 0 and self.chance(0.12):
            if self.chance(0.5):
                return [self.value(depth - 1) for _ in range(self.r.randint(0, 2))]
            return {name: self.value(depth - 1) for name in self.names(0, 2)}
        return self.r.choice(scalars)()

    def enum(self, depth):
        if self.chance(0.5):
            node = {"enum": self.r.sample(TEXTS, self.r.randint(1, 5))}
            if self.chance(0.6):
                node["type"] = "string"
            return node
        node = {"enum": [self.value(1) for _ in range(self.r.randint(1, 4))]}
        if self.chance(0.3):
            node["type"] = self.r.choice([self.r.choice(TYPES), self.r.sample(TYPES, 2)])
        return node

    def const(self, depth):
        return {"const": self.value(1)}

    def listed(self, depth):
        kinds = self.r.sample(TYPES, self.r.randint(1, 3))
        node = {"type": kinds if self.chance(0.5) else [kinds[0], "null"] if kinds[0] != "null" else ["null"]}
        if self.chance(0.4):
            node.update(self.r.choice([{"minimum": 2}, {"maxLength": 3}, {"items": {"type": "integer"}}, {"minItems": 1},
                                       {"required": ["é"]}, {"multipleOf": 3}]))
        return node

    def ref(self, depth):
        if not self.defs:
            return {"type": "integer"}
        name = self.r.choice(list(self.defs))
        pointer = name.replace("~", "~0").replace("/", "~1").replace("%", "%25")
        if self.chance(0.2):
            pointer = pointer.replace(" ", "%20")
        node = {"$ref": "#/$defs/" + pointer}
        if self.chance(0.1):
            node.update(self.r.choice([{"minimum": 1}, {"maxLength": 3}, {"type": "object"}, {"maxItems": 2}]))
        return node

    def array(self, depth):
        node = {"type": "array"}
        if self.chance(0.8):
            node["items"] = self.schema(depth + 1) if self.chance(0.9) else False
        if self.chance(0.2):
            node["prefixItems"] = [self.schema(depth + 1) for _ in range(self.r.randint(1, 2))]
        if self.chance(0.3):
            node["minItems"] = self.r.randint(0, 2)
        if self.chance(0.3):
            node["maxItems"] = self.r.randint(1, 4)
        return node

    def object(self, depth):
        names = self.names(0, 3)
        node = {"type": "object", "properties": {name: self.schema(depth + 1) for name in names}}
        if self.chance(0.6):
            node["required"] = [name for name in names if self.chance(0.5)] + (["extra"] if self.chance(0.1) else [])
        if self.chance(0.6):
            node["additionalProperties"] = self.r.choice([False, False, False, True, {}, {"type": "integer"}, {"maxLength": 2}])
        if self.chance(0.06):
            node["patternProperties"] = {self.r.choice(["^x", "^a", "é"]): self.schema(depth + 1)}
        if self.chance(0.06):
            node[self.r.choice(["minProperties", "maxProperties"])] = self.r.randint(0, 3)
        return node

    def branches(self, depth):
        return [self.schema(depth + 1) for _ in range(self.r.randint(1, 3))]

    def any_of(self, depth):
        if self.chance(0.4):
            return {"anyOf": [self.schema(depth + 1), {"type": "null"}]}
        return {"anyOf": self.branches(depth)} | ({"type": self.r.choice(TYPES)} if self.chance(0.1) else {})

    def one_of(self, depth):
        if self.chance(0.5):
            kinds = self.r.sample(["string", "integer", "array", "boolean"], 2)
            return {"oneOf": [{"type": kind} for kind in kinds]}
        return {"oneOf": self.branches(depth)}

    def all_of(self, depth):
        if self.chance(0.5):
            return {"allOf": [{"type": "integer", "minimum": self.r.randint(0, 5)}, {"maximum": 50}]}
        return {"allOf": self.branches(depth)}


# The judge. ------------------------------------------------------------------------------------------------------------
decimal.getcontext().prec = 1000
DRAFT = jsonschema.Draft202012Validator


def is_number(_, value):
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool)


def is_integer(_, value):
    return is_number(_, value) and value == value // 1


def pattern(validator, pattern, instance, schema):
    if validator.is_type(instance, "string") and not re.search(pattern, instance, re.ASCII):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def pattern_properties(validator, patterns, instance, schema):
    for pattern, part in patterns.items() if validator.is_type(instance, "object") else ():
        for key, value in instance.items():
            if re.search(pattern, key, re.ASCII):
                yield from validator.descend(value, part, path=key, schema_path=pattern)


Judge = jsonschema.validators.extend(
    DRAFT, {"pattern": pattern, "patternProperties": pattern_properties},
    type_checker=DRAFT.TYPE_CHECKER.redefine("number", is_number).redefine("integer", is_integer))


def loads(text):
    return json.loads(text, parse_float=decimal.Decimal, parse_constant=lambda name: sys.exit(f"{name} is no JSON"))


def places(schema, steps):
    """The steps of a dotted path as keys; names may hold dots themselves."""
    if not steps:
        return []
    for n in range(len(steps), 0, -1):
        key = ".".join(steps[:n])
        if isinstance(schema, dict) and key in schema:
            inner = schema[key]
        elif isinstance(schema, list) and key.isdigit() and int(key) < len(schema):
            key = int(key)
            inner = schema[key]
        else:
            continue
        rest = places(inner, steps[n:])
        if rest is not None:
            return [key] + rest
    return None


def is_schema(keys):
    """Whether the last of the keys leads to a schema, not to a keyword of one."""
    is_name = False
    for key in keys:
        was_name, is_name = is_name, not is_name and key in ("properties", "$defs", "patternProperties")
    return was_name or isinstance(keys[-1], int)


def without(schema, dropped):
    """The schema without what is told as not enforced. `None` if a path leads nowhere."""
    schema = loads(json.dumps(schema))
    found = []
    for told in dropped:
        keys = places(schema, told["path"].split("."))
        if keys is None:
            return None
        found.append((keys, told))
    gone = set()
    for keys, told in found:
        parent = schema
        for key in keys[:-1]:
            inside = isinstance(parent, (dict, list)) and (isinstance(parent, list) or key in parent)
            parent = parent[key] if inside else None
        if not isinstance(parent, (dict, list)):
            continue  # A part of what was taken out already.
        if told["path"] == "required":
            schema["required"] = [name for name in schema["required"] if name in schema.get("properties", {})]
        elif "cannot carry this name" in told["why"]:
            gone.add(keys[-1])
        elif is_schema(keys):
            parent[keys[-1]] = True
        else:
            parent.pop(keys[-1], None)
    if gone and "required" in schema:
        schema["required"] = [name for name in schema["required"] if name not in gone]
    return schema


def verdict(schema, arguments):
    errors = Judge(schema, format_checker=DRAFT.FORMAT_CHECKER).iter_errors(arguments)
    error = next(errors, None)
    return None if error is None else f"{list(error.path)}: {error.message[:300]}"


def judge(tool, walk):
    """What is wrong with a walk, or `None`; and whether the arguments fit the whole schema."""
    if bool(walk["strict"]) != bool(walk["dropped"]):
        return "strict and dropped disagree", False
    if walk["problem"]:
        return walk["problem"], False
    if walk["answer"] is None:
        return None, False
    if not walk["accepted"]:
        return "its own answer is not allowed again", False
    weaker = without(tool["parameters"], walk["dropped"])
    if weaker is None:
        return "a dropped path leads nowhere", False
    arguments = loads(walk["arguments"])
    whole = verdict(loads(json.dumps(tool["parameters"])), arguments)
    problem = verdict(weaker, arguments)
    return problem and f"arguments: {problem}", whole is None


def keywords(schema, into):
    if isinstance(schema, dict):
        for key, value in schema.items():
            into.add(key)
            if key not in ("const", "enum", "default", "examples", "required", "dependentRequired"):
                keywords(list(value.values()) if key in ("properties", "$defs", "patternProperties") else value, into)
    elif isinstance(schema, list):
        for part in schema:
            keywords(part, into)


KNOWN = set("""type enum const properties required additionalProperties items prefixItems minItems maxItems minimum maximum
exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format anyOf oneOf allOf $ref $defs default description
uniqueItems not contains if dependentRequired propertyNames patternProperties minProperties maxProperties""".split())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--n", type=int, default=10000, help="how many tools")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fixtures")
    parser.add_argument("--failures", default="random-schemas-failures.jsonl")
    args = parser.parse_args()
    cases = [{"seed": args.seed * 1_000_000 + i, "tool": Maker(args.seed * 1_000_000 + i).tool()} for i in range(args.n)]
    program = subprocess.Popen([args.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def feed():
        for case in cases:
            program.stdin.write(json.dumps(case).encode() + b"\n")
        program.stdin.close()

    threading.Thread(target=feed, daemon=True).start()
    count, used, told, failures, kept = (collections.Counter() for _ in range(3)), [], [], [], []
    count, used, told = count
    for case, line in zip(cases, program.stdout):
        walk = loads(line)
        problem, fits = judge(case["tool"], walk)
        found = set()
        keywords(case["tool"]["parameters"], found)
        used.update(found & KNOWN)
        told.update({re.sub(r".*\.", "", dropped["path"]) for dropped in walk["dropped"]} & KNOWN)
        count["walks"] += 1
        count["failed"] += problem is not None
        count["cut by the limit"] += problem is None and walk["answer"] is None
        count["fit the whole schema"] += fits
        count["with something not enforced"] += bool(walk["dropped"])
        count["refused when strict"] += bool(walk["strict"])
        if problem is not None:
            failures.append({**case, "problem": problem, **{k: v for k, v in walk.items() if k != "problem"}})
        elif walk["answer"] is not None and len(line) + len(json.dumps(case)) < 6000 and len(kept) < 500:
            kept.append({**case, "answer": walk["answer"], "arguments": walk["arguments"],
                         "dropped": [dropped["path"] for dropped in walk["dropped"]],
                         "judged": {"without_dropped": True, "whole": fits}})
    if program.wait() != 0 or count["walks"] != args.n:
        failures.append({"problem": f"the program ended with {program.returncode} after {count['walks']} walks"})
    print(", ".join(f"{n} {name}" for name, n in count.items()))
    print("keyword: tools with it, tools that were told it is not enforced")
    for name in sorted(used):
        print(f"  {name}: {used[name]}, {told[name]}")
    if args.fixtures:
        with open(args.fixtures, "w") as file:
            file.writelines(json.dumps(case, ensure_ascii=False) + "\n" for case in kept)
        print(f"{len(kept)} cases written to {args.fixtures}")
    if failures:
        with open(args.failures, "w") as file:
            file.writelines(json.dumps(failure, ensure_ascii=False, default=str) + "\n" for failure in failures[:200])
        print(f"FAILED: the first failures are in {args.failures}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
