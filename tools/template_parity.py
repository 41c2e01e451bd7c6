"""Compares the template engine with python jinja2, set up the way transformers sets it up.

usage: python3 tools/template_parity.py --render BUILD/tests/unit/chat/render_template --shared DIR [--write]

Renders the snippets of template_snippets, random templates and, for every template in the shared folder, some hundred generated
conversations, with both engines, and prints what differs (exit 1). --write stores the goldens that the unit tests replay
without Python under tests/golden/chat/.
"""

import argparse
import datetime
import json
import pathlib
import random
import subprocess
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

from template_random import expression, program
from template_snippets import CONTEXT_JSON, SNIPPETS

NOW = datetime.datetime(2024, 2, 29, 13, 5, 9, 123)
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Generation(jinja2.ext.Extension):
    """{% generation %} ... {% endgeneration %} renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_render")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def strftime_now(format):
        return NOW.strftime(format)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


ENV = environment()


def expected(template, context_json):
    """{"output": text} or {"error": type and text}."""
    try:
        text = ENV.from_string(template).render(**json.loads(context_json))
        text.encode("utf-8")
        return {"output": text}
    except Exception as e:  # every failure counts: the engine must fail too
        return {"error": f"{type(e).__name__}: {e}"}


# ---- generated conversations

WORDS = ["sort", "list", "Grüße", "日本語", "😀", "a\nb", "  pad  ", "", "<think>x</think>", "{{ x }}", 'say "hi"', "it's",
         "</user>", "tab\there", "\\n", "ключ", "\u2028", "long " * 12, "<tool_call>", "e\u0301", "\r\n", "&<>'"]
NUMBERS = [0, 1, -1, 1.0, -0.0, 1e16, 1e-7, 0.1, 1.5e300, 12345678901234567890123, 3.0, 2**53, -7.25, 100000000000000000.0]


def text(rng, n=4):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, n)))


def value(rng, depth=0):
    kind = rng.randint(0, 7 if depth < 3 else 4)
    if kind == 0:
        return text(rng, 2)
    if kind == 1:
        return rng.choice(NUMBERS)
    if kind == 2:
        return rng.choice([True, False])
    if kind == 3:
        return None
    if kind == 4:
        return rng.randint(-1000, 1000)
    if kind == 5:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice(WORDS) + str(i): value(rng, depth + 1) for i in range(rng.randint(0, 3))}


def tool(rng, i):
    properties = {f"p{k}": {"type": rng.choice(["string", "integer", "object"]), "description": text(rng), "default": value(rng)}
                  for k in range(rng.randint(0, 3))}
    return {"type": "function", "function": {"name": f"tool_{i}", "description": text(rng, 6),
                                             "parameters": {"type": "object", "properties": properties,
                                                            "required": list(properties)[:1]}}}


def assistant(rng, rich):
    message = {"role": "assistant", "content": text(rng)}
    if rich and rng.random() < 0.4:
        message[rng.choice(["reasoning", "reasoning_content"])] = rng.choice([text(rng), text(rng), None, 5])
    if rich and rng.random() < 0.4:
        message["tool_calls"] = [
            {"id": f"call_{k}", "type": "function",
             "function": {"name": f"tool_{k}", "arguments": {f"a{j}": value(rng) for j in range(rng.randint(0, 4))}}}
            for k in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            message["content"] = rng.choice([None, ""])
    return message


def conversation(rng, rich):
    messages = []
    system = rng.randint(0, 3)
    if system:
        messages.append({"role": "system", "content": ["", "   ", text(rng, 6)][system - 1]})
    for _ in range(rng.randint(0, 4)):
        messages.append({"role": "user", "content": text(rng, 6)})
        messages.append(assistant(rng, rich))
        if rich and "tool_calls" in messages[-1]:
            for _ in messages[-1]["tool_calls"]:
                messages.append({"role": "tool", "content": json.dumps(value(rng), ensure_ascii=False)})
            if rng.random() < 0.7:
                messages.append(assistant(rng, rich))
        if rng.random() < 0.1:
            messages.append({"role": rng.choice(["system", "tool_response", "assistant_tool_call", "other"]), "content": text(rng)})
    if rng.random() < 0.7:
        messages.append({"role": "user", "content": text(rng, 6)})
    context = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": rng.random() < 0.6}
    if rng.random() < 0.5:
        context["tools"] = [tool(rng, i) for i in range(rng.randint(0, 3))]
    if rng.random() < 0.7:
        context["enable_thinking"] = rng.random() < 0.5
    if rng.random() < 0.2:
        context["render_assistant_messages_raw"] = True
    if rng.random() < 0.2:
        context["preserve_thinking"] = True
    context["bos_token"] = "<s>"
    context["eos_token"] = "</s>"
    return context


def templates(shared):
    """Distinct templates of the shared folder: (relative path, text, ours)."""
    seen = {}
    for path in sorted(shared.glob("reference/**/*.jinja")) + sorted(shared.glob("models/*/chat_template.jinja")):
        source = path.read_bytes().decode("utf-8")
        if source not in seen:
            seen[source] = path.relative_to(shared)
    return [(str(path), source, "reference" not in path.parts) for source, path in seen.items()]


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


def render_all(binary, cases):
    lines = "\n".join(json.dumps({"template": t, "context": c}) for t, c in cases) + "\n"
    run = subprocess.run([binary], input=lines.encode(), capture_output=True, check=True)
    return [json.loads(line) for line in run.stdout.decode().splitlines()]


def compare(label, cases, binary, show):
    wrong = 0
    for (template, context), got in zip(cases, render_all(binary, cases), strict=True):
        want = expected(template, context)
        if want.get("output") == "" and "cannot be sliced" in got.get("error", ""):
            continue  # jinja2 folds a slice of a constant that has none, such as (-1)[1:], to an undefined value
        same = ("output" in want) == ("output" in got) and want.get("output") == got.get("output")
        if not same:
            wrong += 1
            if wrong <= show:
                print(f"--- {label}\ntemplate: {template[:300]!r}\nwanted:   {want}\nfound:    {got}")
    print(f"{label}: {len(cases)} cases, {wrong} differ")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--render", required=True)
    parser.add_argument("--shared", required=True, type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()

    snippets = []
    for item in SNIPPETS:
        template, more = item if isinstance(item, tuple) else (item, None)
        context = CONTEXT_JSON if more is None else json.dumps({**json.loads(CONTEXT_JSON), **more})
        snippets.append((template, context))
    wrong = compare("snippets", snippets, args.render, args.show)

    rng = random.Random(args.seed)
    wrong += compare("random expressions", [(f"{{{{ {expression(rng)} }}}}", CONTEXT_JSON) for _ in range(args.random)], args.render, args.show)
    scope = json.dumps({"a": "A", "x": [3, 4]})
    start = "{% set ns = namespace(v=0) %}"
    wrong += compare("random programs", [(start + program(rng), scope) for _ in range(args.random)], args.render, args.show)

    golden = ROOT / "tests" / "golden" / "chat"
    if args.write:
        golden.mkdir(parents=True, exist_ok=True)
        (golden / "context.json").write_text(CONTEXT_JSON.strip() + "\n")
        with open(golden / "snippets.jsonl", "w") as f:
            for template, context in snippets:
                want = expected(template, context)
                result = {"output": want["output"]} if "output" in want else {"fails": True}
                f.write(json.dumps({"template": template, **result}) + "\n")

    for path, source, ours in templates(args.shared):
        rng = random.Random(path)
        rich = "granite" not in path and "gptbigcode" not in path and "llama" not in path
        contexts = [json.dumps(conversation(rng, rich), ensure_ascii=rng.random() < 0.5) for _ in range(args.count)]
        wrong += compare(path, [(source, c) for c in contexts], args.render, args.show)
        if args.write:
            stored = []
            for context in contexts[:60 if ours else 40]:
                want = expected(source, context)
                if "error" in want:
                    stored.append({"context": context, "fails": True})
                elif ours:
                    stored.append({"context": context, "output": want["output"]})
                else:
                    stored.append({"context": context, "fnv1a": fnv1a(want["output"].encode())})
            name = path.replace("/", "--").removesuffix(".jinja") + ".jsonl"
            with open(golden / name, "w") as f:
                f.write(json.dumps({"template": path}) + "\n")
                for case in stored:
                    f.write(json.dumps(case) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
