#!/usr/bin/env python3
"""Broken model folders: exit code 3, one line that names the file and what is wrong, within two seconds."""
import json
import os
import struct
import subprocess
import unittest

from program import (BINARY, DRAFTER, LIMIT, MODEL, QUESTION, ROOT, TARGET, USAGE, Case, environment,
                     read_safetensors, run, write_safetensors)

SECONDS = 2
RSS_LIMIT_MB = 150


class Target(Case):
    """Each test spoils a copy of the demo target."""

    def setUp(self):
        super().setUp()
        self.model = self.copy_model()
        self.shard = self.model / "model-00001-of-00002.safetensors"
        self.index = self.model / "model.safetensors.index.json"

    def refused(self, *saying, code=MODEL):
        result = self.fails(code, "generate", "-m", self.model, "-p", QUESTION, "-n", 2, saying=saying, seconds=SECONDS)
        self.assertEqual(result.out, b"")
        return result

    def refused_config(self, saying, **changes):
        self.edit_json(self.model / "config.json", **changes)
        self.refused(str(self.model / "config.json"), *([saying] if isinstance(saying, str) else saying))


class Weights(Target):
    def test_truncated_at_every_kind_of_place(self):
        whole = self.shard.read_bytes()
        header = struct.unpack("<Q", whole[:8])[0]
        for size in (0, 4, 8, 9, 8 + header // 2, 8 + header, 8 + header + 100, len(whole) - 1):
            with self.subTest(size=size):
                self.shard.write_bytes(whole[:size])
                self.refused(self.shard.name)

    def test_more_bytes_than_the_header_says(self):
        with self.shard.open("ab") as file:
            file.write(b"\0" * 16)
        self.refused(self.shard.name)

    def test_flipped_bits_in_the_header_length(self):
        whole = bytearray(self.shard.read_bytes())
        for bit in range(0, 64, 5):
            with self.subTest(bit=bit):
                spoilt = bytearray(whole)
                spoilt[bit // 8] ^= 1 << bit % 8
                self.shard.write_bytes(spoilt)
                self.refused(self.shard.name)

    def test_every_field_of_the_header(self):
        header, data = read_safetensors(self.shard)
        name = next(k for k in header if k.endswith("q_proj.weight"))
        other = next(k for k in header if k.endswith("k_proj.weight"))
        entry = header[name]
        begin, end = entry["data_offsets"]
        for change in ({"dtype": "BF17"}, {"dtype": 3}, {"dtype": "F32"}, {"dtype": None}, {"shape": [1]}, {"shape": "x"},
                       {"shape": [-1, -1]}, {"shape": [2**62, 2**62]}, {"shape": [1.5]},
                       {"shape": list(reversed(entry["shape"])) + [2]}, {"data_offsets": [end, begin]},
                       {"data_offsets": [begin]}, {"data_offsets": [begin, 2**63]}, {"data_offsets": [begin, end + 1]},
                       {"data_offsets": [-1, end]}, {"data_offsets": header[other]["data_offsets"]}):
            with self.subTest(change=change):
                write_safetensors(self.shard, header | {name: entry | change}, data)
                self.refused(self.shard.name)
        write_safetensors(self.shard, json.dumps(header)[:-1] + f',"{name}":{json.dumps(entry)}}}', data)
        self.refused(self.shard.name, name)
        write_safetensors(self.shard, "[" * 100000, data)
        self.refused(self.shard.name)

    def test_missing_extra_and_misshapen_tensors_are_named(self):
        header, data = read_safetensors(self.shard)
        name = next(k for k in header if k.endswith("self_attn.q_proj.weight"))
        renamed = {("model.layers.0.self_attn.z_proj.weight" if k == name else k): v for k, v in header.items()}
        write_safetensors(self.shard, renamed, data)
        self.refused(self.index.name, name)
        index = self.index.read_text()
        self.index.write_text(index.replace(name, name.replace("q_proj", "z_proj")))
        self.refused("q_proj")
        self.index.write_text(index)
        flat = [header[name]["shape"][0] * header[name]["shape"][1]]
        write_safetensors(self.shard, header | {name: header[name] | {"shape": flat}}, data)
        self.refused(str(self.shard.parent), name)

    def test_shards_that_are_missing_or_not_what_the_index_says(self):
        index = json.loads(self.index.read_text())
        first = next(iter(index["weight_map"]))
        for value in ("model-00003-of-00002.safetensors", "../model-00001-of-00002.safetensors", "/etc/passwd", 7, ""):
            with self.subTest(value=value):
                spoilt = index | {"weight_map": index["weight_map"] | {first: value}}
                self.index.write_text(json.dumps(spoilt))
                self.refused()
        for text in ("", "{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {}}'):
            with self.subTest(text=text):
                self.index.write_text(text)
                self.refused(self.index.name)
        self.index.write_text(json.dumps(index))
        self.shard.unlink()
        self.refused(self.shard.name)

    def test_links_in_a_circle_folders_and_pipes_as_files(self):
        self.shard.unlink()
        self.shard.symlink_to(self.shard.name)
        self.refused(self.shard.name)
        self.shard.unlink()
        self.shard.mkdir()
        self.refused(self.shard.name)
        self.shard.rmdir()
        os.mkfifo(self.shard)
        self.refused(self.shard.name)
        config = self.model / "config.json"
        for make in (os.mkdir, os.mkfifo):
            config.unlink() if config.is_file() else os.rmdir(config)
            make(config)
            self.refused("config.json")

    def test_a_file_that_is_shortened_while_it_is_in_use(self):
        command = [BINARY, "generate", "-m", self.model, "-p", QUESTION, "--ignore-eos", "-n", "4000", "--quiet"]
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertTrue(process.stdout.read(5))
            os.truncate(self.shard, 4096)
            _, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, MODEL, err)
        self.assertRegex(err.decode(), f"^spindrift: error: {self.shard}: [^\n]*shortened[^\n]*\n$")

    def test_links_to_nothing_are_unfinished_downloads(self):
        for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
                     "special_tokens_map.json", "chat_template.jinja", self.shard.name):
            with self.subTest(name=name):
                path = self.model / name
                kept = path.read_bytes()
                path.unlink()
                path.symlink_to("../../blobs/0123")
                self.refused(name)
                path.unlink()
                path.write_bytes(kept)

    def test_files_too_large_for_what_they_are(self):
        for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
                     "special_tokens_map.json", "chat_template.jinja", self.index.name):
            with self.subTest(name=name):
                path = self.model / name
                kept = path.read_bytes()
                os.truncate(path, 2**40)
                self.refused(name, str(2**40))
                path.write_bytes(kept)

    def test_scales_that_are_no_numbers(self):
        header, data = read_safetensors(self.shard)
        name = next(k for k in header if k.endswith("weight_global_scale"))
        begin = header[name]["data_offsets"][0]
        for value in (float("nan"), float("inf"), 0.0, -1.0):
            with self.subTest(value=value):
                write_safetensors(self.shard, header, data[:begin] + struct.pack("<f", value) + data[begin + 4:])
                self.refused(name)
        block = next(k for k in header if k.endswith("gate_proj.weight_scale"))
        begin = header[block]["data_offsets"][0]
        write_safetensors(self.shard, header, data[:begin] + b"\x7f" + data[begin + 1:])
        result = run("inspect", self.model, "--check")
        self.assertEqual(result.code, MODEL)
        self.assertIn(block, result.err)


class QuantisedLayers(Target):
    """Tensors of quantised layers that do not fit: file, tensor, expected and found in one line."""

    def setUp(self):
        super().setUp()
        self.header, self.data = read_safetensors(self.shard)
        self.layer = next(k for k in self.header if ".experts." in k and k.endswith("gate_proj.weight_packed")).rpartition(".")[0]

    def reshaped(self, leaf, shape, dtype=None):
        entry = self.header[f"{self.layer}.{leaf}"]
        return self.header | {f"{self.layer}.{leaf}": entry | {"shape": shape} | ({"dtype": dtype} if dtype else {})}

    def assert_refused(self, header, leaf, *saying):
        write_safetensors(self.shard, header, self.data)
        self.refused(self.shard.name, f"{self.layer}.{leaf}", "expected", "found", *saying)

    def test_a_scale_of_another_shape(self):
        rows, groups = self.header[f"{self.layer}.weight_scale"]["shape"]
        self.assert_refused(self.reshaped("weight_scale", [groups, rows]), "weight_scale", f"[{rows}, {groups}]",
                            f"[{groups}, {rows}]")

    def test_a_packed_width_that_is_not_the_configs(self):
        rows, words = self.header[f"{self.layer}.weight_packed"]["shape"]
        self.assert_refused(self.reshaped("weight_packed", [rows * 2, words // 2]), "weight_packed", f"[{rows}, {words}]")

    def test_a_format_that_nobody_knows(self):
        header = self.reshaped("weight_packed", self.header[f"{self.layer}.weight_packed"]["shape"], dtype="I8")
        write_safetensors(self.shard, header, self.data)
        self.refused(self.layer, "expected", "found", "I8")

    def test_experts_apart_and_fused_in_one_layer(self):
        name = next(k for k in self.header if k.endswith("layers.1.mlp.gate.weight"))
        fused = name.replace("gate.weight", "experts.gate_up_proj")
        write_safetensors(self.shard, {(fused if k == name else k): v for k, v in self.header.items()}, self.data)
        self.index.write_text(self.index.read_text().replace(f'"{name}"', f'"{fused}"'))
        self.refused("layers.1.mlp")
        result = run("inspect", self.model)
        self.assertEqual(result.code, MODEL)
        self.assertIn("expected all experts in separate tensors or all in one stack", result.text)

    def test_a_group_that_matches_nothing(self):
        quantization = json.loads((self.model / "config.json").read_text())["quantization_config"]
        first = next(iter(quantization["config_groups"].values()))
        quantization["config_groups"]["group_7"] = first | {"targets": ["re:.*layers\\.99\\..*"]}
        self.refused_config(["group_7", "expected", "found", "re:.*layers\\.99"], quantization_config=quantization)

    def test_a_contradiction_warns_and_runs(self):
        quantization = json.loads((self.model / "config.json").read_text())["quantization_config"]
        quantization["ignore"] = [*quantization["ignore"], "re:.*layers\\.2\\.mlp\\.experts.*"]
        self.edit_json(self.model / "config.json", quantization_config=quantization)
        result = self.ok("generate", "-m", self.model, "-p", QUESTION, "-n", 2)
        warnings = [line for line in result.err.splitlines() if "warning" in line]
        self.assertEqual(len(warnings), 1, result.err)
        for text in ("ignore", "layers.2.mlp.experts.0.", "nvfp4"):
            self.assertIn(text, warnings[0])


class Configs(Target):
    def test_values_that_make_no_sense_name_file_and_key(self):
        for key, value in (("hidden_size", -1), ("hidden_size", "big"), ("hidden_size", 2**40), ("vocab_size", 0),
                           ("num_hidden_layers", 10**9), ("num_attention_heads", 0), ("num_experts_per_tok", 1000),
                           ("head_dim", 63), ("rms_norm_eps", "small"), ("layer_types", ["full_attention"]),
                           ("layer_types", ["other"] * 6), ("sliding_window", -5),
                           ("moe_apply_router_weight_on_input", True), ("rope_parameters", [])):
            with self.subTest(key=key, value=value):
                original = (self.model / "config.json").read_text()
                self.refused_config(key, **{key: value})
                (self.model / "config.json").write_text(original)

    def test_text_that_is_no_config(self):
        for text in ("", "{", "[]", "nul", '{"model_type": "laguna", "model_type": "laguna"}', "{" * 5000, "\xff" * 9):
            with self.subTest(text=text[:10]):
                (self.model / "config.json").write_bytes(text.encode("latin-1"))
                self.refused("config.json")

    def test_other_families_are_refused_by_name(self):
        self.refused_config(["model_type", "bert"], model_type="bert")

    def test_a_missing_folder_and_a_folder_without_a_model(self):
        self.fails(MODEL, "generate", "-m", self.temp / "nope", "-p", "x", saying="nope")
        (self.temp / "empty").mkdir()
        self.fails(MODEL, "generate", "-m", self.temp / "empty", "-p", "x", saying="config.json")

    def test_generation_config_is_checked_too(self):
        for key, value in (("temperature", "hot"), ("temperature", -1), ("eos_token_id", "x"), ("max_new_tokens", 0)):
            with self.subTest(key=key, value=value):
                original = (self.model / "generation_config.json").read_text()
                self.edit_json(self.model / "generation_config.json", **{key: value})
                self.refused("generation_config.json", key)
                (self.model / "generation_config.json").write_text(original)


class Tokenizers(Target):
    def spoil(self, change):
        path = self.model / "tokenizer.json"
        tokenizer = json.loads(path.read_text())
        change(tokenizer)
        path.write_text(json.dumps(tokenizer))

    def test_ids_beyond_the_embedding(self):
        self.spoil(lambda t: t["added_tokens"].append(t["added_tokens"][-1] | {"id": 3072, "content": "<far>"}))
        self.refused("tokenizer.json", "vocab_size 3072")

    def test_ids_that_no_tokenizer_has(self):
        for id_ in (-1, 2**31, 2**40, "a", 1.5):
            with self.subTest(id=id_):
                original = (self.model / "tokenizer.json").read_text()
                self.spoil(lambda t, id_=id_: t["model"]["vocab"].update({"Ġzzz": id_}))
                self.refused("tokenizer.json")
                (self.model / "tokenizer.json").write_text(original)

    def test_missing_or_unreadable(self):
        path = self.model / "tokenizer.json"
        for text in ("", "{", "{}", "[]"):
            path.write_text(text)
            self.refused("tokenizer.json")
        path.unlink()
        self.refused("tokenizer.json")


class Templates(Target):
    def test_templates_that_fail_or_do_not_end(self):
        nest = "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"
        loops = "{% for a in range(100000) %}" * 4 + "{% endfor %}" * 4
        grow = "{% set ns = namespace(s='x') %}{% for a in range(99999) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"
        for text, saying in ((nest, ""), (loops, ""), (grow, ""), ("{{ 'a' * 10**12 }}", ""), ("{% if %}", ""),
                             ("{{ raise_exception('not like this') }}", "not like this"), ("{{ 1 / 0 }}", ""),
                             ("{{ (" + "(" * 3000, ""), ("{{ x.y.z }}", ""), ("", "found no text")):
            with self.subTest(text=text[:30]):
                (self.model / "chat_template.jinja").write_text(text)
                self.refused("chat_template.jinja", saying)


class Drafters(Case):
    def setUp(self):
        super().setUp()
        self.drafter = self.copy_model(DRAFTER, "drafter")

    def refused(self, *saying):
        self.fails(MODEL, "generate", "-m", TARGET, "--draft-model", self.drafter, "-p", "x", "-n", 1, saying=saying,
                   seconds=SECONDS)

    def test_each_rule_of_the_pairing_is_named(self):
        config = json.loads((self.drafter / "config.json").read_text())
        dflash = config["dflash_config"]
        for key, changes in (("num_target_layers", {"dflash_config": dflash | {"num_target_layers": 7}}),
                             ("vocab_size", {"vocab_size": 3071, "draft_vocab_size": 3071}),
                             ("mask_token_id", {"dflash_config": dflash | {"mask_token_id": 3072}}),
                             ("target_layer_ids", {"dflash_config": dflash | {"target_layer_ids": [5, 2]}}),
                             ("target_layer_ids", {"dflash_config": dflash | {"target_layer_ids": [2, 6]}}),
                             ("causal", {"dflash_config": dflash | {"causal": False}}),
                             ("gating", {"gating": "per-element"}), ("hidden_size", {"hidden_size": 128}),
                             ("layer_types", {"layer_types": ["sliding_attention", "full_attention"]})):
            with self.subTest(key=key):
                (self.drafter / "config.json").write_text(json.dumps(config | changes))
                self.refused("config.json", key)

    def test_missing_and_extra_tensors(self):
        path = self.drafter / "model.safetensors"
        header, data = read_safetensors(path)
        name = next(k for k in header if k.endswith("fc.weight"))
        write_safetensors(path, {(k + "2" if k == name else k): v for k, v in header.items()}, data)
        self.refused("fc")

    def test_roles_are_not_mixed_up(self):
        self.fails(MODEL, "generate", "-m", DRAFTER, "-p", "x", saying="DFlash")
        self.fails(MODEL, "generate", "-m", TARGET, "--draft-model", TARGET, "-p", "x", saying="config.json")
        speculators = {"speculators_model_type": "dflash", "architectures": ["DFlashDraftModel"]}
        (self.drafter / "config.json").write_text(json.dumps(speculators))
        self.refused("speculators")


class Machine(Case):
    def test_an_instruction_set_that_is_not_here(self):
        for isa in ("avx1024", "neon", "AVX2 "):
            self.fails(USAGE, "info", saying="SPINDRIFT_ISA", SPINDRIFT_ISA=isa)
            self.fails(USAGE, "generate", "-m", TARGET, "-p", "x", saying="SPINDRIFT_ISA", SPINDRIFT_ISA=isa)

    def test_more_threads_than_the_system_gives(self):
        limited = f"ulimit -v 400000; exec '{BINARY}' generate -m '{TARGET}' -p hi -n 1 --threads 1024"
        done = subprocess.run(["bash", "-c", limited], capture_output=True, env=environment(), check=False)
        self.assertEqual(done.returncode, LIMIT, done.stderr)
        self.assertRegex(done.stderr.decode(), r"^spindrift: error: threads: expected 1024, [^\n]*\nspindrift: hint: ")

    def test_wrong_commands_and_flags(self):
        self.fails(USAGE, saying="command")
        self.fails(USAGE, "generat", saying="generat")
        self.fails(USAGE, "generate", "-m", TARGET, "-p", "x", "--tempature", "1", saying="--tempature")
        self.fails(USAGE, "generate", "-p", "x", saying="--model")
        self.fails(USAGE, "generate", "-m", TARGET, "--prompt-file", self.temp / "none", saying="none")
        self.fails(USAGE, "generate", "-m", TARGET, "--prompt-file", self.temp, saying=str(self.temp))
        result = run("generate", "--nonsense")
        self.assertIn("spindrift: hint: ", result.err)

    def test_messages_and_tools_that_are_no_json(self):
        for text in ("", "{", "{}", "[1]", "[" * 100000):
            with self.subTest(text=text[:10]):
                file = self.write("m.json", text)
                self.fails(USAGE, "generate", "-m", TARGET, "--messages", file, "-n", 1, saying=str(file), seconds=SECONDS)
                self.fails(USAGE, "template", "-m", TARGET, "--messages", file, saying=str(file), seconds=SECONDS)
        good = self.write("good.json", [{"role": "user", "content": "hi"}])
        for text in ("", " ", "{", "[1]"):
            with self.subTest(tools=text):
                tools = ["--tools", self.write("t.json", text)]
                self.fails(USAGE, "generate", "-m", TARGET, "-p", "hi", *tools, "-n", 1, saying=str(tools[1]))
                self.fails(USAGE, "template", "-m", TARGET, "--messages", good, *tools, saying=str(tools[1]))
        self.fails(USAGE, "chat", "-m", TARGET, "--tools", self.write("t.json", ""), saying="t.json")

    def test_a_prompt_that_is_no_utf8_names_where_it_came_from(self):
        file = self.write("prompt.txt", b"a\xffb")
        for raw in ([], ["--raw"]):
            self.fails(USAGE, "generate", "-m", TARGET, *raw, "--prompt-file", file, "-n", 1, saying=(str(file), "UTF-8"))
            self.fails(USAGE, "generate", "-m", TARGET, *raw, "-", "-n", 1, stdin=b"\xff", saying=("standard input", "UTF-8"))


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main()
