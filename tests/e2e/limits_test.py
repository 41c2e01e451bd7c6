#!/usr/bin/env python3
"""Memory: what a run holds is what it touched, and a figure for how long the first token takes."""
import unittest

from program import PAIR, QUESTION, TARGET, DRAFTER, Case

MIB = 1 << 20


class Memory(Case):
    def test_peak_memory_is_weights_and_keys_and_little_more(self):
        weights = sum(path.stat().st_size for folder in (TARGET, DRAFTER) for path in folder.glob("*.safetensors"))
        for chunk in (16, 256):
            stats = self.generate(*PAIR, "-p", QUESTION, "--prefill-chunk", chunk, "--ignore-eos", "-n", 300)["stats"]
            layers, width, floats = 6 + 2, 2 * 64 * 2, 4
            kv = (stats["prompt_tokens"] + 300) * layers * width * floats
            self.assertLess(stats["peak_rss_bytes"], weights + kv + 100 * MIB)

    def test_keys_and_values_grow_with_use_and_not_with_the_limit(self):
        small = self.generate(*PAIR, "-p", QUESTION, "-n", 4, "--ctx", 256)["stats"]["peak_rss_bytes"]
        large = self.generate(*PAIR, "-p", QUESTION, "-n", 4)["stats"]["peak_rss_bytes"]
        self.assertLess(abs(large - small), 8 * MIB)

    def test_weights_in_large_pages_make_the_same_tokens(self):
        plain = self.generate(*PAIR, "-p", QUESTION, "-n", 24, "--ignore-eos")
        large = self.generate(*PAIR, "-p", QUESTION, "-n", 24, "--ignore-eos", "--large-pages")
        self.assertEqual(large["token_ids"], plain["token_ids"])
        self.assertEqual(large["ledger_digest"], plain["ledger_digest"])

    def test_a_context_above_the_models_is_a_warning(self):
        result = self.ok("generate", "-m", TARGET, "-p", QUESTION, "-n", 1, "--ctx", 9000)
        self.assertIn("--ctx 9000 is above the limit", result.err)


class FirstToken(Case):
    def test_report_how_long_the_first_token_takes(self):
        best = min(s["load_s"] + s["prefill_s"] for s in
                   (self.generate(*PAIR, "-p", QUESTION, "-n", 1)["stats"] for _ in range(3)))
        print(f"\nload to first token, warm: {best * 1000:.0f} ms", flush=True)
        self.assertGreater(best, 0)


if __name__ == "__main__":
    unittest.main()
