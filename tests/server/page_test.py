#!/usr/bin/env python3
"""The page in a headless Chromium: what a user with a keyboard sees. Screenshots go to $SPINDRIFT_SCREENSHOTS, by default to
build/screenshots/."""
import json
import os
import sys
import unittest
from pathlib import Path

import chromium
from serving import QUESTION, ServerCase, program

SHOTS = Path(os.environ.get("SPINDRIFT_SCREENSHOTS", program.ROOT / "build/screenshots"))
IDLE = "document.getElementById('stop').disabled && document.querySelector('.turn.assistant') !== null"
TOOLS = json.dumps([{"type": "function", "function": {
    "name": "send_message", "description": "Send a message to a person.",
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
                   "required": ["to", "text"]}}}])


class Page(ServerCase):
    flags = ("--log-level", "off")

    def setUp(self):
        self.browser = chromium.Chromium()
        self.addCleanup(self.browser.close)
        self.origin = f"http://127.0.0.1:{self.server.port}/"
        self.browser.open(self.origin)
        self.browser.wait("document.getElementById('model').textContent.startsWith('laguna-tiny-nvfp4')")

    def set(self, name, value):
        self.browser.evaluate(f"document.getElementById('{name}').value = {json.dumps(value)}; "
                              f"document.getElementById('{name}').dispatchEvent(new Event('change', {{bubbles: true}}))")

    def say(self, text):
        self.browser.evaluate("document.getElementById('ask').focus()")
        self.browser.type(text)
        self.browser.press("Enter")
        self.browser.wait(IDLE)

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")

    def test_a_question_is_answered_as_by_the_command_line_and_drafts_are_shaded(self):
        self.set("max_tokens", "60")
        self.set("draft_tokens", "4")  # left to itself, a first answer may find that drafting does not pay
        self.say(QUESTION)
        alone = program.run("generate", *program.PAIR, "-p", QUESTION, "-n", "60", "--json", "--quiet").json
        self.assertEqual(self.text(".turn.assistant .text"), alone["text"])
        self.assertEqual(self.text(".turn.user .text"), QUESTION)
        self.assertRegex(self.text("#figures"), r"60 tokens · [\d.]+ tokens/s · .* draft tokens accepted \(\d+ %\)")
        self.assertIn("Answer complete", self.text("#status"))
        shaded = self.browser.evaluate("getComputedStyle(document.querySelector('.drafted')).backgroundColor")
        self.assertNotEqual(shaded, "rgba(0, 0, 0, 0)")
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "ask")
        self.browser.screenshot(SHOTS / "answer-light.png")
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        dark = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
        self.assertEqual(dark, "rgb(20, 23, 26)")
        self.browser.screenshot(SHOTS / "answer-dark.png")
        self.assertEqual(self.browser.complaints(), [])
        self.assertTrue(all(url.startswith(self.origin) or url == "data:," for url in self.browser.requested()),
                        self.browser.requested())

    def test_thinking_is_folded_and_calls_are_shown_and_answered(self):
        self.set("max_tokens", "80")
        self.set("thinking", "on")
        self.say(QUESTION)
        self.assertTrue(self.text("details.thinking .text"))
        self.assertFalse(self.browser.evaluate("document.querySelector('details.thinking').open"))
        self.browser.evaluate("document.querySelector('details.thinking summary').click()")
        self.assertTrue(self.browser.evaluate("document.querySelector('details.thinking').open"))
        self.browser.screenshot(SHOTS / "thinking.png")
        self.browser.evaluate("document.getElementById('fresh').click()")
        self.assertEqual(self.text("#talk"), "")
        self.set("thinking", "off")
        self.set("tools", TOOLS)
        self.say("Tell Ben that lunch is ready.")
        self.assertEqual(self.text(".call .name"), "send_message")
        self.assertIn("to", json.loads(self.text(".call .text")))
        self.browser.evaluate("document.querySelector('.call textarea').value = 'sent'")
        self.browser.evaluate("document.getElementById('send').click()")
        self.browser.wait("document.querySelectorAll('.turn.assistant').length === 2 && " + IDLE)
        self.assertEqual(self.text(".turn.tool .text"), "sent")
        self.browser.screenshot(SHOTS / "tools.png")
        self.assertEqual(self.browser.complaints(), [])

    def test_what_looks_like_markup_stays_text(self):
        markup = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script><b>bold</b>"
        chunks = [{"choices": [{"index": 0, "delta": {"reasoning_content": markup}}]},
                  {"choices": [{"index": 0, "delta": {"content": markup, "drafted": True}}]},
                  {"choices": [{"index": 0, "delta": {"tool_calls": [
                      {"index": 0, "id": "a", "function": {"name": markup, "arguments": markup}}]}}]},
                  {"error": {"message": markup}}]
        stream = "".join(f"data: {json.dumps(c)}\n\n" for c in chunks)
        self.browser.evaluate(f"window.fetch = async () => new Response({json.dumps(stream)})")
        self.say(markup)
        for selector in (".turn.user .text", "details.thinking .text", ".turn.assistant > .text", ".call .name", ".call .text",
                         ".error"):
            self.assertEqual(self.text(selector), markup, selector)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('main img, main script, main b').length"), 0)
        self.assertFalse(self.browser.evaluate("'hurt' in window"))

    def test_an_answer_can_be_stopped_by_escape(self):
        self.set("max_tokens", "100000")
        self.set("temperature", "1.5")
        self.browser.evaluate("document.getElementById('ask').focus()")
        self.browser.type("Count for ever.")
        self.browser.press("Enter")
        self.browser.wait("document.getElementById('send').disabled")
        self.browser.press("Escape")
        self.browser.wait(IDLE)
        self.assertRegex(self.text("#status"), "Stopped|Answer complete")
        self.server.wait_idle()

    def test_an_error_is_told(self):
        self.set("tools", "not JSON")
        self.say("hi")
        self.assertIn("JSON", self.text(".error"))
        self.assertEqual(self.browser.evaluate("document.querySelector('.error').getAttribute('role')"), "alert")

    def test_everything_is_reached_by_tab_and_has_a_name(self):
        self.browser.evaluate("document.getElementById('settings-button').click()")
        self.assertEqual(self.browser.evaluate("document.getElementById('settings-button').getAttribute('aria-expanded')"), "true")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        kinds = {"button", "textbox", "spinbutton", "combobox", "checkbox", "link", "log", "form", "MenuListPopup"}
        named = 0
        for node in nodes:
            role = node.get("role", {}).get("value")
            if role not in kinds - {"MenuListPopup"} or node.get("ignored"):
                continue
            self.assertTrue(node.get("name", {}).get("value"), node)
            named += 1
        self.assertGreater(named, 15)
        self.browser.evaluate("document.body.focus(); document.activeElement.blur()")
        reached = set()
        for _ in range(40):
            self.browser.press("Tab")
            reached.add(self.browser.evaluate("document.activeElement.id || document.activeElement.className"))
        for name in ("settings-button", "fresh", "ask", "send", "temperature", "thinking", "system", "tools", "key", "shade", "talk"):
            self.assertIn(name, reached)
        self.browser.screenshot(SHOTS / "settings.png")

    def test_a_narrow_screen_needs_no_sideways_scrolling(self):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=1, mobile=True)
        self.set("max_tokens", "40")
        self.say(QUESTION)
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 360)
        self.browser.screenshot(SHOTS / "narrow.png")


if __name__ == "__main__":
    if not chromium.program():
        print("SKIPPED FOR LACK OF PACKAGES: no chromium here (./dev test --oracles installs it)")
        sys.exit(77)
    unittest.main()
