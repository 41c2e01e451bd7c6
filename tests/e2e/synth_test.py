#!/usr/bin/env python3
"""`spindrift synth`: its folders against the published names, and that the program runs on them."""
import json
import resource
import sys
import unittest

from program import ROOT, USAGE, Case, read_safetensors_header, run

sys.path.insert(0, str(ROOT / "tools"))
import published_names  # noqa: E402

RELEASES = {
    "xs-2.1-nvfp4": "Laguna-XS-2.1-NVFP4", "xs-2.1-bf16": "Laguna-XS-2.1", "xs-2.1-int4": "Laguna-XS-2.1-INT4",
    "xs-2.1-mlx-4bit": "Laguna-XS.2-4bit (mlx)", "xs-2.1-mlx-nvfp4": "Laguna-XS-2.1-NVFP4-mlx",
    "xs.2-nvfp4": "Laguna-XS.2-NVFP4", "xs.2-fp8": "Laguna-XS.2-FP8", "s-2.1-nvfp4": "Laguna-S-2.1-NVFP4@f8fdfcd",
    "s-2.1-nvfp4-0761412": "Laguna-S-2.1-NVFP4@0761412", "m.1-nvfp4": "Laguna-M.1-NVFP4",
}
DRAFTERS = {"xs-2.1-dflash": "Laguna-XS-2.1-DFlash", "s-2.1-dflash": "Laguna-S-2.1-DFlash"}
SHARDS = {"s-2.1-nvfp4": 49, "s-2.1-nvfp4-0761412": 15, "xs-2.1-nvfp4": 5, "xs-2.1-bf16": 14, "granite-3.0-8b": 4}


class Synth(Case):
    def make(self, shape, *flags):
        out = self.temp / f"{shape}{''.join(map(str, flags))}"
        self.ok("synth", "--shape", shape, "--out", out, "--sparse", *flags)
        return out

    def assert_tensors(self, folder, shape, expected):
        shards = sorted(folder.glob("*.safetensors"))
        found = {}
        for shard in shards:
            for name, entry in read_safetensors_header(shard).items():
                if name != "__metadata__":
                    found[name] = (entry["dtype"], entry["shape"])
        self.assertEqual(found, {tensor[0]: (tensor[1], tensor[2]) for tensor in expected})
        self.assertEqual(len(shards), SHARDS.get(shape, len(shards)))

    def assert_config(self, folder, release):
        """The config is the published one, where that is at hand."""
        text = published_names.published_config(release.config)
        if text is not None:
            self.assertEqual(json.loads((folder / "config.json").read_text()), json.loads(text))

    def test_targets_have_the_published_tensors_shards_and_configs(self):
        for shape, name in RELEASES.items():
            with self.subTest(shape):
                release, folder = published_names.RELEASES[name], self.make(shape)
                self.assert_tensors(folder, shape, published_names.target_tensors(release))
                self.assert_config(folder, release)

    def test_drafters_have_the_published_tensors_and_configs(self):
        for shape, name in DRAFTERS.items():
            with self.subTest(shape):
                drafter, folder = published_names.DRAFTERS[name], self.make(shape)
                self.assert_tensors(folder, shape, published_names.drafter_tensors(drafter))
                self.assert_config(folder, drafter)

    def test_slices_load_and_run_with_their_drafter(self):
        for target, drafter, layers in (("xs-2.1-nvfp4", "xs-2.1-dflash", 5), ("xs-2.1-mlx-4bit", None, 2)):
            with self.subTest(target):
                pair = ["-m", self.make(target, "--layers", layers)]
                if drafter:
                    pair += ["--draft-model", self.make(drafter, "--layers", layers)]
                answer = self.generate(*pair, "--raw", "-p", "sort a list", "-n", 2, "--ignore-eos", "--temp", 0)
                self.assertEqual(len(answer["token_ids"]), 2)

    def test_every_shape_is_described_without_a_problem(self):
        for shape in (*RELEASES, *DRAFTERS, "granite-3.0-8b", "granite-3.0-8b-accelerator"):
            with self.subTest(shape):
                folder = self.make(shape, *(["--layers", 6] if "accelerator" not in shape else []))
                found = run("inspect", folder, "--json").json
                self.assertEqual((found["problems"], found["warnings"]), ([], []))

    def test_the_accelerators_draft_costs_what_is_published(self):
        folder = self.make("granite-3.0-8b-accelerator")
        found = self.ok("inspect", folder, "--json").json
        self.assertAlmostEqual(found["bytes_per_token"] / 1.74e9, 1.0, delta=0.05)

    def test_a_long_index_opens_in_a_second_and_little_memory(self):
        folder = self.make("s-2.1-nvfp4-0761412")
        best, peak = float("inf"), 0
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.ok("inspect", folder)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
            peak = max(peak, after.ru_maxrss)  # of all children so far, in KiB
        print(f"\n145153 tensors: {best:.2f} s of processor time, peak {peak / 1024:.0f} MiB", flush=True)
        self.assertLess(best, 1.0)
        self.assertLess(peak, 200 * 1000)

    def test_text_survives_the_made_up_tokenizers(self):
        text = "def sort(values):\n    return sorted(values)  # 123 größer 😀\n"
        for shape, vocabulary in (("xs-2.1-nvfp4", 100352), ("granite-3.0-8b", 49155)):
            folder = self.make(shape, "--layers", 1)
            ids = run("tokenize", "-m", folder, "-", stdin=text.encode()).json["ids"]
            self.assertLess(max(ids), vocabulary)
            self.assertLess(len(ids), len(text.encode()))
            self.assertEqual(run("tokenize", "-m", folder, "--decode", ",".join(map(str, ids))).text.rstrip("\n"),
                             text.rstrip("\n"))

    def test_wrong_usage_is_named(self):
        full = self.temp / "full"
        full.mkdir()
        (full / "model.safetensors").write_text("precious")
        for flags, saying in ((["--shape", "nothing", "--out", self.temp / "a"], "--shape: expected one of xs-2.1-nvfp4"),
                              (["--shape", "m.1-nvfp4", "--layers", 71, "--out", self.temp / "b"], "expected 1 to 70"),
                              (["--shape", "xs-2.1-dflash", "--layers", 3, "--out", self.temp / "c"], "at least 5"),
                              (["--shape", "xs-2.1-dflash", "--out", full], "new or empty folder")):
            self.fails(USAGE, "synth", *flags, saying=saying)
        self.assertEqual((full / "model.safetensors").read_text(), "precious")


if __name__ == "__main__":
    unittest.main()
