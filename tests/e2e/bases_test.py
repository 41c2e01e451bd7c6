#!/usr/bin/env python3
"""The small bases and heads of tests/golden/bases through the program: each variant against what transformers, tokenizers and
the chat template said of it (tools/make_base_variants.py)."""
import json
import os
import struct
import unittest
from pathlib import Path

from program import ROOT, Case

FOLDER = ROOT / "tests/golden/bases"
SHARED = Path(os.environ.get("SPINDRIFT_SHARED") or ROOT.parent / "shared")
PAIRS = {"bigcode-gelu": "bigcode-gelu-accelerator", "llama-head80": "llama-head80-accelerator",
         "llama2-linear": "llama2-linear-accelerator", "llama3-rope": "llama3-rope-arctic"}
TOLERANCE = 1e-3


def read_npy(path):
    """A float32 matrix as a list of rows."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode()
    assert "'<f4'" in header and "'fortran_order': False" in header
    rows, columns = map(int, header.split("'shape': (")[1].split(")")[0].split(","))
    values = struct.unpack(f"<{rows * columns}f", data[10 + size:])
    return [values[r * columns:(r + 1) * columns] for r in range(rows)]


class Bases(Case):
    CASES = [(FOLDER / name, json.loads((FOLDER / name / "golden/golden.json").read_text())) for name in PAIRS]

    def test_texts_become_the_packages_ids_and_ids_its_texts(self):
        for model, golden in self.CASES:
            for case in golden["texts"]:
                found = self.ok("tokenize", "-m", model, "-p", case["text"], "--add-bos").json
                self.assertEqual(found["ids"], case["ids"])
                decoded = self.ok("tokenize", "-m", model, "--decode", ",".join(map(str, case["ids"]))).text
                self.assertEqual(decoded.removesuffix("\n"), case["decoded"].removesuffix("\n"))

    def test_logits_are_the_references(self):
        larger = [ROOT / "models/granite-tiny", SHARED / "models/gptbigcode-random", SHARED / "models/llama-biased-random"]
        cases = [(m, json.loads((m / "golden/golden.json").read_text())) for m in larger if m.exists()]
        for model, golden in self.CASES + cases:
            out = self.temp / "logits.npy"
            self.ok("logits", "-m", model, "--prompt-ids", ",".join(map(str, golden["ids"])), "--out", out)
            rows, expected = read_npy(out), read_npy(model / "golden/logits.npy")
            self.assertEqual(len(rows), len(golden["ids"]))
            for at, row in zip(golden["stored_rows"], expected):
                self.assertLess(max(abs(a - b) for a, b in zip(rows[at], row)), TOLERANCE)
            for row, best, margin in zip(rows, golden["argmax"], golden["margin"]):
                if margin > 2 * TOLERANCE:
                    self.assertEqual(row.index(max(row)), best)

    def test_greedy_answers_are_the_references(self):
        for model, golden in self.CASES:
            for prompt, run, answer in zip(golden["texts"][1:], golden["greedy"], golden["answers"]):
                made = self.generate("-m", model, "--raw", "-p", prompt["text"], "-n", len(run["ids"]), "--ignore-eos", "--temp", 0)
                self.assertEqual((made["prompt_ids"], made["token_ids"]), (prompt["ids"], run["ids"]))
                self.assertEqual(made["text"], answer)

    def test_a_chat_is_rendered_and_encoded_as_the_template_says(self):
        for model, golden in self.CASES:
            chat = golden["chat"]
            messages = self.write("messages.json", chat["messages"])
            self.assertEqual(self.ok("template", "-m", model, "--messages", messages).text, chat["text"])
            self.assertEqual(self.generate("-m", model, "--messages", messages, "-n", 1)["prompt_ids"], chat["ids"])

    def test_heads_draft_and_leave_every_ledger_as_it_is(self):
        for model, golden in self.CASES:
            head = FOLDER / PAIRS[model.name]
            prompt = ["-m", model, "--raw", "-p", golden["texts"][1]["text"], "-n", 30, "--ignore-eos"]
            for temperature in (0, 1.3):
                plain = self.generate(*prompt, "--temp", temperature)
                for shape in ([], ["--draft-tokens", 1], ["--draft-tokens", 2], ["--draft-candidates", 8],
                              ["--draft-candidates", 3, "--draft-tokens", 2], ["--draft-candidates", 1]):
                    drafted = self.generate(*prompt, "--temp", temperature, "--draft-model", head, *shape)
                    self.assertEqual(drafted["ledger_digest"], plain["ledger_digest"], shape)
                    self.assertEqual(drafted["token_ids"], plain["token_ids"])
                    self.assertGreater(drafted["stats"]["draft"]["drafted"], 0)

    def test_inspect_list_and_verify_know_every_pair(self):
        for model, _ in self.CASES:
            head = FOLDER / PAIRS[model.name]
            for folder, role in ((model, "target"), (head, "drafter")):
                facts = self.ok("inspect", folder, "--json").json
                self.assertEqual((facts["role"], facts["problems"]), (role, []))
            self.ok("verify", "-m", model, "--draft-model", head, "--quick")
        pairs = {Path(m["name"]).name: m["pairs_with"] for m in self.ok("list", FOLDER, "--json").json["models"]}
        for base, head in PAIRS.items():
            self.assertIn(str(FOLDER / head), pairs[base])
            self.assertIn(str(FOLDER / base), pairs[head])
        # The bare facts (width, vocabulary) fit; the class that Arctic's config lists does not.
        self.assertNotIn(str(FOLDER / "bigcode-gelu"), pairs["llama3-rope-arctic"])


class Shapes(Case):
    """What the flags of drafting do, on the trained pair."""

    PAIR = ["-m", ROOT / "models/granite-tiny", "--draft-model", ROOT / "models/granite-tiny-accelerator"]

    def rounds(self, *flags):
        """(the draft object, the rounds of the trace that drafted)."""
        trace = self.temp / "trace"
        made = self.generate(*self.PAIR, "-p", "The harbour was quiet", "-n", 40, "--ignore-eos", "--temp", 0, "--trace", trace, *flags)
        rounds = [json.loads(line) for line in trace.read_text().splitlines()]
        return made["stats"]["draft"], [r for r in rounds if r["draft"]]

    @staticmethod
    def depth(round_):
        depths = []
        for i, parent in enumerate(round_.get("parents", range(-1, len(round_["draft"]) - 1))):
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return max(depths)

    def test_a_number_of_draft_tokens_is_a_chain_of_that_length(self):
        for tokens in (1, 3, 4):
            draft, rounds = self.rounds("--draft-tokens", tokens)
            self.assertEqual(draft["draft_tokens"], tokens)
            self.assertEqual(len(draft["acceptance_by_position"]), tokens)
            for round_ in rounds:
                self.assertEqual(len(round_["draft"]), tokens)
                self.assertNotIn("parents", round_)

    def test_a_shape_is_a_tree_in_every_round_cut_to_the_draft_tokens(self):
        for tokens in (1, 2, 4):
            draft, rounds = self.rounds("--draft-top-k", "4,3,2,2", "--draft-candidates", 6, "--draft-tokens", tokens)
            self.assertEqual(draft["plain_rounds"], 0)
            for round_ in rounds:
                self.assertEqual(self.depth(round_), tokens)
                self.assertGreater(len(round_["draft"]), tokens)
        draft, rounds = self.rounds("--draft-top-k", "2,2,2,2", "--draft-candidates", 16)
        self.assertEqual(draft["plain_rounds"], 0)
        self.assertEqual({len(r["draft"]) for r in rounds}, {2 + 4 + 8 + 16})
        self.assertEqual(self.rounds("--draft-candidates", 1)[0]["drafted"], 4 * len(self.rounds("--draft-candidates", 1)[1]))

    def test_too_many_are_clamped_and_impossible_shapes_are_wrong_usage(self):
        result = self.ok("generate", *self.PAIR, "-p", "x", "-n", 3, "--draft-tokens", 9, "--json")
        self.assertIn("--draft-tokens 9 is above this drafter's maximum; using 4", result.err)
        for wrong in (["--draft-top-k", "4,3"], ["--draft-top-k", "4,3,0,2"], ["--draft-candidates", 0]):
            self.fails(2, "generate", *self.PAIR, "-p", "x", *wrong, saying="draft")


class Pairings(Case):
    """A head of the right shape for a base it was not made for: bigcode-gelu's fits llama3-rope."""

    def test_a_pair_that_hits_next_to_nothing_is_warned_of(self):
        for head in ("bigcode-gelu-accelerator", "llama3-rope-arctic"):  # weights are random: no head fits any base
            flags = ["-m", FOLDER / "llama3-rope", "--draft-model", FOLDER / head, "--raw", "-p", "x", "-n", 120, "--ignore-eos"]
            warned = self.ok("generate", *flags, "--draft-tokens", 3)
            self.assertIn(f"{FOLDER / head}: expected a drafter that was made for {FOLDER / 'llama3-rope'}", warned.err)
            self.assertEqual(self.ok("generate", *flags, "--draft-tokens", 3, "--quiet").err, "")
        trained = ["-m", ROOT / "models/granite-tiny", "--draft-model", ROOT / "models/granite-tiny-accelerator"]
        self.assertNotIn("made for", self.ok("generate", *trained, "-p", "The harbour was quiet", "-n", 60, "--ignore-eos").err)

    def test_a_head_of_another_width_or_vocabulary_is_refused(self):
        for head, key in (("llama-head80-accelerator", "emb_dim"), ("llama2-linear-accelerator", "vocab_size")):
            self.fails(3, "generate", "-m", FOLDER / "llama3-rope", "--draft-model", FOLDER / head, "-p", "x", saying=key)
        self.fails(3, "generate", "-m", FOLDER / "bigcode-gelu", "--draft-model", FOLDER / "llama3-rope-arctic", "-p", "x",
                   saying="base_model_archs")


if __name__ == "__main__":
    unittest.main()
