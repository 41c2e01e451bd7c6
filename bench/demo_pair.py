#!/usr/bin/env python3
"""Tokens per second of the demo pair, plain against drafted: medians of interleaved runs.

usage: demo_pair.py [--repeat N] [--program build/release/spindrift]

Prompts are the reference prompts in models/laguna-tiny-dflash/golden: "easy" ones of the little language the pair was
trained on, run to their stop, and "foreign" ones, 96 tokens each. Every way of running answers each prompt in turn, so
that drift of the machine cancels; a rate is all generated tokens but the first of each answer over their decode seconds.
Mean accepted excludes the bonus token.
"""
import argparse
import json
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET, DRAFTER = ROOT / "models/laguna-tiny-nvfp4", ROOT / "models/laguna-tiny-dflash"
MODES = {"plain": [], "auto": ["--draft-model", DRAFTER], "11 tokens": ["--draft-model", DRAFTER, "--draft-tokens", "11"]}


def run(program, prompt, flags):
    ids = ",".join(map(str, prompt))
    command = [program, "generate", "-m", TARGET, "--prompt-ids", ids, "--json", "--temp", "0", *flags]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["stats"]


def one_pass(program, cases, flags):
    """Tokens per second and mean accepted of every mode over all cases."""
    tokens, seconds = dict.fromkeys(MODES, 0), dict.fromkeys(MODES, 0.0)
    accepted, rounds = dict.fromkeys(MODES, 0), dict.fromkeys(MODES, 0)
    for case in cases:
        for mode, mode_flags in MODES.items():
            stats = run(program, case["prompt_ids"], [*flags, *mode_flags])
            tokens[mode] += stats["generated_tokens"] - 1
            seconds[mode] += stats["decode_s"]
            if stats["draft"]:
                accepted[mode] += stats["draft"]["accepted"]
                rounds[mode] += stats["draft"]["rounds"]
    return {m: (tokens[m] / seconds[m], accepted[m] / rounds[m] if rounds[m] else 0.0) for m in MODES}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--program", default=ROOT / "build/release/spindrift")
    args = parser.parse_args()
    golden = json.loads((DRAFTER / "golden/golden.json").read_text())
    for name, cases, flags in (("easy", golden["greedy_rounds"], []),
                               ("foreign", golden["greedy_rounds_foreign"], ["--ignore-eos", "-n", "96"])):
        passes = [one_pass(args.program, cases, flags) for _ in range(args.repeat)]
        for mode in MODES:
            rates = [p[mode][0] for p in passes]
            ratio = statistics.median(p[mode][0] / p["plain"][0] for p in passes)
            print(f"{name:8} {mode:10} {statistics.median(rates):7.0f} tokens/s ({min(rates):.0f} to {max(rates):.0f})  "
                  f"{ratio:.2f} x plain  mean accepted {passes[-1][mode][1]:.2f}")


if __name__ == "__main__":
    main()
