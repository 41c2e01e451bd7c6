#!/usr/bin/env python3
"""The server under several requests at once against one: tokens per second, with and without a drafter, and what the server
costs beside the engine.

usage: serve.py -m MODEL [--draft-model DRAFTER] [--requests 8] [-n 64] [--prompt 64] [--repeat 3] [--program PROGRAM]
                [-- FLAGS OF SERVE...]

One server answers everything, so ways of asking are interleaved and drift of the machine cancels; "draft_tokens": 0 is the
same server without its drafter. Prompts are distinct random token ids. Rates are medians: all tokens generated over the time
from the first request to the last reply, prefill included. The server's share is the processor time of its connection threads
against that of all others, which are the engine's. The last figure: while a prompt of --long tokens is read, how many forwards a short
request waits for its first token, its own included.
"""
import argparse
import json
import random
import re
import statistics
import subprocess
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
    parser.add_argument("--long", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--program", default=ROOT / "build/release/spindrift")
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    vocab = json.loads((Path(args.model) / "config.json").read_text())["vocab_size"]
    model = ["-m", args.model] + (["--draft-model", args.draft_model] if args.draft_model else [])
    ways = {(count, draft): [] for count in (1, args.requests) for draft in ([0, "auto"] if args.draft_model else [0])}
    pick = random.Random(1)
    server = Server(args.program, model, args.flags)
    try:
        measure(server, [ids(pick, vocab, args.prompt)], 4, 0)  # pages in
        for _ in range(args.repeat):
            for (count, draft), got in ways.items():
                got.append(measure(server, [ids(pick, vocab, args.prompt) for _ in range(count)], args.n, draft))
        alone = statistics.median(rate for rate, *_ in ways[1, 0])
        for (count, draft), got in ways.items():
            rate, own, share = (statistics.median(g[i] for g in got) for i in range(3))
            print(f"{count:3} at once, {'no drafter' if draft == 0 else 'drafter   '}  {rate:8.1f} tokens/s  {rate / alone:5.2f} x one  "
                  f"server {1e6 * own:6.1f} us a token, {100 * share:5.2f} % of the engine's  accepted {got[-1][3]:.2f}")
        waits = [wait_behind(server, pick, vocab, args.long, 2) for _ in range(args.repeat)]
        print(f"a short request behind a prompt of {args.long} tokens: first token after "
              f"{statistics.median(waits):.0f} forwards ({min(waits):.0f} to {max(waits):.0f})")
    finally:
        server.end()


if __name__ == "__main__":
    main()
