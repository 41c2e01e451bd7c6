#!/usr/bin/env python3
"""spindrift generate: prompts, sampling, stops, the JSON object, ledger and trace."""
import json
import unittest

from program import DRAFTER, LIMIT, PAIR, QUESTION, TARGET, USAGE, Case, run

PLAIN = ["-m", TARGET]
NUMBER = (int, float)


class Prompts(Case):
    def test_text_file_and_standard_input_are_the_same_prompt(self):
        expected = self.generate(*PLAIN, "-p", QUESTION, "-n", 4)
        file = self.write("prompt.txt", QUESTION)
        self.assertEqual(self.generate(*PLAIN, "--prompt-file", file, "-n", 4)["prompt_ids"], expected["prompt_ids"])
        standard_input = self.generate(*PLAIN, "-", "-n", 4, stdin=QUESTION.encode())
        self.assertEqual(standard_input["prompt_ids"], expected["prompt_ids"])
        ids = ",".join(map(str, expected["prompt_ids"]))
        by_ids = self.generate(*PLAIN, "--prompt-ids", ids, "-n", 4)
        self.assertEqual((by_ids["token_ids"], by_ids["ledger_digest"]),
                         (expected["token_ids"], expected["ledger_digest"]))
        spaced = self.write("ids.txt", ids.replace(",", ", ") + "\n")
        self.assertEqual(self.generate(*PLAIN, "--prompt-ids", f"@{spaced}", "-n", 4)["token_ids"], expected["token_ids"])

    def test_the_report_counts_one_token_and_several_tokens(self):
        self.assertRegex(self.ok("generate", *PLAIN, "-p", "x", "-n", 1).err, r"generated +1 token, +[\d.]+ tokens/s")
        self.assertRegex(self.ok("generate", *PLAIN, "-p", "x", "-n", 2).err, r"generated +2 tokens, +[\d.]+ tokens/s")

    def test_a_chat_prompt_starts_with_exactly_one_bos(self):
        ids = self.generate(*PLAIN, "-p", QUESTION, "-n", 1)["prompt_ids"]
        self.assertEqual((ids[0], ids.count(2)), (2, 1))

    def test_raw_text_gets_the_tokenizers_bos_and_text_that_has_it_no_second(self):
        bare = self.generate(*PLAIN, "--raw", "-p", "def f(", "-n", 1)["prompt_ids"]
        self.assertEqual(bare[0], 2)
        self.assertEqual(self.generate(*PLAIN, "--raw", "-p", "〈|EOS|〉def f(", "-n", 1)["prompt_ids"], bare)
        self.assertEqual(self.generate(*PLAIN, "--prompt-ids", "31,7", "-n", 1)["prompt_ids"], [31, 7])

    def test_messages_and_system_reach_the_template(self):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
        by_file = self.generate(*PLAIN, "--messages", self.write("m.json", messages), "-n", 1)
        by_flags = self.generate(*PLAIN, "--system", "Be brief.", "-p", QUESTION, "-n", 1)
        self.assertEqual(by_file["prompt_ids"], by_flags["prompt_ids"])

    def test_tool_call_arguments_may_be_an_object_or_json_text(self):
        def conversation(arguments):
            call = {"type": "function", "function": {"name": "add", "arguments": arguments}}
            return [{"role": "user", "content": "1 + 2?"}, {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "content": "3"}, {"role": "user", "content": "thanks"}]
        as_object = self.write("o.json", conversation({"b": 1.0, "a": [2]}))
        as_text = self.write("t.json", conversation('{"b": 1.0, "a": [2]}'))
        rendered = self.ok("template", *PLAIN, "--messages", as_object).text
        self.assertEqual(self.ok("template", *PLAIN, "--messages", as_text).text, rendered)
        self.assertIn("<arg_key>b</arg_key><arg_value>1.0</arg_value><arg_key>a</arg_key>", rendered)
        self.assertEqual(self.generate(*PLAIN, "--messages", as_object, "-n", 1)["prompt_ids"],
                         self.generate(*PLAIN, "--messages", as_text, "-n", 1)["prompt_ids"])

    def test_two_sources_or_none_are_wrong_usage(self):
        self.fails(USAGE, "generate", *PLAIN, saying="found none")
        self.fails(USAGE, "generate", *PLAIN, "-p", "a", "--prompt-ids", "2", saying="found several")
        self.fails(USAGE, "generate", *PLAIN, "-p", "a", "--prompt-file", "b", saying="found several")
        self.fails(USAGE, "generate", *PLAIN, "--raw", "--think", "-p", "a", saying="--think")
        self.fails(USAGE, "generate", *PLAIN, "--think", "--no-think", "-p", "a")
        self.fails(USAGE, "generate", *PLAIN, "-p", "a", "--messages", self.write("m", "{"), saying="several")

    def test_ids_outside_the_vocabulary_are_wrong_usage(self):
        for ids, what in (("2,3072", "`3072`"), ("2,-1", "`-1`"), ("2,x", "`x`"), ("2 3", "`3`"),
                          ("99999999999999999999", "`99999999999999999999`"), ("", "none")):
            self.fails(USAGE, "generate", *PLAIN, "--prompt-ids", ids, saying=what)


class ToolCalls(Case):
    TOOLS = [{"type": "function", "function": {"name": name, "description": text, "parameters": {
        "type": "object", "properties": {k: {"type": t} for k, t in properties.items()}, "required": list(properties)}}}
        for name, text, properties in (("set_timer", "Set a timer.", {"minutes": "integer"}),
                                       ("add_numbers", "Add two numbers.", {"a": "integer", "b": "integer"}))]

    def test_a_tool_prompt_of_the_demo_model_yields_a_parsed_call(self):
        tools = self.write("tools.json", self.TOOLS)
        object_ = self.generate(*PAIR, "-p", "Set a timer for 12 minutes.", "--tools", tools)
        call = object_["tool_calls"][0]
        self.assertEqual((call["type"], call["function"]["name"]), ("function", "set_timer"))
        self.assertEqual(json.loads(call["function"]["arguments"]), {"minutes": 12})
        self.assertNotIn("tool_call>", object_["text"])
        streamed = self.ok("generate", *PAIR, "-p", "Set a timer for 12 minutes.", "--tools", "/dev/stdin",
                           stdin=tools.read_bytes())
        self.assertEqual([json.loads(line) for line in streamed.text.splitlines() if line], object_["tool_calls"])
        answer = {"role": "assistant", "content": object_["text"], "tool_calls": object_["tool_calls"]}
        turns = [{"role": "user", "content": "Set a timer for 12 minutes."}, answer, {"role": "tool", "content": "ok"}]
        after = self.generate(*PAIR, "--messages", self.write("turns.json", turns), "--tools", tools)
        self.assertIn("12", after["text"])
        self.assertEqual(after["tool_calls"], [])


class Json(Case):
    def test_the_object_has_every_key_of_the_contract_in_order(self):
        drafted = self.generate(*PAIR, "-p", QUESTION, "-n", 20, "--draft-tokens", 5)
        self.assertEqual(list(drafted), ["model", "draft_model", "prompt_ids", "token_ids", "text", "reasoning",
                                         "tool_calls", "finish_reason", "stats", "ledger_digest"])
        stats = drafted["stats"]
        self.assertEqual(list(stats), ["prompt_tokens", "generated_tokens", "load_s", "prefill_s", "decode_s",
                                       "decode_tokens_per_s", "threads", "isa", "peak_rss_bytes", "draft"])
        draft = stats["draft"]
        self.assertEqual(list(draft), ["kind", "draft_tokens", "rounds", "plain_rounds", "drafted", "accepted",
                                       "mean_accepted", "tokens_per_round", "acceptance_by_position", "draft_s",
                                       "verify_s", "decision"])
        self.assertEqual((drafted["model"], drafted["draft_model"]), (str(TARGET), str(DRAFTER)))
        self.assertEqual((stats["prompt_tokens"], stats["generated_tokens"]), (len(drafted["prompt_ids"]), 20))
        self.assertEqual((drafted["finish_reason"], drafted["reasoning"], drafted["tool_calls"]), ("length", None, []))
        for key in ("load_s", "prefill_s", "decode_s", "decode_tokens_per_s"):
            self.assertIsInstance(stats[key], NUMBER)
        self.assertRegex(drafted["ledger_digest"], "^[0-9a-f]{32}$")
        self.assertEqual((draft["kind"], draft["draft_tokens"]), ("dflash", 5))
        self.assertEqual(len(draft["acceptance_by_position"]), 5)
        self.assertAlmostEqual(draft["mean_accepted"], draft["accepted"] / draft["rounds"])
        self.assertAlmostEqual(draft["tokens_per_round"], 20 / (draft["rounds"] + draft["plain_rounds"]))
        self.assertEqual(self.generate(*PAIR, "-p", QUESTION, "-n", 2)["stats"]["draft"]["draft_tokens"], "auto")

    def test_without_a_drafter_draft_is_null(self):
        plain = self.generate(*PLAIN, "-p", QUESTION, "-n", 3)
        self.assertIsNone(plain["draft_model"])
        self.assertIsNone(plain["stats"]["draft"])
        off = self.generate(*PAIR, "--draft-kind", "none", "-p", QUESTION, "-n", 3)
        self.assertIsNone(off["stats"]["draft"])

    def test_token_ids_include_the_stop_token_and_the_text_does_not(self):
        full = self.generate(*PLAIN, "-p", QUESTION)
        self.assertEqual((full["finish_reason"], full["token_ids"][-1]), ("stop", 24))
        self.assertNotIn("</assistant>", full["text"])

    def test_an_incomplete_last_code_point_is_the_replacement_character(self):
        text = "é世"
        ids = self.ok("tokenize", *PLAIN, "-p", text).json["ids"]
        outputs = []
        for id_ in ids:  # a model that says only this token: its logit row is all that matters
            outputs.append(self.ok("tokenize", *PLAIN, "--decode", str(id_)).out)
        for out in outputs:
            out.decode("utf-8")
        self.assertEqual(self.ok("tokenize", *PLAIN, "--decode", ",".join(map(str, ids))).text, text)


class Sampling(Case):
    def test_the_seed_decides_and_defaults_to_zero(self):
        hot = [*PLAIN, "-p", QUESTION, "--temp", "1.3", "-n", 24]
        zero = self.generate(*hot, "--seed", 0)
        self.assertEqual(self.generate(*hot)["ledger_digest"], zero["ledger_digest"])
        largest = self.generate(*hot, "--seed", 2**64 - 1)
        self.assertNotEqual(largest["token_ids"], zero["token_ids"])

    def test_generation_config_sets_the_defaults_and_flags_win(self):
        model = self.copy_model()
        self.edit_json(model / "generation_config.json", do_sample=True, temperature=1.3, max_new_tokens=9)
        own = self.generate("-m", model, "-p", QUESTION)
        self.assertEqual((own["finish_reason"], len(own["token_ids"])), ("length", 9))
        said = self.generate(*PLAIN, "-p", QUESTION, "--temp", "1.3", "-n", 9)
        self.assertEqual(own["ledger_digest"], said["ledger_digest"])
        greedy = self.generate("-m", model, "-p", QUESTION, "--temp", 0, "-n", 9)
        self.assertEqual(greedy["token_ids"], self.generate(*PLAIN, "-p", QUESTION, "-n", 9)["token_ids"])

    def test_do_sample_false_is_greedy_whatever_else_the_file_says(self):
        model = self.copy_model()
        self.edit_json(model / "generation_config.json", do_sample=False, temperature=1.9, top_k=3)
        self.assertEqual(self.generate("-m", model, "-p", QUESTION, "-n", 12)["ledger_digest"],
                         self.generate(*PLAIN, "-p", QUESTION, "-n", 12)["ledger_digest"])

    def test_draft_flags_without_a_drafter_are_a_warning(self):
        for flags in (("--draft-tokens", 3), ("--draft-kind", "dflash"), ("--draft-candidates", 2)):
            self.assertIn("warning: draft flags do nothing without --draft-model",
                          self.ok("generate", *PLAIN, "-p", "x", "-n", 1, *flags).err)
        for flags in (("--draft-tokens", "auto"), ("--draft-tokens", 0), ("--draft-kind", "none")):
            self.assertNotIn("warning", self.ok("generate", *PLAIN, "-p", "x", "-n", 1, *flags).err)

    def test_numbers_that_mean_nothing_are_wrong_usage(self):
        for flag, value in (("--temp", "nan"), ("--temp", "inf"), ("--temp", "-1"), ("--temp", "warm"), ("--top-p", "nan"),
                            ("--top-p", "1.5"), ("--min-p", "2"), ("--top-k", "-1"), ("--repeat-penalty", "0"),
                            ("--repeat-penalty", "nan"), ("--seed", "-1"), ("--seed", str(2**64)), ("--seed", "1.5"),
                            ("-n", "-1"), ("-n", "many"), ("--threads", "0"), ("--prefill-chunk", "0"), ("--ctx", "0"),
                            ("--memory-limit", "1Q"), ("--memory-limit", "-1"), ("--draft-tokens", "-1"), ("--draft-tokens", "all"),
                            ("--kv-dtype", "f16"), ("--color", "blue"), ("--draft-kind", "eagle")):
            with self.subTest(flag=flag, value=value):
                self.fails(USAGE, "generate", *PAIR, "-p", "x", flag, value)


class Stops(Case):
    def test_zero_and_one_new_tokens(self):
        none = self.generate(*PAIR, "-p", QUESTION, "-n", 0)
        self.assertEqual((none["token_ids"], none["text"], none["finish_reason"]), ([], "", "length"))
        one = self.generate(*PAIR, "-p", QUESTION, "-n", 1)
        self.assertEqual((len(one["token_ids"]), one["finish_reason"]), (1, "length"))

    def test_a_stop_text_is_found_across_token_borders_and_left_out(self):
        full = self.generate(*PLAIN, "-p", QUESTION)["text"]
        middle = len(full) // 2
        for width in (1, 5, 17):
            stop = full[middle:middle + width]
            cut = full[:full.index(stop)]
            for model in (PLAIN, PAIR):
                stopped = self.generate(*model, "-p", QUESTION, "--stop", stop, "--stop", "never said")
                self.assertEqual((stopped["text"], stopped["finish_reason"]), (cut, "stop"))

    def test_ignore_eos_runs_on_to_the_limit(self):
        length = len(self.generate(*PLAIN, "-p", QUESTION)["token_ids"])
        on = self.generate(*PAIR, "-p", QUESTION, "--ignore-eos", "-n", length + 20)
        self.assertEqual((len(on["token_ids"]), on["finish_reason"]), (length + 20, "length"))
        self.assertEqual(on["token_ids"][length - 1], 24)

    def test_the_context_ends_the_answer(self):
        prompt = len(self.generate(*PLAIN, "-p", QUESTION, "-n", 0)["prompt_ids"])
        ended = self.generate(*PAIR, "-p", QUESTION, "--ctx", prompt + 7, "-n", 10**12)
        self.assertEqual(ended["finish_reason"], "length")
        self.assertLessEqual(len(ended["token_ids"]), 8)
        self.fails(LIMIT, "generate", *PLAIN, "-p", QUESTION, "--ctx", 5, saying="context")

    def test_a_memory_limit_that_is_too_small_cannot_be_met(self):
        result = self.fails(LIMIT, "generate", *PLAIN, "-p", QUESTION, "--memory-limit", "1000", "--json", "--quiet",
                            saying="1000 bytes")
        self.assertEqual(result.out, b"")
        self.generate(*PLAIN, "-p", QUESTION, "--memory-limit", "1G", "-n", 2)


class LedgerAndTrace(Case):
    def ledger(self, *arguments, **env):
        path = self.temp / "ledger.txt"
        object_ = self.generate(*arguments, "--ledger", path, **env)
        return path.read_text(), object_["ledger_digest"], object_

    def test_a_line_a_token_index_id_hash(self):
        lines, _, object_ = self.ledger(*PLAIN, "-p", QUESTION, "-n", 12)
        rows = [line.split(" ") for line in lines.splitlines()]
        self.assertEqual([int(row[0]) for row in rows], list(range(12)))
        self.assertEqual([int(row[1]) for row in rows], object_["token_ids"])
        for row in rows:
            self.assertRegex(row[2], "^[0-9a-f]{16}$")
        self.ok("generate", *PLAIN, "-p", QUESTION, "-n", 12, "--ledger", self.temp / "streamed")
        self.assertEqual((self.temp / "streamed").read_text(), lines)

    def test_equal_whatever_the_drafter_width_threads_chunk_and_instruction_set(self):
        isas = self.ok("info", "--json").json["usable_isas"]
        for temperature in ("0", "1.1"):
            prompt = ["-p", QUESTION, "--temp", temperature, "-n", 40]
            expected = self.ledger(*PLAIN, *prompt)[:2]
            for arguments in ([*PAIR], [*PAIR, "--draft-tokens", 1], [*PAIR, "--draft-tokens", 11],
                              [*PAIR, "--threads", 1], [*PAIR, "--threads", 3], [*PAIR, "--prefill-chunk", 1],
                              [*PAIR, "--prefill-chunk", 7], [*PLAIN, "--prefill-chunk", 5]):
                with self.subTest(arguments=arguments):
                    self.assertEqual(self.ledger(*arguments, *prompt)[:2], expected)
            for isa in isas:
                with self.subTest(isa=isa):
                    lines, digest, object_ = self.ledger(*PAIR, *prompt, SPINDRIFT_ISA=isa)
                    self.assertEqual(((lines, digest), object_["stats"]["isa"]), (expected, isa))

    def test_bf16_keys_and_values_keep_the_law_among_themselves(self):
        prompt = ["-p", QUESTION, "--kv-dtype", "bf16", "-n", 40]
        expected = self.ledger(*PLAIN, *prompt)[:2]
        self.assertEqual(self.ledger(*PAIR, *prompt, "--draft-tokens", 11)[:2], expected)
        self.assertEqual(self.ledger(*PAIR, *prompt, "--prefill-chunk", 3, "--threads", 1)[:2], expected)
        self.assertNotEqual(self.ledger(*PLAIN, "-p", QUESTION, "-n", 40)[1], expected[1])

    def test_the_trace_has_a_line_a_round(self):
        path = self.temp / "trace.jsonl"
        object_ = self.generate(*PAIR, "-p", QUESTION, "--draft-tokens", 6, "--trace", path)
        rounds = [json.loads(line) for line in path.read_text().splitlines()]
        draft = object_["stats"]["draft"]
        self.assertEqual(len(rounds), draft["rounds"] + draft["plain_rounds"])
        self.assertEqual(sum(len(r["draft"]) for r in rounds), draft["drafted"])
        tokens = object_["token_ids"]
        position = len(object_["prompt_ids"])
        for r in rounds:
            self.assertEqual(r["position"], position)
            self.assertEqual(r["bonus"], tokens[position - len(object_["prompt_ids"])])
            self.assertEqual(tokens[r["position"] - len(object_["prompt_ids"]) + 1:][:min(r["accepted"], r["emitted"])],
                             r["draft"][:min(r["accepted"], r["emitted"])])
            for key in ("draft_s", "verify_s"):
                self.assertIsInstance(r[key], NUMBER)
            position += r["emitted"]
        why = [json.loads(line)["why"] for line in self.trace_of_auto()]
        self.assertTrue(all(why))

    def trace_of_auto(self):
        path = self.temp / "auto.jsonl"
        self.generate(*PAIR, "-p", QUESTION, "--trace", path)
        return path.read_text().splitlines()

    def test_a_file_that_cannot_be_written_is_wrong_usage(self):
        for flag in ("--ledger", "--trace"):
            self.fails(USAGE, "generate", *PLAIN, "-p", "x", flag, self.temp / "no/such/folder", saying="written")

    def test_ledger_and_trace_cannot_be_one_file(self):
        kept = self.write("kept", "kept")
        (self.temp / "link").symlink_to(kept)
        for ledger, trace in ((self.temp / "new", f"{self.temp}/./new"), (kept, self.temp / "link")):
            for command in (["generate", "-p", "x"], ["chat"]):
                self.fails(USAGE, command[0], *PLAIN, *command[1:], "--ledger", ledger, "--trace", trace,
                           saying=("--ledger", "--trace", str(ledger)))
        self.assertEqual((kept.read_text(), (self.temp / "new").exists()), ("kept", False))
        self.ok("generate", *PLAIN, "-p", "x", "-n", 1, "--ledger", "/dev/null", "--trace", "/dev/null")


class Drafting(Case):
    def test_more_draft_tokens_than_the_drafter_has_are_clamped_with_a_warning(self):
        result = run("generate", *PAIR, "-p", QUESTION, "-n", 30, "--draft-tokens", 50, "--json")
        self.assertIn("spindrift: warning: --draft-tokens 50", result.err)
        self.assertEqual(result.json["stats"]["draft"]["draft_tokens"], 11)
        quiet = run("generate", *PAIR, "-p", QUESTION, "-n", 3, "--draft-tokens", 50, "--json", "--quiet")
        self.assertEqual(quiet.err, "")

    def test_a_drafter_for_a_rotated_target_of_another_precision_warns(self):
        target, drafter = self.copy_model(name="Target-INT4"), self.copy_model(DRAFTER, "Drafter-INT4")
        config = json.loads((target / "config.json").read_text())
        config["quantization_config"]["transform_config"] = {"config_groups": {"R1": {"type": "hadamard"}}}
        (target / "config.json").write_text(json.dumps(config))
        self.assertIn("rotated", self.ok("inspect", target).text)
        result = self.ok("generate", "-m", target, "--draft-model", DRAFTER, "-p", QUESTION, "-n", 1)
        self.assertRegex(result.err, "spindrift: warning: .*rotated")
        matched = self.ok("generate", "-m", target, "--draft-model", drafter, "-p", QUESTION, "-n", 1)
        self.assertNotIn("warning", matched.err)


if __name__ == "__main__":
    unittest.main()
