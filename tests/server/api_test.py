#!/usr/bin/env python3
"""The endpoints as bytes on the wire: every field, every refusal, what the command line would have said."""
import base64
import json
import unittest

from serving import QUESTION, Server, ServerCase, program, user


class Chat(ServerCase):
    def test_an_answer_has_the_ids_text_and_ledger_of_the_command_line(self):
        for flags, fields in (((), {}), (("--temp", "0.8", "--seed", "7", "--top-k", "40"),
                                         {"temperature": 0.8, "seed": 7, "top_k": 40})):
            alone = program.run("generate", *program.PAIR, "-p", QUESTION, "-n", "60", *flags, "--json", "--quiet").json
            reply = self.server.chat(user(QUESTION), max_tokens=60, return_token_ids=True, return_ledger=True, **fields)
            choice = reply["choices"][0]
            self.assertEqual(choice["token_ids"], alone["token_ids"])
            self.assertEqual(choice["ledger_digest"], alone["ledger_digest"])
            self.assertEqual(choice["message"]["content"], alone["text"])
            self.assertEqual(choice["finish_reason"], alone["finish_reason"])
            self.assertEqual(reply["usage"]["prompt_tokens"], alone["stats"]["prompt_tokens"])
            self.assertEqual(reply["usage"]["completion_tokens"], alone["stats"]["generated_tokens"])

    def test_usage_has_the_draft_object_of_the_command_line(self):
        alone = program.run("generate", *program.PAIR, "-p", QUESTION, "-n", "40", "--draft-tokens", "3", "--json",
                            "--quiet").json["stats"]["draft"]
        draft = self.server.chat(user(QUESTION), max_tokens=40, draft_tokens=3)["usage"]["draft"]
        self.assertEqual(draft.keys(), alone.keys())
        for key in ("kind", "draft_tokens", "rounds", "plain_rounds", "drafted", "accepted", "acceptance_by_position"):
            self.assertEqual(draft[key], alone[key], key)
        off = self.server.chat(user(QUESTION), max_tokens=40, draft_tokens=0)["usage"]["draft"]
        self.assertEqual(off["rounds"], 0)

    def test_a_stream_says_the_same_as_the_whole(self):
        body = {"messages": user(QUESTION), "max_tokens": 50, "temperature": 0.7, "n": 2, "return_token_ids": True,
                "return_ledger": True, "logprobs": True, "top_logprobs": 2, "draft_tokens": 3}
        whole = self.server.json("POST", "/v1/chat/completions", body)
        chunks = self.server.stream("/v1/chat/completions", {**body, "stream_options": {"include_usage": True}})
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], whole["usage"]["completion_tokens"])
        for index, choice in enumerate(whole["choices"]):
            mine = [c for chunk in chunks for c in chunk["choices"] if c["index"] == index]
            self.assertEqual(mine[0]["delta"]["role"], "assistant")
            self.assertEqual("".join(c["delta"].get("content", "") for c in mine), choice["message"]["content"])
            self.assertEqual([i for c in mine for i in c["token_ids"]], choice["token_ids"])
            self.assertEqual([t for c in mine if c["logprobs"] for t in c["logprobs"]["content"]],
                             choice["logprobs"]["content"])
            self.assertEqual(mine[-1]["finish_reason"], choice["finish_reason"])
            self.assertEqual(mine[-1]["ledger_digest"], choice["ledger_digest"])
            self.assertTrue(all(c["finish_reason"] is None for c in mine[:-1]))
        self.assertTrue(any(c["delta"].get("drafted") for chunk in chunks for c in chunk["choices"]))
        self.assertTrue(all(chunk["usage"] is None for chunk in chunks[:-1]))

    def test_choice_zero_is_the_request_with_one_choice(self):
        several = self.server.chat(user(QUESTION), n=3, temperature=1.2, seed=5, max_tokens=30, return_token_ids=True)
        one = self.server.chat(user(QUESTION), temperature=1.2, seed=5, max_tokens=30, return_token_ids=True)
        self.assertEqual(several["choices"][0]["token_ids"], one["choices"][0]["token_ids"])
        self.assertNotEqual(several["choices"][0]["token_ids"], several["choices"][1]["token_ids"])
        self.assertEqual([c["index"] for c in several["choices"]], [0, 1, 2])

    def test_stop_texts_end_an_answer_before_them(self):
        whole = self.server.chat(user(QUESTION), max_tokens=60)["choices"][0]["message"]["content"]
        cut = whole[len(whole) // 2:][:4]
        for stop in (cut, [cut], ["never to be seen", cut]):
            choice = self.server.chat(user(QUESTION), max_tokens=60, stop=stop)["choices"][0]
            self.assertEqual(choice["message"]["content"], whole[:whole.index(cut)])
            self.assertEqual(choice["finish_reason"], "stop")

    def test_a_bias_of_a_hundred_forces_and_of_minus_a_hundred_forbids(self):
        free = self.server.chat(user(QUESTION), max_tokens=1, return_token_ids=True)["choices"][0]["token_ids"][0]
        forced = self.server.chat(user(QUESTION), max_tokens=5, logit_bias={"300": 100}, return_token_ids=True)
        self.assertEqual(forced["choices"][0]["token_ids"], [300] * 5)
        barred = self.server.chat(user(QUESTION), max_tokens=1, logit_bias={str(free): -100}, return_token_ids=True)
        self.assertNotEqual(barred["choices"][0]["token_ids"], [free])

    def test_logprobs_are_of_the_model_and_sorted(self):
        reply = self.server.chat(user(QUESTION), max_tokens=6, logprobs=True, top_logprobs=5)
        content = reply["choices"][0]["logprobs"]["content"]
        self.assertEqual(len(content), 6)
        for entry in content:
            self.assertEqual(len(entry["top_logprobs"]), 5)
            values = [top["logprob"] for top in entry["top_logprobs"]]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertEqual(entry["logprob"], values[0])  # greedy
            self.assertEqual(bytes(entry["bytes"]).decode(errors="replace"), entry["token"])

    def test_limits_by_either_name(self):
        for name in ("max_tokens", "max_completion_tokens"):
            reply = self.server.chat(user(QUESTION), **{name: 3})
            self.assertEqual(reply["usage"]["completion_tokens"], 3)
            self.assertEqual(reply["choices"][0]["finish_reason"], "length")

    def test_thinking_follows_the_request(self):
        plain = self.server.chat(user(QUESTION), max_tokens=20, chat_template_kwargs={"enable_thinking": False})
        self.assertNotIn("reasoning_content", plain["choices"][0]["message"])
        think = self.server.chat(user(QUESTION), max_tokens=40, chat_template_kwargs={"enable_thinking": True})
        self.assertTrue(think["choices"][0]["message"]["reasoning_content"])
        alone = program.run("generate", *program.PAIR, "-p", QUESTION, "-n", "40", "--think", "--json", "--quiet").json
        self.assertEqual(think["choices"][0]["message"]["reasoning_content"], alone["reasoning"])

    def test_fields_of_other_servers_and_nulls_are_accepted(self):
        self.server.chat(user("hi"), max_tokens=1, user="me", store=False, metadata={"a": "b"}, temperature=None, stop=None,
                         service_tier="auto", unheard_of=[1, {"x": None}], frequency_penalty=0, presence_penalty=0.0,
                         response_format={"type": "text"}, tool_choice="auto", tools=[], logit_bias={}, model="any")

    def test_wrong_values_name_their_parameter(self):
        for field, value in (("temperature", "hot"), ("temperature", -1), ("temperature", 2.5), ("top_p", 1.5), ("top_k", -2),
                             ("min_p", 2), ("repetition_penalty", 0), ("n", 0), ("n", 1000), ("n", 1.5), ("seed", "x"),
                             ("stop", ""), ("stop", [""]), ("stop", 5), ("max_tokens", -1), ("max_completion_tokens", "9"),
                             ("logprobs", 3), ("top_logprobs", 3), ("stream", "yes"), ("stream_options", {"include_usage": True}),
                             ("logit_bias", {"x": 1}), ("logit_bias", {"99999999": 1}), ("logit_bias", {"05": 1, "5": 1}), ("logit_bias", {"3": 101}),
                             ("tools", 3), ("tool_choice", "perhaps"), ("draft_tokens", "many"), ("model", 3),
                             ("chat_template_kwargs", 1), ("return_token_ids", "x")):
            self.refused(400, field, **{field: value})
        self.refused(400, "top_logprobs", logprobs=True, top_logprobs=21)
        self.refused(400, "chat_template_kwargs.enable_thinking", chat_template_kwargs={"enable_thinking": "x"})
        self.refused(400, "stream_options.include_usage", stream=True, stream_options={"include_usage": 1})
        self.refused(400, "tools[0].function.name", tools=[{"type": "function", "function": {}}])
        self.refused(400, "messages", body={"messages": "hello"})
        self.refused(400, "messages", body={})
        self.refused(400, "messages[0].role", body={"messages": [{"content": "x"}]})
        self.refused(400, "messages[0].content[0].type",
                     body={"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]})

    def test_what_is_not_there_yet_says_so(self):
        for field, value in (("response_format", {"type": "json_object"}), ("tool_choice", "required"),
                             ("tool_choice", {"type": "function", "function": {"name": "f"}}), ("frequency_penalty", 0.5),
                             ("presence_penalty", 1), ("functions", [{}]), ("parallel_tool_calls", False)):
            error = self.refused(400, field, **{field: value})
            self.assertIn("not supported yet", error["message"])

    def test_a_template_that_fails_is_not_named_by_its_file(self):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "no object"}}
        body = {"messages": user("hi") + [{"role": "assistant", "content": None, "tool_calls": [call]}]}
        for path in ("/v1/chat/completions", "/tokenize"):
            message = self.refused(400, "messages", path=path, body=body)["message"]
            self.assertRegex(message, r"^chat template:\d+: ")
            self.assertNotIn("laguna", message)

    def test_a_prompt_beyond_the_context_is_a_request_error(self):
        error = self.refused(400, "messages", body={"messages": user("word " * 5000)})
        self.assertEqual(error["code"], "context_length_exceeded")

    def test_a_body_that_is_no_json_is_refused(self):
        for body in (b"", b"{", b"[]", b"nonsense", b'{"messages": [], "messages": []}', b'{"a": "\xff"}', b"[" * 100000,
                     b'{"a":' * 100000,
                     b'{"messages": []}\0', b'{"messages": []}\0{"more": 1}'):
            self.refused(400, None, body=body)

    def test_what_is_far_beyond_the_context_is_refused_before_it_is_read_into_tokens(self):
        big = "word " * (1 << 20)
        for path, param, body in (("/v1/chat/completions", "messages", {"messages": user(big)}),
                                  ("/v1/completions", "prompt", {"prompt": ["hi", big]})):
            error = self.refused(400, param, path=path, body=body)
            self.assertEqual(error["code"], "context_length_exceeded")
            self.assertIn("bytes", error["message"])
        self.refused(400, "prompt", path="/tokenize", body={"prompt": big})


class Text(ServerCase):
    PATH = "/v1/completions"

    def complete(self, status=200, **fields):
        return self.server.json("POST", self.PATH, fields, status)

    def test_a_text_is_continued_as_on_the_command_line(self):
        alone = program.run("generate", *program.PAIR, "--raw", "-p", "def add(a, b):", "-n", "20", "--json", "--quiet").json
        reply = self.complete(prompt="def add(a, b):", max_tokens=20, return_token_ids=True)
        self.assertEqual(reply["choices"][0]["text"], alone["text"])
        self.assertEqual(reply["choices"][0]["token_ids"], alone["token_ids"])
        self.assertEqual(reply["object"], "text_completion")
        by_ids = self.complete(prompt=alone["prompt_ids"], max_tokens=20)
        self.assertEqual(by_ids["choices"][0]["text"], alone["text"])

    def test_several_prompts_and_choices_are_numbered_in_order(self):
        reply = self.complete(prompt=["def a():", "def b():"], n=2, max_tokens=8, temperature=1, return_token_ids=True)
        self.assertEqual([c["index"] for c in reply["choices"]], [0, 1, 2, 3])
        one = self.complete(prompt="def b():", max_tokens=8, temperature=1, return_token_ids=True)
        self.assertEqual(reply["choices"][2]["token_ids"], one["choices"][0]["token_ids"])
        ids = self.complete(prompt=[[2, 80, 81], [2, 82]], max_tokens=2)
        self.assertEqual(len(ids["choices"]), 2)
        self.assertEqual(ids["usage"]["prompt_tokens"], 5)

    def test_a_stream_says_the_same_as_the_whole(self):
        body = {"prompt": "def add(a, b):", "max_tokens": 20, "logprobs": 2, "return_token_ids": True}
        whole = self.complete(**body)["choices"][0]
        chunks = self.server.stream(self.PATH, body)
        mine = [c for chunk in chunks for c in chunk["choices"]]
        self.assertEqual("".join(c["text"] for c in mine), whole["text"])
        self.assertEqual([i for c in mine for i in c["token_ids"]], whole["token_ids"])
        for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
            self.assertEqual([x for c in mine if c["logprobs"] for x in c["logprobs"][key]], whole["logprobs"][key])
        self.assertEqual("".join(whole["logprobs"]["tokens"]), whole["text"])

    def test_wrong_values_name_their_parameter(self):
        for field, value in (("prompt", 3), ("prompt", []), ("prompt", [[]]), ("prompt", ["x", 3]), ("prompt", [-1]),
                             ("logprobs", 99), ("echo", True), ("suffix", "x"), ("best_of", 3), ("n", 0)):
            self.refused(400, field, path=self.PATH, **{field: value})
        self.refused(400, "prompt", path=self.PATH, body={})
        self.refused(400, "prompt", path=self.PATH, body={"prompt": [99999999]})


TOOLS = [{"type": "function", "function": {
    "name": "send_message", "description": "Send a message to a person.",
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
                   "required": ["to", "text"]}}}]


class Tools(ServerCase):
    def ask(self, **fields):
        return self.server.chat(user("Tell Ben that lunch is ready."), tools=TOOLS, max_tokens=80, **fields)

    def test_tools_reach_the_template_and_calls_come_back_as_on_the_command_line(self):
        import tempfile
        from pathlib import Path
        with tempfile.TemporaryDirectory() as folder:
            tools = Path(folder) / "tools.json"
            tools.write_text(json.dumps(TOOLS))
            alone = program.run("generate", *program.PAIR, "-p", "Tell Ben that lunch is ready.", "--tools", tools, "-n", "80",
                                "--json", "--quiet").json
        message = self.ask()["choices"][0]["message"]
        calls = message.get("tool_calls", [])
        self.assertEqual([c["function"] for c in calls], [c["function"] for c in alone["tool_calls"]])
        self.assertEqual(message["content"] or "", alone["text"])

    def test_tool_choice_none_leaves_tools_out(self):
        reply = self.ask(tool_choice="none")
        bare = self.server.chat(user("Tell Ben that lunch is ready."), max_tokens=80)
        self.assertEqual(reply["usage"]["prompt_tokens"], bare["usage"]["prompt_tokens"])
        self.assertNotIn("tool_calls", reply["choices"][0]["message"])

    def test_calls_stream_piecewise(self):
        chunks = self.server.stream("/v1/chat/completions", {"messages": user("Tell Ben that lunch is ready."),
                                                             "tools": TOOLS, "max_tokens": 80})
        deltas = [d for chunk in chunks for c in chunk["choices"] for d in c["delta"].get("tool_calls", [])]
        whole = self.ask()["choices"][0]
        self.assertTrue(deltas[0]["id"].startswith("call_"))
        self.assertEqual(deltas[0]["function"]["name"], whole["message"]["tool_calls"][0]["function"]["name"])
        arguments = "".join(d["function"].get("arguments", "") for d in deltas if d["index"] == 0)
        self.assertEqual(arguments, whole["message"]["tool_calls"][0]["function"]["arguments"])
        json.loads(arguments)
        self.assertEqual(whole["finish_reason"], "tool_calls")
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "tool_calls")
        self.assertGreater(len(deltas), 2)


class Others(ServerCase):
    def test_models_health_version_and_metrics(self):
        self.assertEqual(self.server.json("GET", "/health"), {"status": "ready"})
        self.assertEqual(set(self.server.json("GET", "/version")), {"version", "commit"})
        models = self.server.json("GET", "/v1/models")
        self.assertEqual(models["object"], "list")
        self.assertEqual(models["data"][0]["id"], "laguna-tiny-nvfp4")
        self.assertEqual(self.server.json("GET", "/v1/models/laguna-tiny-nvfp4")["object"], "model")
        self.server.chat(user(QUESTION), max_tokens=30)
        for name in ("spindrift_requests_total", "spindrift_queue_waiting", "spindrift_running", "spindrift_prompt_tokens_total",
                     "spindrift_generated_tokens_total", "spindrift_time_to_first_token_seconds_count",
                     "spindrift_inter_token_seconds_count", "spindrift_context_bytes", "spindrift_rounds_total",
                     "spindrift_drafted_tokens_total", "spindrift_accepted_tokens_total",
                     "spindrift_accepted_by_position_total", "spindrift_draft_width_total"):
            self.server.metric(name)
        self.assertGreaterEqual(self.server.metric("spindrift_generated_tokens_total"), 30)

    def test_tokenize_and_back(self):
        alone = program.run("tokenize", "-m", program.TARGET, "-p", "x = añ 👍", "--add-bos").json
        reply = self.server.json("POST", "/tokenize", {"prompt": "x = añ 👍", "return_token_strs": True})
        self.assertEqual(reply["tokens"], alone["ids"])
        self.assertEqual(reply["ids"], alone["ids"])
        self.assertEqual(reply["token_strs"], alone["tokens"])
        self.assertEqual(reply["count"], len(alone["ids"]))
        bare = self.server.json("POST", "/tokenize", {"prompt": "x = añ 👍", "add_special_tokens": False})["tokens"]
        self.assertEqual(self.server.json("POST", "/detokenize", {"tokens": bare})["prompt"], "x = añ 👍")
        chat = self.server.json("POST", "/tokenize", {"messages": user(QUESTION)})
        self.assertEqual(chat["count"], self.server.chat(user(QUESTION), max_tokens=1)["usage"]["prompt_tokens"])
        self.refused(400, "prompt", path="/tokenize", body={"prompt": 3})
        self.refused(400, "tokens", path="/detokenize", body={"tokens": [99999999]})
        self.refused(400, "tokens", path="/detokenize", body={})

    def test_paths_and_methods_that_are_not_there(self):
        self.assertEqual(self.server.ask("GET", "/nothing")[0], 404)
        self.assertEqual(self.server.ask("GET", "/../../etc/passwd")[0], 404)
        status, headers, _ = self.server.ask("GET", "/v1/chat/completions")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(self.server.ask("DELETE", "/v1/models")[0], 405)
        self.assertEqual(self.server.ask("PUT", "/tokenize", {})[0], 405)

    def test_the_page_and_its_files_are_served_with_a_strict_policy(self):
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            status, headers, data = self.server.ask("GET", path)
            self.assertEqual(status, 200)
            self.assertTrue(headers["Content-Type"].startswith(kind))
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertGreater(len(data), 500)

    def test_bodies_of_other_kinds_are_refused(self):
        for headers in ({"Content-Encoding": "gzip"}, {"Content-Type": "multipart/form-data; boundary=x"}):
            self.assertEqual(self.server.ask("POST", "/tokenize", b"{}", headers)[0], 415)

    def test_pages_of_other_origins_are_refused(self):
        self.assertEqual(self.server.ask("GET", "/health", headers={"Origin": "http://evil.example"})[0], 403)
        own = f"http://127.0.0.1:{self.server.port}"
        self.assertEqual(self.server.ask("GET", "/health", headers={"Origin": own})[0], 200)

    def test_the_log_tells_of_requests_and_not_of_prompts(self):
        self.server.chat(user("a very secret word: xylophone"), max_tokens=2)
        self.server.ask("POST", "/v1/chat/completions", {"messages": user("x"), "temperature": "xylophone"})
        self.server.wait_log('"status":400')
        self.assertNotIn("xylophone", self.server.log)
        served = [e for e in self.server.events("request") if e["path"] == "/v1/chat/completions" and e["status"] == 200]
        self.assertLess(served[-1]["seconds"], 60)
        done = self.server.events("completion")[-1]
        self.assertEqual(done["generated_tokens"], 2)


class Locked(ServerCase):
    flags = ("--api-key", "s3cret", "--served-name", "tiny", "--cors", "https://app.example", "--log-prompts", "--ctx", "256",
             "--queue", "4", "--parallel", "2")

    def key(self, value="s3cret"):
        return {"Authorization": "Bearer " + value}

    def test_without_the_key_everything_but_health_is_401(self):
        wrong = base64.b64encode(b"me:wrong").decode()
        for headers in ({}, self.key("wrong"), self.key("s3cre"), self.key("s3crets3cret"), self.key(""), {"Authorization": "s3cret"},
                        {"Authorization": "Basic " + wrong}):
            for method, path in (("POST", "/v1/chat/completions"), ("POST", "/v1/completions"), ("GET", "/v1/models"),
                                 ("POST", "/tokenize"), ("POST", "/detokenize"), ("GET", "/metrics"), ("GET", "/version"),
                                 ("GET", "/"), ("GET", "/page.js"), ("GET", "/nothing"), ("OPTIONS", "/v1/models")):
                status, _, data = self.server.ask(method, path, {}, headers)
                self.assertEqual(status, 401, (method, path, headers))
                self.assertEqual(json.loads(data)["error"]["code"], "invalid_api_key")
            self.assertEqual(self.server.ask("GET", "/health", headers=headers)[0], 200)

    def test_with_it_requests_are_served(self):
        self.server.json("GET", "/v1/models", headers=self.key())
        basic = base64.b64encode(b"anybody:s3cret").decode()
        self.assertEqual(self.server.ask("GET", "/", headers={"Authorization": "Basic " + basic})[0], 200)

    def test_another_model_than_the_served_one_is_not_found(self):
        body = {"messages": user("hi"), "max_tokens": 1}
        reply = self.server.json("POST", "/v1/chat/completions", {**body, "model": "tiny"}, headers=self.key())
        self.assertEqual(reply["model"], "tiny")
        self.server.json("POST", "/v1/chat/completions", body, headers=self.key())
        error = self.server.json("POST", "/v1/chat/completions", {**body, "model": "big"}, 404, headers=self.key())["error"]
        self.assertEqual((error["param"], error["code"]), ("model", "model_not_found"))
        self.server.json("GET", "/v1/models/big", status=404, headers=self.key())

    def test_cors_serves_the_named_origin_alone(self):
        mine = {"Origin": "https://app.example", **self.key()}
        _, headers, _ = self.server.ask("GET", "/v1/models", headers=mine)
        self.assertEqual(headers["Access-Control-Allow-Origin"], "https://app.example")
        status, headers, _ = self.server.ask("OPTIONS", "/v1/chat/completions", headers={"Origin": "https://app.example"})
        self.assertEqual(status, 204)
        self.assertIn("Authorization", headers["Access-Control-Allow-Headers"])
        status, headers, _ = self.server.ask("GET", "/v1/models", headers={**self.key(), "Origin": "https://evil.example"})
        self.assertEqual(status, 403)
        self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_prompts_are_logged_when_asked_for(self):
        self.server.json("POST", "/v1/chat/completions", {"messages": user("a xylophone"), "max_tokens": 1}, headers=self.key())
        self.server.wait_log("xylophone")


class Starting(unittest.TestCase):
    def test_a_model_that_is_not_there_ends_the_server_with_three(self):
        server = Server(model=["-m", "/nonexistent"], wait=False)
        self.assertEqual(server.process.wait(60), 3)
        server.end()
        self.assertIn("spindrift: error: ", server.log)

    def test_a_key_that_no_header_can_carry_is_refused(self):
        for key in ("a b", " a", "a\t", "a\x7f", "k" * 4097):
            done = program.run("serve", *program.PAIR, "--port", "0", "--api-key", key)
            self.assertEqual(done.code, program.USAGE, done.err)
            self.assertIn("expected a key of at most 4096 bytes", done.err)

    def test_a_port_in_use_is_an_error(self):
        first = Server()
        second = program.run("serve", *program.PAIR, "--port", first.port)
        self.assertEqual(second.code, 1)
        self.assertIn("cannot listen", second.err)
        self.assertEqual(first.end(), 0)


if __name__ == "__main__":
    unittest.main()
