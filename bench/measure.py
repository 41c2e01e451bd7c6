#!/usr/bin/env python3
"""Makes the numbers and pictures that the README shows: bench/results/*.json and *.svg.

usage: measure.py [--program build/release/spindrift] [--models FOLDER] [--repeat N] [--layers N] [--only width|pair]

Random weights in the published shape of Laguna XS 2.1 (NVFP4), cut to a few layers, and of its drafter are made in FOLDER
unless they are there: a few GB. Each result is what `spindrift bench --json` printed with its command beside it. To be run on
a machine that does nothing else.
"""
import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def synth(program, shape, layers, folder):
    if not (ROOT / folder / "config.json").exists():
        subprocess.run([program, "synth", "--shape", shape, "--layers", str(layers), "--out", folder], check=True, cwd=ROOT)


def bench(program, name, *arguments):
    command = ["spindrift", "bench", *map(str, arguments)]
    print(shlex.join(command), file=sys.stderr, flush=True)
    done = subprocess.run([program, *command[1:], "--json"], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    result = {"command": shlex.join(command), **json.loads(done.stdout)}
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def demo_prompts(key):
    golden = json.loads((ROOT / "models/laguna-tiny-dflash/golden/golden.json").read_text())
    return [part for case in golden[key] for part in ("--prompt-ids", ",".join(map(str, case["prompt_ids"])))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/spindrift")
    parser.add_argument("--models", type=Path, default=Path("build/bench-models"),
                        help="from the root of the repository, or absolute")
    parser.add_argument("--repeat", type=int, default=11)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--only", choices=["width", "pair"])
    args = parser.parse_args()
    args.program = Path(args.program).resolve()
    if args.only != "pair":
        target = args.models / f"xs-2.1-nvfp4-{args.layers}"
        synth(args.program, "xs-2.1-nvfp4", args.layers, target)
        bench(args.program, "width", "width", "-m", target, "--context", 128, "--repeat", args.repeat)
    if args.only != "width":
        pair = ["-m", "models/laguna-tiny-nvfp4", "--draft-model", "models/laguna-tiny-dflash"]
        bench(args.program, "pair_easy", "pair", *pair, "--rows", "2,4,8,11", "-n", 512, "--repeat", args.repeat,
              *demo_prompts("greedy_rounds"))
        bench(args.program, "pair_foreign", "pair", *pair, "--rows", "2,4,8,11", "-n", 96, "--ignore-eos", "--repeat",
              args.repeat, *demo_prompts("greedy_rounds_foreign"))
    subprocess.run([sys.executable, HERE / "plot.py"], check=True)


if __name__ == "__main__":
    main()
