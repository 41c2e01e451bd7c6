#!/usr/bin/env python3
"""What a request gets depends on the request alone: 64 clients at once, alone, and the command line say the same.

With SPINDRIFT_LOAD=small prompts and answers are short: enough for ThreadSanitizer, which takes its time.
"""
import os
import random
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from serving import PAIR, QUESTION, Server, program, user

PROMPTS = [
    QUESTION,
    "Write a Python class for a stack with push and pop.",
    "Explain what a hash table is.",
    "Write a test for a function that reverses a string.",
    "hi",
    "Why is the sky blue? " * 12,
    "Write a Python function that counts the vowels of a text.",
    "Ünïcödé 👍 in a comment, please.",
]
LENGTHS = [1, 5, 17, 40]
MEMORY = "6M"  # for a few of the 64
if os.environ.get("SPINDRIFT_LOAD") == "small":
    PROMPTS = [PROMPTS[i] for i in (2, 3, 4)]
    LENGTHS = [1, 3, 9]
    MEMORY = "1M"


def requests(count, seed):
    """Mixed prompts, lengths, temperatures, seeds and draft widths, always the same for a seed."""
    pick = random.Random(seed)
    out = []
    for i in range(count):
        body = {"messages": user(pick.choice(PROMPTS)), "max_tokens": pick.choice(LENGTHS),
                "temperature": pick.choice([0, 0, 0.7, 1.3]), "seed": pick.randrange(1000),
                "draft_tokens": pick.choice(["auto", 0, 3, 11]), "return_token_ids": True, "return_ledger": True}
        if i % 7 == 0:
            body["top_p"] = 0.9
        if i % 5 == 0:
            body["chat_template_kwargs"] = {"enable_thinking": True}
        out.append(body)
    return out


def identity(reply):
    return [(c["token_ids"], c["ledger_digest"], c["finish_reason"]) for c in reply["choices"]]


def together(server, bodies):
    gate = threading.Barrier(len(bodies))

    def one(body):
        gate.wait()
        return identity(server.json("POST", "/v1/chat/completions", body, timeout=300))

    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(one, bodies))


class UnderLoad(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bodies = requests(64, 1)
        server = Server("--parallel", "1", model=PAIR[:2])  # one at a time, no drafter
        cls.alone = [identity(server.json("POST", "/v1/chat/completions", body, timeout=300)) for body in cls.bodies]
        assert server.end() == 0

    def same_as_alone(self, *flags, model=PAIR):
        server = Server(*flags, model=model)
        try:
            got = together(server, self.bodies)
            preempted = server.metric("spindrift_preemptions_total")
        finally:
            code = server.end()
        self.assertEqual(code, 0)
        for i, (one, many) in enumerate(zip(self.alone, got)):
            self.assertEqual(one, many, self.bodies[i])
        return preempted

    def test_sixty_four_clients_at_once(self):
        self.same_as_alone("--parallel", "64")

    def test_without_what_is_kept_of_earlier_prompts(self):
        self.same_as_alone("--parallel", "64", "--prefix-cache", "0")

    def test_a_small_batch_with_a_queue(self):
        self.same_as_alone("--parallel", "5", "--prefill-chunk", "9")

    def test_with_memory_for_a_few_so_that_requests_are_dropped_and_replayed(self):
        self.assertGreater(self.same_as_alone("--parallel", "64", "--memory-limit", MEMORY), 0)
        self.assertGreater(self.same_as_alone("--parallel", "64", "--memory-limit", MEMORY, "--prefix-cache", "0"), 0)

    def test_without_a_drafter(self):
        self.same_as_alone("--parallel", "64", model=PAIR[:2])

    def test_the_command_line_says_the_same(self):
        for body, alone in list(zip(self.bodies, self.alone))[:6]:
            flags = ["-p", body["messages"][0]["content"], "-n", body["max_tokens"], "--temp", body["temperature"], "--seed",
                     body["seed"], "--draft-tokens", body["draft_tokens"]]
            if "top_p" in body:
                flags += ["--top-p", body["top_p"]]
            if "chat_template_kwargs" in body:
                flags += ["--think"]
            got = program.run("generate", *PAIR, *flags, "--json", "--quiet").json
            self.assertEqual([(got["token_ids"], got["ledger_digest"], got["finish_reason"])], alone)


if __name__ == "__main__":
    unittest.main()
