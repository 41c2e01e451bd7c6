"""The program against transformers itself: logits of a bf16 target at fresh ids, and rendered chats.

Stored outputs of transformers are compared in every test run; this one draws inputs that nothing was stored for. Heavy:
./dev test --oracles.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("SPINDRIFT_SHARED") or ROOT.parent / "shared")
PROGRAM = os.environ["SPINDRIFT_BINARY"]
TOLERANCE = 1e-3


def spindrift(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"spindrift {' '.join(arguments)}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def compare_logits(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    random.seed(11)
    with tempfile.TemporaryDirectory() as work:
        for length in (1, 7, 200, 300):  # within the window and beyond it
            ids = [2] + [random.randrange(100, model.config.vocab_size) for _ in range(length - 1)]
            out = Path(work, "logits.npy")
            spindrift("logits", "-m", str(folder), "--prompt-ids", ",".join(map(str, ids)), "--out", str(out))
            with torch.no_grad():
                expected = model(torch.tensor([ids])).logits[0].numpy()
            difference = float(np.abs(np.load(out) - expected).max())
            print(f"{length} ids: largest difference {difference:.2e}")
            if not difference < TOLERANCE:
                sys.exit(f"{folder.name}: logits of {length} ids differ by {difference}")


def compare_templates(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tools = [{"type": "function", "function": {"name": "get_time", "description": "Größe <b> & \"q\"",
                                               "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}}}]
    call = {"type": "function", "function": {"name": "get_time", "arguments": {"n": 1e16, "s": "é<>", "l": [1.0, None]}}}
    conversations = [
        [{"role": "user", "content": "Hi"}],
        [{"role": "system", "content": "  Be short.\n\n"}, {"role": "user", "content": "x\n y"}],
        [{"role": "user", "content": "time?"}, {"role": "assistant", "content": "", "tool_calls": [call]},
         {"role": "tool", "content": "12:00"}],
    ]
    with tempfile.TemporaryDirectory() as work:
        for messages in conversations:
            for with_tools in (False, True):
                Path(work, "messages.json").write_text(json.dumps(messages), encoding="utf-8")
                Path(work, "tools.json").write_text(json.dumps(tools), encoding="utf-8")
                expected = tokenizer.apply_chat_template(
                    messages, tools=tools if with_tools else None, tokenize=False, add_generation_prompt=True)
                flags = ["--tools", f"{work}/tools.json"] if with_tools else []
                got = spindrift("template", "-m", str(folder), "--messages", f"{work}/messages.json", *flags).decode()
                if got != expected:
                    sys.exit(f"template: expected\n{expected!r}\nfound\n{got!r}")


def main():
    compare_templates(ROOT / "models" / "laguna-tiny-nvfp4")
    folder = SHARED / "models" / "laguna-tiny-bf16"
    if not folder.is_dir():
        print(f"SKIPPED FOR LACK OF DATA: {folder} does not exist; set SPINDRIFT_SHARED")
        sys.exit(77)
    compare_logits(folder)


if __name__ == "__main__":
    main()
