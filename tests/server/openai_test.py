#!/usr/bin/env python3
"""The official openai client drives every endpoint and option."""
import json
import unittest

import openai

from serving import QUESTION, ServerCase, user

TOOLS = [{"type": "function", "function": {
    "name": "send_message", "description": "Send a message to a person.",
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
                   "required": ["to", "text"]}}}]


class Client(ServerCase):
    flags = ("--api-key", "s3cret", "--ctx", "1024")
    MODEL = "laguna-tiny-nvfp4"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(api_key="s3cret", base_url=f"http://127.0.0.1:{cls.server.port}/v1", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        super().tearDownClass()

    def chat(self, text=QUESTION, **fields):
        fields.setdefault("max_tokens", 30)
        return self.client.chat.completions.create(model=self.MODEL, messages=user(text), **fields)

    def test_models(self):
        self.assertEqual([m.id for m in self.client.models.list()], [self.MODEL])
        self.assertEqual(self.client.models.retrieve(self.MODEL).owned_by, "spindrift")

    def test_a_chat_with_every_sampling_option(self):
        reply = self.chat(n=2, seed=3, stop=["\n\n\n"], temperature=0.8, top_p=0.95, max_completion_tokens=20,
                          logit_bias={"300": -5}, logprobs=True, top_logprobs=3, user="me",
                          extra_body={"top_k": 40, "min_p": 0.01, "repetition_penalty": 1.1, "return_token_ids": True})
        self.assertEqual(len(reply.choices), 2)
        for choice in reply.choices:
            self.assertEqual(choice.message.role, "assistant")
            self.assertIsInstance(choice.message.content, str)
            self.assertIn(choice.finish_reason, ("stop", "length"))
            self.assertTrue(all(len(entry.top_logprobs) == 3 for entry in choice.logprobs.content))
            self.assertTrue(choice.model_extra["token_ids"])
        self.assertEqual(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens)
        self.assertEqual(reply.usage.model_extra["draft"]["kind"], "dflash")

    def test_a_streamed_chat_is_the_whole_one(self):
        whole = self.chat(temperature=0.9)
        stream = self.chat(temperature=0.9, stream=True, stream_options={"include_usage": True})
        text, usage, reason = "", None, None
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                reason = choice.finish_reason or reason
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(reason, whole.choices[0].finish_reason)

    def test_reasoning_is_apart_streamed_or_not(self):
        thinking = {"chat_template_kwargs": {"enable_thinking": True}}
        whole = self.chat(extra_body=thinking, max_tokens=60).choices[0].message
        self.assertTrue(whole.reasoning_content)
        parts = [c.delta for chunk in self.chat(extra_body=thinking, max_tokens=60, stream=True) for c in chunk.choices]
        self.assertEqual("".join(getattr(d, "reasoning_content", None) or "" for d in parts), whole.reasoning_content)
        self.assertEqual("".join(d.content or "" for d in parts), whole.content)

    def test_tools_called_answered_and_streamed(self):
        ask = dict(text="Tell Ben that lunch is ready.", tools=TOOLS, tool_choice="auto", max_tokens=80)
        choice = self.chat(**ask).choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        call = choice.message.tool_calls[0]
        self.assertEqual(call.function.name, "send_message")
        self.assertIn("to", json.loads(call.function.arguments))
        name, arguments, ids = "", "", set()
        for chunk in self.chat(**ask, stream=True):
            for delta in chunk.choices[0].delta.tool_calls or []:
                if delta.id:
                    ids.add(delta.id)
                name += delta.function.name or ""
                arguments += delta.function.arguments or ""
        self.assertEqual((name, arguments), (call.function.name, call.function.arguments))
        self.assertEqual(len(ids), 1)
        self.assertIsNone(self.chat(**{**ask, "tool_choice": "none"}).choices[0].message.tool_calls)
        conversation = [*user("Tell Ben that lunch is ready."), choice.message.model_dump(exclude_none=True),
                        {"role": "tool", "tool_call_id": call.id, "content": "sent"}]
        reply = self.client.chat.completions.create(model=self.MODEL, messages=conversation, tools=TOOLS, max_tokens=10)
        self.assertGreater(reply.usage.prompt_tokens, 20)

    def test_text_completions_streamed_or_not(self):
        fields = dict(model=self.MODEL, prompt="def add(a, b):", max_tokens=12, logprobs=2, seed=1, temperature=0.5, n=1)
        whole = self.client.completions.create(**fields)
        self.assertEqual(len(whole.choices[0].logprobs.tokens), len(whole.choices[0].logprobs.token_logprobs))
        stream = self.client.completions.create(**fields, stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
        self.assertEqual("".join(c.text for chunk in chunks for c in chunk.choices), whole.choices[0].text)
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)

    def test_errors_are_the_clients_own_kinds(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(temperature=9)
        self.assertEqual(caught.exception.param, "temperature")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(response_format={"type": "json_object"})
        self.assertEqual(caught.exception.code, "unsupported_parameter")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat("word " * 3000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        for key in ("wrong", "s3cre"):
            with openai.OpenAI(api_key=key, base_url=self.client.base_url, max_retries=0) as other:
                with self.assertRaises(openai.AuthenticationError):
                    other.models.list()

    def test_a_stream_that_is_left_ends_the_request(self):
        with self.chat(stream=True, max_tokens=900, extra_body={"ignore_eos": True}) as stream:
            next(iter(stream))
        until_idle = {"Authorization": "Bearer s3cret"}
        for _ in range(500):
            _, _, text = self.server.ask("GET", "/metrics", headers=until_idle)
            if b"spindrift_running 0" in text:
                return
        self.fail("the request still runs")


if __name__ == "__main__":
    unittest.main()
