"""Spindrift and llama.cpp on the same model and machine: one forward at several row counts, and prefill.

compare.py --ours FOLDER --gguf FILE [--rows 1,2,4,8,16] [--context 128] [--repeat 10] [--out FILE.json]

Each repeat measures every program once, one after the other, so that what the machine does meanwhile strikes all alike.
A figure is the median of the repeats. `ratio` is a row count's time over the same program's time for one row: what
verifying that many draft tokens costs. Every row's logits are made, in both programs. The GGUF comes from
laguna_gguf.py; the weights may be random, times do not depend on them (which experts are taken does: both draw random
tokens). Needs the packages of requirements.txt and a built `spindrift`.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
from pathlib import Path

import llama_cpp

ROOT = Path(__file__).resolve().parent.parent.parent


class Spindrift:
    name = "spindrift"

    def __init__(self, folder, threads, context):
        self.command = [os.environ.get("SPINDRIFT_BINARY", str(ROOT / "build/release/spindrift")), "bench", "width",
                        "-m", str(folder), "--threads", str(threads), "--context", str(context), "--repeat", "1",
                        "--json"]

    def measure(self, rows):
        done = subprocess.run([*self.command, "--rows", ",".join(map(str, rows))], capture_output=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr.decode())
        return {point["rows"]: point["ms"] for point in json.loads(done.stdout)["points"]}


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, path, threads, context, vocab):
        self.model = llama_cpp.Model(path, threads, context + 1024)
        self.vocab, self.context = vocab, context
        self.model.decode(self.tokens(context), 0)
        self.model.decode(self.tokens(1), context)  # the first of a shape builds its graph

    def tokens(self, count):
        return [random.randrange(100, self.vocab) for _ in range(count)]

    def measure(self, rows):
        times = {}
        for count in rows:
            for _ in range(2):  # the second of a shape: its graph is built
                self.model.cut(self.context)
                times[count] = 1e3 * self.model.decode(self.tokens(count), self.context)
        return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", required=True, help="a folder that spindrift loads")
    parser.add_argument("--gguf", required=True, help="the same shape for llama.cpp")
    parser.add_argument("--rows", default="1,2,4,8,16")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--out", help="also write the figures there, as JSON")
    options = parser.parse_args()
    rows = [int(n) for n in options.rows.split(",")]
    vocab = json.loads(Path(options.ours, "config.json").read_text())["vocab_size"]
    programs = [Spindrift(options.ours, options.threads, options.context),
                LlamaCpp(options.gguf, options.threads, options.context, vocab)]
    times = {program.name: {n: [] for n in rows} for program in programs}
    for _ in range(options.repeat):
        for program in programs:
            for count, ms in program.measure(rows).items():
                times[program.name][count].append(ms)
    figures = {"threads": options.threads, "context": options.context, "repeat": options.repeat, "points": []}
    print(f"{'program':12}{'rows':>6}{'ms':>10}{'min':>10}{'max':>10}{'ratio':>8}")
    for program in programs:
        one = statistics.median(times[program.name][rows[0]])
        for count in rows:
            taken = times[program.name][count]
            point = {"program": program.name, "rows": count, "ms": statistics.median(taken), "min": min(taken),
                     "max": max(taken), "ratio": statistics.median(taken) / one}
            figures["points"].append(point)
            print(f"{program.name:12}{count:6}{point['ms']:10.2f}{point['min']:10.2f}{point['max']:10.2f}"
                  f"{point['ratio']:8.2f}")
    if options.out:
        Path(options.out).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
