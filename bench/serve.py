#!/usr/bin/env python3
"""The server under several requests at once against one: tokens per second, with and without a drafter, and what the server
costs beside the engine.

usage: serve.py -m MODEL [--draft-model DRAFTER] [--requests 8] [-n 64] [--prompt 64] [--prompts FILE:KEY] [--repeat 3]
                [--json FILE] [--program PROGRAM] [-- FLAGS OF SERVE...]

One server answers everything, so ways of asking are interleaved and drift of the machine cancels; "draft_tokens": 0 is the
same server without its drafter. Prompts are distinct random token ids, or the "prompt_ids" of the cases that a golden file has
under a key. Rates are medians: all tokens generated over the time from the first request to the last reply, prefill included.
Ratios are those within one repetition, the median of them. The server's share is the processor time of its connection threads
against that of all others, which are the engine's. The last figure: while a prompt of --long tokens is read, how many forwards
a short request waits for its first token, its own included.
"""
import argparse
import json
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Server:
    def __init__(self, program, model, flags):
        self.process = subprocess.Popen([program, "serve", *model, "--port", "0", "--log-level", "off", "--prefix-cache", "0",
                                         *flags], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.match(r"listening on (\S+)$", line)
            if found:
                self.url = found[1]
                break
        else:
            raise SystemExit("the server did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def open(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        return urllib.request.urlopen(urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}))

    def usage(self, body):
        """The usage of a streamed answer, read to its end."""
        last = None
        with self.open("/v1/completions", {**body, "stream": True, "stream_options": {"include_usage": True}}) as reply:
            for line in reply:
                if b'"choices":[]' in line:
                    last = line
        return json.loads(last.removeprefix(b"data: "))["usage"]

    def metric(self, name):
        with self.open("/metrics") as reply:
            return float(re.search(rf"^{name} (\S+)$", reply.read().decode(), re.MULTILINE)[1])

    def thread_seconds(self):
        """Processor time so far of (connection threads, all others)."""
        http = engine = 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            seconds = int((task / "schedstat").read_text().split()[0]) / 1e9
            if (task / "comm").read_text().strip() == "http":
                http += seconds
            else:
                engine += seconds
        return http, engine

    def end(self):
        self.process.terminate()
        self.process.wait()


def ids(pick, vocab, count):
    return [pick.randrange(100, vocab) for _ in range(count)]


def golden_prompts(where):
    file, _, key = where.rpartition(":")
    return [case["prompt_ids"] for case in json.loads(Path(file).read_text())[key]]


def processor():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {"cpu": found[1] if found else "unknown", "cpus": len(os.sched_getaffinity(0))}


def measure(server, prompts, tokens, draft):
    """(tokens per second, the server's processor time a token, its share of the engine's, mean accepted)."""
    body = {"max_tokens": tokens, "ignore_eos": True, "draft_tokens": draft}
    http, engine = server.thread_seconds()
    started = time.perf_counter()
    with ThreadPoolExecutor(len(prompts)) as pool:
        usages = list(pool.map(lambda p: server.usage({**body, "prompt": p}), prompts))
    wall = time.perf_counter() - started
    http, engine = (after - before for after, before in zip(server.thread_seconds(), (http, engine)))
    made = sum(u["completion_tokens"] for u in usages)
    drafts = [u["draft"] for u in usages if u["draft"]]
    rounds = sum(d["rounds"] for d in drafts)
    accepted = sum(d["accepted"] for d in drafts) / rounds if rounds else 0
    return made / wall, http / made, http / engine, accepted


def wait_behind(server, pick, vocab, long, tokens):
    """Forwards until a short request's first token, while a long prompt is read."""
    slow = threading.Thread(target=server.usage, args=({"prompt": ids(pick, vocab, long), "max_tokens": 1},))
    slow.start()
    while server.metric("spindrift_running") < 1:
        time.sleep(0.001)
    before = server.metric("spindrift_forwards_total")
    with server.open("/v1/completions", {"prompt": ids(pick, vocab, 8), "max_tokens": tokens, "stream": True,
                                         "return_token_ids": True, "ignore_eos": True}) as reply:
        reply.readline()
        waited = server.metric("spindrift_forwards_total") - before
    slow.join()
    return waited


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--draft-model")
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("-n", type=int, default=64, help="tokens of each answer")
    parser.add_argument("--prompt", type=int, default=64, help="tokens of each prompt")
    parser.add_argument("--prompts", help="FILE:KEY of golden prompts, taken in turn")
    parser.add_argument("--json", help="write the figures to this file, too")
    parser.add_argument("--long", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--program", default=ROOT / "build/release/spindrift")
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    vocab = json.loads((Path(args.model) / "config.json").read_text())["vocab_size"]
    model = ["-m", args.model] + (["--draft-model", args.draft_model] if args.draft_model else [])
    ways = {(count, draft): [] for count in (1, args.requests) for draft in ([0, "auto"] if args.draft_model else [0])}
    pick = random.Random(1)
    golden = golden_prompts(args.prompts) if args.prompts else []

    def prompts(count):
        return [golden[i % len(golden)] if golden else ids(pick, vocab, args.prompt) for i in range(count)]

    def ratio(way, other):
        return statistics.median(mine[0] / base[0] for mine, base in zip(ways[way], ways[other]))

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server ends, too
    server = Server(args.program, model, args.flags)
    try:
        measure(server, prompts(1), 4, 0)  # pages in
        for _ in range(args.repeat):
            for (count, draft), got in ways.items():
                got.append(measure(server, prompts(count), args.n, draft))
        points = []
        for way, got in ways.items():
            rate, own, share = (statistics.median(g[i] for g in got) for i in range(3))
            points.append({"requests": way[0], "draft_tokens": way[1], "tokens_per_s": rate, "min": min(g[0] for g in got),
                           "max": max(g[0] for g in got), "ratio_to_one": ratio(way, (1, 0)),
                           "ratio_to_no_drafter": ratio(way, (way[0], 0)), "server_us_per_token": 1e6 * own,
                           "server_share": share, "mean_accepted": statistics.mean(g[3] for g in got)})
            print("{requests:3} at once, draft {draft_tokens!s:>4}  {tokens_per_s:8.1f} tokens/s  {ratio_to_one:5.2f} x one  "
                  "{ratio_to_no_drafter:5.2f} x no drafter  server {server_us_per_token:6.1f} us a token, {share:5.2f} % of the "
                  "engine's  accepted {mean_accepted:.2f}".format(**points[-1], share=100 * share))
        waits = [wait_behind(server, pick, vocab, args.long, 2) for _ in range(args.repeat)]
        print(f"a short request behind a prompt of {args.long} tokens: first token after "
              f"{statistics.median(waits):.0f} forwards ({min(waits):.0f} to {max(waits):.0f})")
        if args.json:
            figures = {"command": shlex.join(["bench/serve.py", *sys.argv[1:]]), "machine": processor(), "points": points,
                       "forwards_behind_a_long_prompt": waits}
            Path(args.json).write_text(json.dumps(figures, indent=1) + "\n")
    finally:
        server.end()


if __name__ == "__main__":
    main()
