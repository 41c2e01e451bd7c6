#!/usr/bin/env python3
"""tokenize, template, logits, verify, inspect, list, info, the help texts and the local hub cache."""
import json
import os
import pty
import struct
import subprocess
import unittest

from program import (BINARY, CHECK_FAILED, DRAFTER, LIMIT, MODEL, OK, PAIR, QUESTION, TARGET, USAGE, Case,
                     environment, read_safetensors, run, write_safetensors)

PLAIN = ["-m", TARGET]


def read_npy(path):
    data = path.read_bytes()
    assert data[:6] == b"\x93NUMPY"
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size], {}, {})  # pylint: disable=eval-used
    count = header["shape"][0] * header["shape"][1]
    return header, struct.unpack(f"<{count}f", data[10 + size:])


class Tokenize(Case):
    def test_ids_and_spellings(self):
        object_ = self.ok("tokenize", *PLAIN, "-p", "def f(x): return é").json
        self.assertEqual(list(object_), ["ids", "tokens"])
        self.assertEqual(len(object_["ids"]), len(object_["tokens"]))
        self.assertIn("Ġ", "".join(object_["tokens"]))
        back = self.ok("tokenize", *PLAIN, "--decode", ",".join(map(str, object_["ids"])))
        self.assertEqual(back.text, "def f(x): return é")

    def test_bos_and_special_tokens_as_asked(self):
        plain = self.ok("tokenize", *PLAIN, "-p", "<think>hi").json
        self.assertEqual(self.ok("tokenize", *PLAIN, "--add-bos", "-p", "<think>hi").json["ids"], [2, *plain["ids"]])
        as_text = self.ok("tokenize", *PLAIN, "--no-special", "-p", "<think>hi").json
        self.assertIn("<think>", plain["tokens"])
        self.assertNotIn("<think>", as_text["tokens"])

    def test_file_and_standard_input(self):
        text = "naïve\r\n\ttext 🙂 \0 end"
        expected = self.ok("tokenize", *PLAIN, "--file", self.write("t.txt", text)).json
        self.assertEqual(self.ok("tokenize", *PLAIN, "-", stdin=text.encode()).json, expected)
        back = self.ok("tokenize", *PLAIN, "--decode", ",".join(map(str, expected["ids"])))
        self.assertEqual(back.text, text)

    def test_bytes_that_are_no_utf8_do_not_stop_it(self):
        object_ = self.ok("tokenize", *PLAIN, "-", stdin=b"a\xff\xfeb").json
        back = self.ok("tokenize", *PLAIN, "--decode", ",".join(map(str, object_["ids"])))
        self.assertEqual(back.text, "a\ufffd\ufffdb")

    def test_wrong_usage(self):
        self.fails(USAGE, "tokenize", *PLAIN)
        self.fails(USAGE, "tokenize", *PLAIN, "-p", "a", "--file", "b")
        self.fails(USAGE, "tokenize", *PLAIN, "--decode", "2,4000", saying="4000")


class Template(Case):
    MESSAGES = [{"role": "user", "content": "hi"}]

    def test_byte_for_byte_and_no_newline_added(self):
        file = self.write("m.json", self.MESSAGES)
        expected = ("〈|EOS|〉<system>You are a small coding assistant. You answer with short Python code.</system>\n"
                    "<user>hi</user>\n")
        self.assertEqual(self.ok("template", *PLAIN, "--messages", file).text, expected + "<assistant></think>")
        self.assertEqual(self.ok("template", *PLAIN, "--messages", file, "--think").text, expected + "<assistant><think>")
        self.assertEqual(self.ok("template", *PLAIN, "--messages", file, "--no-generation-prompt").text, expected)
        stdin = self.ok("template", *PLAIN, "--messages", "-", stdin=json.dumps(self.MESSAGES).encode())
        self.assertEqual(stdin.text, expected + "<assistant></think>")

    def test_thinking_defaults_to_what_generation_config_says(self):
        model = self.copy_model()
        self.edit_json(model / "generation_config.json", default_chat_template_kwargs={"enable_thinking": True})
        file = self.write("m.json", self.MESSAGES)
        self.assertTrue(self.ok("template", "-m", model, "--messages", file).text.endswith("<think>"))
        self.assertTrue(self.ok("template", "-m", model, "--messages", file, "--no-think").text.endswith("</think>"))
        ids = [self.generate("-m", model, "-p", "hi", *flag, "-n", 0)["prompt_ids"][-1] for flag in ([], ["--no-think"])]
        self.assertEqual(ids, [18, 19])

    def test_set_and_tools(self):
        model = self.copy_model()
        (model / "chat_template.jinja").write_text("{{ a | tojson }} {{ b }} {{ tools | tojson }}")
        file = self.write("m.json", self.MESSAGES)
        tools = self.write("t.json", '[{"z": 1.0, "a": 1e16, "é": 12345678901234567890123}]')
        out = self.ok("template", "-m", model, "--messages", file, "--tools", tools, "--set", 'a={"y": [1.50]}', "--set",
                      "b=null").text
        self.assertEqual(out, '{"y": [1.5]} None [{"z": 1.0, "a": 1e+16, "é": 12345678901234567890123}]')
        self.fails(USAGE, "template", *PLAIN, "--messages", file, "--set", "novalue", saying="novalue")
        self.fails(USAGE, "template", *PLAIN, "--messages", file, "--set", "a={", saying="a")

    def test_reads_no_weights(self):
        model = self.copy_model()
        for shard in model.glob("*.safetensors"):
            shard.unlink()
        self.ok("template", "-m", model, "--messages", self.write("m.json", self.MESSAGES))
        self.ok("tokenize", "-m", model, "-p", "hi")


class Logits(Case):
    def test_a_float32_row_a_token_whatever_the_chunk(self):
        ids = self.generate(*PLAIN, "-p", QUESTION, "-n", 0)["prompt_ids"]
        text = ",".join(map(str, ids))
        one, other = self.temp / "a.npy", self.temp / "b.npy"
        self.ok("logits", *PLAIN, "--prompt-ids", text, "--out", one)
        header, values = read_npy(one)
        self.assertEqual((header["descr"], header["fortran_order"], header["shape"]), ("<f4", False, (len(ids), 3072)))
        self.ok("logits", *PLAIN, "--prompt-ids", f"@{self.write('ids', text)}", "--out", other, "--prefill-chunk", 3,
                "--threads", 1)
        self.assertEqual(one.read_bytes(), other.read_bytes())
        last = values[-3072:]
        token = self.generate(*PLAIN, "-p", QUESTION, "-n", 1)["token_ids"][0]
        self.assertEqual(max(range(3072), key=last.__getitem__), token)

    def test_wrong_usage_and_limits(self):
        self.fails(USAGE, "logits", *PLAIN, "--prompt-ids", "2,9999", "--out", self.temp / "x.npy", saying="9999")
        self.fails(USAGE, "logits", *PLAIN, "--prompt-ids", "2", saying="--out")
        many = self.write("ids", ",".join(["2"] * 5000))
        self.fails(LIMIT, "logits", *PLAIN, "--prompt-ids", f"@{many}", "--out", self.temp / "x.npy", saying="4096")
        self.assertFalse((self.temp / "x.npy").exists())

    def test_needs_no_tokenizer_and_no_template(self):
        model = self.copy_model()
        for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
            (model / name).unlink()
        self.ok("logits", "-m", model, "--prompt-ids", "2,3", "--out", self.temp / "x.npy")
        self.assertEqual(read_npy(self.temp / "x.npy")[0]["shape"], (2, 3072))


class Verify(Case):
    def test_quick_verify_finds_no_difference(self):
        result = self.ok("verify", *PAIR, "--quick")
        self.assertIn("every ledger equal", result.text)
        self.assertIn("dflash", result.text)


    def test_a_difference_is_found_and_exits_with_4(self):
        """Weights that change under the run, after the plain runs it compares with."""
        model = self.copy_model()
        shard = next(path for path in model.glob("*.safetensors") if "lm_head.weight" in read_safetensors(path)[0])
        header, data = read_safetensors(shard)
        begin, end = header["lm_head.weight"]["data_offsets"]
        screen, stderr = pty.openpty()
        with subprocess.Popen([BINARY, "verify", "-m", str(model), "--quick"], stdout=subprocess.PIPE, stderr=stderr,
                              env=environment()) as process:
            os.close(stderr)
            shown = b""
            while b"scripted" not in shown:
                shown += os.read(screen, 4096)
            with shard.open("r+b") as file:
                file.seek(shard.stat().st_size - len(data) + begin)
                file.write(b"\x40\x40" * ((end - begin) // 2))
            os.close(screen)
            out = process.stdout.read().decode()
        self.assertEqual(process.returncode, CHECK_FAILED, out)
        self.assertRegex(out, r"first: prompt 0, temperature 0")
        self.assertRegex(out, r"\d+ of \d+ runs differ\n$")


class Inspect(Case):
    def test_a_target(self):
        object_ = self.ok("inspect", TARGET, "--json").json
        for key, type_ in (("model", str), ("folder", str), ("config", dict), ("weights", list), ("tensors", int),
                           ("bytes", int), ("bytes_per_token", int), ("tokenizer", dict), ("generation", dict),
                           ("pairs_with", list), ("warnings", list), ("problems", list)):
            self.assertIsInstance(object_[key], type_, key)
        self.assertEqual((object_["role"], object_["family"], object_["problems"]), ("target", "laguna", []))
        self.assertEqual(object_["tokenizer"]["vocab_size"], 3072)
        self.assertEqual(object_["pairs_with"], [str(DRAFTER)])
        self.assertEqual(sum(group["bytes"] for group in object_["weights"]), object_["bytes"])
        self.assertEqual(sum(group["tensors"] for group in object_["weights"]), object_["tensors"])
        files = 0
        for shard in TARGET.glob("*.safetensors"):
            header, data = read_safetensors(shard)
            files += len(data)
        self.assertEqual(object_["bytes"], files)
        routed = next(g for g in object_["weights"] if g["module"] == "routed experts")
        self.assertEqual((routed["format"], routed["bytes_per_token"] * 4), ("nvfp4", routed["bytes"]))  # 4 of 16 experts

    def test_a_drafter(self):
        object_ = self.ok("inspect", DRAFTER, "--json").json
        self.assertEqual((object_["role"], object_["family"], object_["problems"]), ("drafter", "dflash", []))
        self.assertEqual(object_["pairs_with"], [str(TARGET)])
        self.assertIsNone(object_["tokenizer"])
        self.assertEqual(object_["config"]["draft tokens"], "11")

    def test_text_names_what_it_found(self):
        text = self.ok("inspect", TARGET, "--check").text
        for part in ("laguna", "nvfp4", "routed experts", "3072 tokens", str(DRAFTER), "all read"):
            self.assertIn(part, text)

    def test_problems_are_listed_and_exit_with_3(self):
        model = self.copy_model()
        shard = model / "model-00001-of-00002.safetensors"
        header, data = read_safetensors(shard)
        name = next(k for k in header if k.endswith("self_attn.q_proj.weight"))
        write_safetensors(shard, {(k.replace("q_proj", "z_proj") if k == name else k): v for k, v in header.items()}, data)
        index = model / "model.safetensors.index.json"
        index.write_text(index.read_text().replace(name, name.replace("q_proj", "z_proj")))
        result = run("inspect", model, "--json")
        self.assertEqual(result.code, MODEL)
        self.assertEqual(len(result.err.splitlines()), 1)
        self.assertTrue(any("z_proj" in problem for problem in result.json["problems"]))
        (model / "tokenizer.json").unlink()
        self.assertTrue(any("tokenizer.json" in problem for problem in run("inspect", model, "--json").json["problems"]))
        self.fails(MODEL, "inspect", self.temp / "nope", saying="nope")


class List(Case):
    def test_every_folder_with_what_it_pairs_with_or_why_it_does_not_load(self):
        self.copy_model(name="models/target")
        self.copy_model(DRAFTER, "models/drafter")
        broken = self.copy_model(name="models/broken")
        (broken / "model-00002-of-00002.safetensors").unlink()
        self.write("models/odd/config.json", '{"model_type": "bert"}')
        models = {m["name"]: m for m in self.ok("list", self.temp, "--json").json["models"]}
        names = {name: str(self.temp / "models" / name) for name in ("target", "drafter", "broken", "odd")}
        self.assertEqual(sorted(models), sorted(names.values()))
        target, drafter = models[names["target"]], models[names["drafter"]]
        self.assertEqual((target["loadable"], target["role"], target["pairs_with"]), (True, "target", [names["drafter"]]))
        self.assertEqual((drafter["role"], drafter["pairs_with"]), ("drafter", [names["target"]]))
        self.assertIn("model-00002-of-00002.safetensors", models[names["broken"]]["problem"])
        self.assertIn("bert", models[names["odd"]]["problem"])
        text = self.ok("list", self.temp).text
        for part in (*names.values(), "does not load", "pairs with"):
            self.assertIn(part, text)
        self.fails(USAGE, "list", self.temp / "nope", saying="nope")


class HubCache(Case):
    """A cache as the Hugging Face libraries lay it out: blobs, snapshots of links, refs."""

    COMMITS = ("a" * 40, "ab" + "c" * 38)

    def setUp(self):
        super().setUp()
        self.hub = self.temp / "hub"
        repo = self.hub / "models--org--tiny"
        for commit in self.COMMITS:
            snapshot = repo / "snapshots" / commit
            snapshot.mkdir(parents=True)
            for file in TARGET.iterdir():
                if file.is_file():
                    (snapshot / file.name).symlink_to(file)
        for ref, commit in (("main", self.COMMITS[0]), ("v1", self.COMMITS[1]), ("refs/pr/1", self.COMMITS[1])):
            self.write(f"hub/models--org--tiny/refs/{ref}", commit)

    def folder(self, model, **env):
        return self.ok("inspect", model, "--json", **(env or {"HF_HUB_CACHE": self.hub})).json["folder"]

    def test_an_id_and_its_revisions(self):
        snapshots = [str(self.hub / "models--org--tiny/snapshots" / commit) for commit in self.COMMITS]
        self.assertEqual(self.folder("org/tiny"), snapshots[0])
        self.assertEqual(self.folder("org/tiny@v1"), snapshots[1])
        self.assertEqual(self.folder("org/tiny@refs/pr/1"), snapshots[1])
        self.assertEqual(self.folder(f"org/tiny@{self.COMMITS[1]}"), snapshots[1])
        self.assertEqual(self.folder("org/tiny@abc"), snapshots[1])
        answer = self.generate("-m", "org/tiny", "--draft-model", DRAFTER, "-p", "hi", "-n", 3, HF_HUB_CACHE=self.hub)
        self.assertEqual(answer["model"], "org/tiny")

    def test_where_the_cache_is(self):
        home = self.temp / "home"
        (home / ".cache/huggingface").mkdir(parents=True)
        (home / ".cache/huggingface/hub").symlink_to(self.hub)
        self.folder("org/tiny", HF_HUB_CACHE="", HF_HOME=self.temp)
        self.folder("org/tiny", HF_HUB_CACHE="", HF_HOME="", XDG_CACHE_HOME="", HOME=home)

    def test_what_is_not_there_is_named_and_never_downloaded(self):
        for model in ("org/other", "org/tiny@v2", "org/tiny@" + "d" * 40):
            result = self.fails(MODEL, "generate", "-m", model, "-p", "x", saying=model.split("@")[0], HF_HUB_CACHE=self.hub)
            self.assertIn("hint", result.err)
        for model in ("../tiny", "org/../tiny", "org/tiny@../../x", "a/b/c", "org/", "/tiny"):
            self.fails(MODEL, "inspect", model, HF_HUB_CACHE=self.hub)

    def test_list_names_what_the_cache_holds(self):
        models = self.ok("list", "--json", HF_HUB_CACHE=self.hub).json["models"]
        self.assertEqual(len(models), 2)
        for model in models:
            self.assertTrue(model["loadable"] and model["name"].startswith("org/tiny"), model)
            self.folder(model["name"])


class Info(Case):
    def test_machine_and_version(self):
        object_ = self.ok("info", "--json").json
        for key in ("version", "commit", "compiler", "build_flags", "cpu", "usable_isas", "isa", "threads",
                    "memory_bytes"):
            self.assertIn(key, object_)
        self.assertIn("scalar", object_["usable_isas"])
        self.assertEqual(self.ok("info", "--json", SPINDRIFT_ISA="scalar").json["isa"], "scalar")
        self.assertIn(object_["version"], self.ok("--version").text)
        self.assertIn(object_["commit"], self.ok("--version").text)

    def test_every_command_has_help_with_an_example(self):
        listed = self.ok("--help").text.split("Commands:\n")[1].split("\n\n")[0]
        commands = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
        self.assertGreaterEqual(len(commands), 9)
        for command in commands:
            result = run(command, "--help")
            self.assertEqual(result.code, OK)
            self.assertIn(f"usage: spindrift {command}", result.text)
            self.assertIn("\nExample", result.text)
            self.assertLessEqual(max(map(len, result.text.splitlines())), 100)

    def test_a_wrong_command_line_is_told_what_was_expected(self):
        for line, saying in (
            ((), "expected a command, found none"), (("--frob",), "unknown flag `--frob`"), (("frob",), "found `frob`"),
            (("generate",), "generate: --model is required"), (("generate", "-m", "x", "--frob"), "unknown flag `--frob`"),
            (("info", "extra"), "info: unknown argument `extra`"), (("generate", "--temp"), "--temp: expected a value"),
            (("generate", "--temp", "hot"), "--temp: expected a number from 0 to 100, found `hot`"),
            (("generate", "--threads", "1.5"), "--threads: expected a whole number from 1 to 1024, found `1.5`"),
            (("generate", "--color", "blue"), "--color: expected auto, always or never, found `blue`"),
            (("generate", "--memory-limit", "1Q"), "expected bytes as 4096, 512M or 1.5G, found `1Q`")):
            with self.subTest(line=line):
                self.assertIn("spindrift: hint: see spindrift ", self.fails(USAGE, *line, saying=saying).err)

    def test_commands_take_no_flags_that_do_nothing_there(self):
        for flag in ("--draft-tokens", "--prefill-chunk", "--ctx", "--memory-limit"):
            self.fails(USAGE, "verify", *PAIR, "--quick", flag, 4, saying=flag)
        for flag in ("--ctx", "--memory-limit"):
            self.fails(USAGE, "logits", *PLAIN, "--prompt-ids", 2, "--out", self.temp / "x.npy", flag, 4, saying=flag)

    def test_the_folder_above_a_model_is_told_apart(self):
        self.copy_model(name="models/target")
        result = self.fails(MODEL, "inspect", self.temp / "models", saying="a folder of model folders")
        self.assertIn(str(self.temp / "models/target"), result.err)


if __name__ == "__main__":
    unittest.main()
