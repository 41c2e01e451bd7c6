#!/usr/bin/env python3
"""bench: every mode's figures, its outputs, and what it refuses."""
import csv
import io
import json
import unittest

from program import DRAFTER, LIMIT, PAIR, TARGET, USAGE, Case

PLAIN = ["-m", TARGET]
QUICK = ["--repeat", "2", "--json"]


class Bench(Case):
    def points(self, mode, keys, *arguments):
        report = self.ok("bench", mode, *arguments, *QUICK).json
        self.assertEqual(list(report), ["mode", "machine", "model", "points"])
        self.assertEqual(report["mode"], mode)
        self.assertEqual(list(report["machine"]), ["cpu", "isa", "threads", "read_gb_s", "fma_gflop_s"])
        self.assertGreater(report["machine"]["read_gb_s"], 0)
        self.assertGreater(report["machine"]["fma_gflop_s"], 0)
        for point in report["points"]:
            self.assertLessEqual(set(keys), set(point))
            if "ms" in point:
                self.assertLessEqual(point["min"], point["ms"])
                self.assertLessEqual(point["ms"], point["max"])
        return report["machine"], report["points"]

    def test_roofline_needs_no_model(self):
        _, points = self.points("roofline", ["threads", "read_gb_s", "fma_gflop_s"], "--threads", "2")
        self.assertEqual([p["threads"] for p in points], [1, 2])

    def test_width_floors_follow_from_bytes_and_operations(self):
        machine, points = self.points(
            "width", ["rows", "context", "ms", "min", "max", "bytes", "floor_ms", "flop", "compute_floor_ms"], *PLAIN,
            "--rows", "1,4", "--context", "8,32")
        self.assertEqual([(p["rows"], p["context"]) for p in points], [(1, 8), (4, 8), (1, 32), (4, 32)])
        for p in points:
            self.assertAlmostEqual(p["floor_ms"], p["bytes"] / machine["read_gb_s"] / 1e6, places=6)
            self.assertAlmostEqual(p["compute_floor_ms"], p["flop"] / machine["fma_gflop_s"] / 1e6, places=6)
        self.assertGreater(points[1]["bytes"], points[0]["bytes"])

    def test_prefill_and_decode(self):
        _, points = self.points("prefill", ["tokens", "ms", "tokens_per_s", "flop", "peak_share"], *PLAIN, "--rows", "16")
        self.assertEqual([p["tokens"] for p in points], [16])
        _, points = self.points("decode", ["context", "ms_per_token", "bytes", "floor_ms"], *PLAIN, "--context", "8,64")
        self.assertEqual([p["context"] for p in points], [8, 64])

    def test_draft(self):
        _, points = self.points("draft", ["rows", "ms", "bytes", "floor_ms"], *PAIR, "--rows", "1,5", "--context", "16")
        self.assertEqual([p["rows"] for p in points], [1, 5])
        self.fails(USAGE, "bench", "draft", *PLAIN, saying="--draft-model")

    def test_load(self):
        _, points = self.points("load", ["what", "ms", "first_token_ms", "rss_bytes"], *PLAIN)
        self.assertEqual([p["what"] for p in points], ["cold", "warm"])
        for p in points:
            self.assertGreater(p["first_token_ms"], p["ms"])

    def test_pair_compares_plain_widths_and_auto(self):
        keys = ["draft_tokens", "tokens_per_s", "ratio_to_plain", "mean_accepted", "tokens_per_round"]
        _, points = self.points("pair", keys, *PAIR, "--rows", "2,5", "-n", "12")
        self.assertEqual([p["draft_tokens"] for p in points], ["plain", 2, 5, "auto"])
        self.assertEqual(points[0]["ratio_to_plain"], 1)
        self.fails(USAGE, "bench", "pair", *PLAIN, saying="--draft-model")

    def test_a_pattern_is_accepted_exactly(self):
        arguments = ["--prompt-ids", "2,31,7", "--rows", "11", "-n", "25", "--ignore-eos", "--accept-pattern", "3,0,5"]
        _, points = self.points("pair", ["mean_accepted"], *PAIR, *arguments)
        # 1 token of the prompt's forward, then rounds of 4, 1 and 6, 4, 1 and 6, then the 2 that are left, both drafted.
        self.assertAlmostEqual(points[1]["mean_accepted"], (2 * (3 + 0 + 5) + 2) / 7, places=6)

    def test_table_and_csv(self):
        file = self.temp / "width.csv"
        table = self.ok("bench", "width", *PLAIN, "--rows", "1,2", "--repeat", "1", "--csv", file).text
        self.assertIn("compute_floor_ms", table)
        rows = list(csv.DictReader(io.StringIO(file.read_text())))
        self.assertEqual([row["rows"] for row in rows], ["1", "2"])

    def test_wrong_usage(self):
        self.fails(USAGE, "bench")
        self.fails(USAGE, "bench", "speed", *PLAIN)
        self.fails(USAGE, "bench", "width", saying="--model")
        self.fails(USAGE, "bench", "width", *PLAIN, "--rows", "0")
        self.fails(LIMIT, "bench", "width", *PLAIN, "--context", "5000")


if __name__ == "__main__":
    unittest.main()
