#!/usr/bin/env python3
"""Makes the numbers and pictures that the README shows: bench/results/*.json and *.svg.

usage: measure.py [--program build/release/spindrift] [--models FOLDER] [--repeat N] [--layers N]
                  [--only width|formats|limits|long|draft|hostile|pair ...]

Random weights in the published shapes of Laguna XS, cut to a few layers, and of its drafter are made in FOLDER unless they are
there: 5 GB, with the other formats 25 GB. Their files are then dropped from memory, so that they come back from disk as a
downloaded model does. Each result is what `spindrift bench --json` printed with its command beside it. To be run on a machine
that does nothing else.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


# Layers of the other formats: bfloat16 experts are four times the size.
FORMATS = {"bf16": ("xs-2.1-bf16", 4), "int4": ("xs-2.1-int4", 8), "fp8": ("xs.2-fp8", 6), "mlx4": ("xs-2.1-mlx-4bit", 8)}


def synth(program, shape, layers, models):
    folder = models / f"{shape}-{layers}"
    if not (ROOT / folder / "config.json").exists():
        subprocess.run([program, "synth", "--shape", shape, "--layers", str(layers), "--out", folder], check=True, cwd=ROOT)
    for file in (ROOT / folder).iterdir():
        with open(file, "rb") as handle:
            os.fsync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return folder


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
    parser.add_argument("--only", nargs="+", choices=["width", "formats", "limits", "long", "draft", "hostile", "pair"],
                        default=["width", "limits", "draft", "pair"])
    args = parser.parse_args()
    program = Path(args.program).resolve()
    rows = "1,2,4,8,16"
    if set(args.only) & {"width", "limits", "long", "draft"}:
        target = synth(program, "xs-2.1-nvfp4", args.layers, args.models)
    if "width" in args.only:
        bench(program, "width", "width", "-m", target, "--context", 128, "--repeat", args.repeat)
    if "formats" in args.only:
        for name, (shape, layers) in FORMATS.items():
            model = synth(program, shape, layers, args.models)
            bench(program, f"width_{name}", "width", "-m", model, "--context", 128, "--rows", rows, "--repeat", args.repeat)
    if "limits" in args.only:
        bench(program, "prefill", "prefill", "-m", target, "--rows", "128,512", "--repeat", 5)
        bench(program, "decode", "decode", "-m", target, "--context", "128,2048,8192", "--repeat", args.repeat)
        bench(program, "decode_kv_bf16", "decode", "-m", target, "--context", "128,2048,8192", "--kv-dtype", "bf16", "--repeat",
              args.repeat)
    if "long" in args.only:
        for dtype in ("f32", "bf16"):
            bench(program, f"decode_32k_{dtype}", "decode", "-m", target, "--context", "128,32768", "--kv-dtype", dtype,
                  "--repeat", 5)
    if "draft" in args.only:
        drafter = synth(program, "xs-2.1-dflash", args.layers, args.models)
        both = ["-m", target, "--draft-model", drafter]
        bench(program, "draft", "draft", *both, "--context", 128, "--rows", "1,2,4,8,11,15", "--repeat", args.repeat)
        for hits in (3, 5, 8):
            bench(program, f"accept_{hits}", "pair", *both, "--rows", f"{hits},11", "--accept-pattern", hits, "-n", 120,
                  "--ignore-eos", "--repeat", max(args.repeat // 2, 1), "--prompt-ids", "5,9,100,200,300,17,33,1000")
    if "hostile" in args.only:  # what a drafter of random weights costs
        both = ["-m", synth(program, "xs-2.1-nvfp4", 5, args.models),
                "--draft-model", synth(program, "xs-2.1-dflash", 5, args.models)]
        bench(program, "hostile", "pair", *both, "--rows", "1", "-n", 200, "--ignore-eos", "--repeat", 20, "--prompt-ids",
              "5,9,100,200,300,17,33,1000")
    if "pair" in args.only:
        pair = ["-m", "models/laguna-tiny-nvfp4", "--draft-model", "models/laguna-tiny-dflash"]
        bench(program, "pair_easy", "pair", *pair, "--rows", "2,4,8,11", "-n", 512, "--repeat", args.repeat,
              *demo_prompts("greedy_rounds"))
        bench(program, "pair_foreign", "pair", *pair, "--rows", "2,4,8,11", "-n", 96, "--ignore-eos", "--repeat",
              args.repeat, *demo_prompts("greedy_rounds_foreign"))
    subprocess.run([sys.executable, HERE / "plot.py"], check=True)


if __name__ == "__main__":
    main()
