#!/usr/bin/env python3
"""Every stored layout through the program: logits against stored outputs, and drafting changes no ledger.

Small folders of one variant each lie in tests/golden/variants (tools/make_variants.py); larger ones are looked for in
../shared/models (SPINDRIFT_SHARED).
"""
import array
import ast
import json
import os
import shutil
import unittest
from pathlib import Path

from program import ROOT, Case

VARIANTS = ROOT / "tests/golden/variants"
SHARED = Path(os.environ.get("SPINDRIFT_SHARED", ROOT.parent / "shared")) / "models"
TINY = ("laguna-tiny-bf16", "laguna-tiny-nvfp4", "laguna-tiny-int4", "laguna-tiny-fp8", "laguna-tiny-mlx-4bit",
        "laguna-tiny-mlx-nvfp4")
SHAPES = ("shapes/xs2-nvfp4", "shapes/s21-nvfp4-mixed", "shapes/m1-bf16", "shapes/softcap-bf16")


def read_rows(path):
    """The rows of a float32 NumPy file."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    rows, columns = ast.literal_eval(data[10:begin].decode())["shape"]
    values = array.array("f", data[begin:])
    return [values[r * columns:(r + 1) * columns] for r in range(rows)]


def variants(drafters):
    return sorted(f for f in VARIANTS.iterdir() if f.is_dir() and f.name.startswith("dflash-") == drafters)


class Layouts(Case):
    def with_tokenizer(self, folder):
        """A variant's folder with the tokenizer that all of them share."""
        copy = self.temp / folder.name
        if not copy.exists():
            shutil.copytree(folder, copy)
            shutil.copy(VARIANTS / "tokenizer.json", copy)
        return copy

    def shared(self, name):
        folder = SHARED / name
        if not folder.is_dir():
            self.skipTest(f"{folder} is missing")
        return folder

    def assert_logits(self, folder, default_tolerance):
        golden = json.loads((folder / "golden/golden.json").read_text())
        tolerance = golden.get("tolerance", default_tolerance)
        ids = ",".join(map(str, golden["ids"]))
        self.ok("logits", "-m", folder, "--prompt-ids", ids, "--out", self.temp / "logits.npy")
        rows, expected = read_rows(self.temp / "logits.npy"), read_rows(folder / "golden/logits.npy")
        (self.temp / "logits.npy").unlink()
        for row, stored in zip(golden["stored_rows"], expected):
            worst = max(abs(a - b) for a, b in zip(rows[row], stored))
            self.assertLess(worst, tolerance, f"row {row}")
        for row, (best, margin) in enumerate(zip(golden["argmax"], golden["margin"])):
            if margin > 2 * tolerance:
                self.assertEqual(max(range(len(rows[row])), key=rows[row].__getitem__), best, f"row {row}")

    def assert_same_ledger(self, target, drafter, prompt, tokens):
        for temperature in (0, 0.8):
            runs = [self.generate("-m", target, *draft, "--prompt-ids", prompt, "-n", tokens, "--temp", temperature,
                                  "--seed", 5, "--ignore-eos")
                    for draft in ([], *(["--draft-model", drafter, "--draft-tokens", n] for n in (1, 5, "auto")))]
            self.assertEqual(len({run["ledger_digest"] for run in runs}), 1, f"{target.name} with {drafter.name}")
            self.assertEqual(len({tuple(run["token_ids"]) for run in runs}), 1)
            self.assertTrue(all(run["stats"]["draft"]["drafted"] > 0 for run in runs[1:3]))

    def test_logits_of_every_variant_agree_with_the_stored_ones(self):
        for folder in variants(drafters=False):
            with self.subTest(folder.name):
                self.assert_logits(self.with_tokenizer(folder), None)

    def test_logits_of_every_shared_folder_agree_with_the_reference(self):
        for name in (*TINY, *SHAPES):
            with self.subTest(name):
                self.assert_logits(self.shared(name), 1e-3)

    def test_variants_have_the_same_ledger_with_and_without_a_drafter(self):
        for folder in variants(drafters=False):
            if folder.name == "mlx-affine-g128":  # of another width than the drafters
                continue
            with self.subTest(folder.name):
                self.assert_same_ledger(self.with_tokenizer(folder), VARIANTS / "dflash-prefixed-split", "2,31,7,40", 24)

    def test_every_stored_drafter_leaves_the_ledger_as_it_is(self):
        target = self.with_tokenizer(VARIANTS / "f32")
        for folder in variants(drafters=True):
            if folder.name == "dflash-shapes":
                continue
            with self.subTest(folder.name):
                self.assert_same_ledger(target, folder, "2,31,7,40,11", 24)

    def test_shared_folders_have_the_same_ledger_with_and_without_a_drafter(self):
        for name in TINY:
            with self.subTest(name):
                self.assert_same_ledger(self.shared(name), ROOT / "models/laguna-tiny-dflash", "2,97,414,300", 40)
        for name in SHAPES:
            with self.subTest(name):
                self.assert_same_ledger(self.shared(name), VARIANTS / "dflash-shapes", "2,97,414,300", 16)

    def test_other_layouts_of_the_demo_drafter_leave_the_ledger_as_it_is(self):
        for name in ("laguna-tiny-dflash-split", "laguna-random-dflash"):
            with self.subTest(name):
                self.assert_same_ledger(ROOT / "models/laguna-tiny-nvfp4", self.shared(name), "2,97,414,300", 40)


if __name__ == "__main__":
    unittest.main()
