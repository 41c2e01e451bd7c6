#!/usr/bin/env python3
"""What the program does with terminals, pipes and signals: streaming, colour, Ctrl-C, conversations."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from program import BINARY, INTERRUPTED, LIMIT, OK, OTHER, PAIR, QUESTION, TARGET, USAGE, Case, environment, run

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
LONG = ["--temp", "1.2", "--ignore-eos", "-n", "4000"]


class Terminal:
    """The program with a pseudo terminal as standard input, output and error."""

    def __init__(self, *arguments, **env):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))
        self.process = subprocess.Popen(
            [BINARY, *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), env=environment(TERM="xterm-256color", **env))
        os.close(slave)
        self.raw = ""

    def read(self, until, seconds=60):
        """Everything printed until `until` (a pattern, looked for without escape codes) appears."""
        end = time.monotonic() + seconds
        raw = ""
        while time.monotonic() < end:
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                part = os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                break
            raw += part
            self.raw += part
            if until is not None and re.search(until, ESCAPES.sub("", raw).replace("\r", "")):
                return ESCAPES.sub("", raw).replace("\r", "")
        if until is None:
            return ESCAPES.sub("", raw).replace("\r", "")
        raise AssertionError(f"no {until!r} in {raw!r}")

    def write(self, text):
        os.write(self.master, text.encode())

    def end(self):
        rest = self.read(None, 20) if self.process.poll() is None else ""
        code = self.process.wait(20)
        os.close(self.master)
        return code, rest


class Pipes(Case):
    def test_no_escape_codes_into_a_pipe(self):
        result = self.ok("generate", *PAIR, "-p", QUESTION)
        self.assertNotIn(b"\x1b", result.out)
        self.assertNotIn("\x1b", result.err)
        self.assertIn("def ", result.text)

    def test_the_answer_is_on_stdout_and_the_figures_on_stderr(self):
        result = self.ok("generate", *PAIR, "-p", QUESTION, "--draft-tokens", 4)
        self.assertEqual(result.text.rstrip("\n"), self.generate(*PAIR, "-p", QUESTION)["text"].rstrip("\n"))
        for part in ("prompt", "generated", "tokens/s", "(finish: stop)", "rounds", "tokens per round", "accepted", "by position"):
            self.assertIn(part, result.err)
        self.assertEqual(self.ok("generate", *PAIR, "-p", QUESTION, "--quiet").err, "")

    def test_reasoning_is_left_out_of_a_pipe_but_not_of_the_json(self):
        thinking = self.generate(*PAIR, "-p", QUESTION, "--think")
        self.assertGreater(len(thinking["reasoning"]), 10)
        self.assertNotIn("think>", thinking["text"] + thinking["reasoning"])
        piped = self.ok("generate", *PAIR, "-p", QUESTION, "--think")
        self.assertEqual(piped.text.strip(), thinking["text"].strip())
        ids = ",".join(map(str, thinking["prompt_ids"]))
        raw = self.generate("-m", TARGET, "--prompt-ids", ids)
        self.assertIsNone(raw["reasoning"])
        self.assertEqual(raw["text"], thinking["reasoning"] + "</think>" + thinking["text"])

    def test_colour_shades_accepted_draft_tokens(self):
        drafted = self.ok("generate", *PAIR, "-p", QUESTION, "--color", "always", "--draft-tokens", 11).text
        self.assertIn("\x1b[36m", drafted)
        self.assertTrue(drafted.rstrip("\n").endswith("\x1b[0m") or not drafted.rstrip("\n").endswith("\x1b[36m"))
        plain = self.ok("generate", "-m", TARGET, "-p", QUESTION, "--color", "always").text
        self.assertNotIn("\x1b[36m", plain)
        self.assertEqual(ESCAPES.sub("", drafted), plain)
        self.assertNotIn(b"\x1b", self.ok("generate", *PAIR, "-p", QUESTION, "--color", "never").out)

    def test_a_reader_that_goes_away_ends_the_run_without_noise(self):
        words = self.write("words", "word " * 200000)
        for command in (["generate", *PAIR, "-p", QUESTION, *LONG], ["tokenize", "-m", TARGET, "--file", words]):
            started = time.monotonic()
            with subprocess.Popen([BINARY, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment()) as process:
                self.assertTrue(process.stdout.read(5))
                process.stdout.close()
                err = process.stderr.read().decode()
                process.wait(60)
            self.assertNotIn("error", err)
            self.assertEqual(process.returncode, OK)
            self.assertLess(time.monotonic() - started, 10)

    def test_a_full_disk_is_an_error(self):
        for command in (["info"], ["--version"], ["generate", "--help"], ["verify", "-m", TARGET, "--quick"],
                        ["chat", "-m", TARGET, "-n", "2", "--quiet"]):
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                done = subprocess.run([BINARY, *map(str, command)], input=b"hi\n", stdout=full, stderr=subprocess.PIPE,
                                      env=environment(), check=False)
                self.assertEqual(done.returncode, OTHER)
                self.assertRegex(done.stderr.decode(), "spindrift: error: standard output: [^\n]*\n$")

    def test_a_ledger_or_trace_that_does_not_fit_is_an_error(self):
        for flag in ("--ledger", "--trace"):
            with self.subTest(flag=flag):
                run_ = ["-m", TARGET, "--quiet", "-n", 3, flag, "/dev/full"]
                self.fails(OTHER, "generate", *run_, "-p", "hi", saying="/dev/full")
                chat = run("chat", *run_, stdin=b"hi\n")
                self.assertEqual(chat.code, OTHER)
                self.assertRegex(chat.err, r"spindrift: error: /dev/full: [^\n]*\n$")

    def test_a_limit_on_file_sizes_is_an_error_too(self):
        limited = f"ulimit -f 0; exec '{BINARY}' generate -m '{TARGET}' -p hi -n 3 --quiet --ledger '{self.temp}/l'"
        done = subprocess.run(["bash", "-c", limited], capture_output=True, env=environment(), check=False)
        self.assertEqual(done.returncode, OTHER, done.stderr)
        self.assertIn(str(self.temp / "l"), done.stderr.decode())

    def test_logits_that_do_not_fit_are_an_error_and_leave_devices_alone(self):
        link = self.temp / "full"
        link.symlink_to("/dev/full")
        self.fails(OTHER, "logits", "-m", TARGET, "--prompt-ids", "2,3", "--out", link, saying=str(link))
        self.assertTrue(link.is_symlink())
        self.fails(USAGE, "logits", "-m", TARGET, "--prompt-ids", "2,3", "--out", self.temp, saying=str(self.temp))

    def test_with_stdout_closed_the_answer_goes_into_no_other_file(self):
        ledger = self.temp / "ledger"
        command = f"'{BINARY}' generate -m '{TARGET}' -p hi -n 3 --quiet --ledger '{ledger}' >&-"
        done = subprocess.run(["bash", "-c", command], capture_output=True, env=environment(), check=False)
        self.assertEqual(done.returncode, OTHER)
        self.assertRegex(ledger.read_text(), r"^0 \d+ [0-9a-f]{16}\n")


class Interrupt(Case):
    def start(self, *arguments):
        return subprocess.Popen([BINARY, "generate", *map(str, PAIR), "-p", QUESTION, *LONG, *map(str, arguments)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())

    def test_ctrl_c_keeps_what_was_said_and_prints_the_figures(self):
        with self.start() as process:
            first = process.stdout.read(20)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertTrue(first)
        self.assertIn("generated", err.decode())
        self.assertNotIn("error", err.decode())
        self.assertTrue((first + out).endswith(b"\n"))

    def test_with_json_the_object_says_interrupted(self):
        ledger = self.temp / "ledger"
        with self.start("--json", "--ledger", ledger) as process:
            end = time.monotonic() + 20
            while not (ledger.exists() and ledger.stat().st_size > 0) and time.monotonic() < end:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=20)
        self.assertEqual(process.returncode, INTERRUPTED)
        object_ = json.loads(out)
        self.assertEqual(object_["finish_reason"], "interrupted")
        self.assertGreater(len(object_["token_ids"]), 0)
        self.assertEqual(len(ledger.read_text().splitlines()), len(object_["token_ids"]))


    def test_logits_leave_nothing_behind_and_what_was_there_before_stays(self):
        out, ids = self.write("logits.npy", "before"), self.write("ids", ",".join(["5"] * 4000))
        command = ["logits", "-m", TARGET, "--prompt-ids", f"@{ids}", "--prefill-chunk", 1, "--threads", 1, "--out", out]
        with subprocess.Popen([BINARY, *map(str, command)], stderr=subprocess.PIPE, env=environment()) as process:
            end = time.monotonic() + 20
            while not (self.temp / "logits.npy.part").exists() and time.monotonic() < end:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, err), (INTERRUPTED, b""))
        self.assertEqual(sorted(p.name for p in self.temp.iterdir()), ["ids", "logits.npy"])
        self.assertEqual(out.read_text(), "before")


class Streaming(Case):
    def test_on_a_terminal_reasoning_is_dimmed_and_drafts_are_shaded(self):
        terminal = Terminal("generate", *PAIR, "-p", QUESTION, "--think", "--draft-tokens", 11)
        text = terminal.read("generated")
        code, _ = terminal.end()
        self.assertEqual(code, OK)
        self.assertIn("\x1b[2m", terminal.raw)
        self.assertIn("\x1b[36m", terminal.raw)
        thinking = self.generate(*PAIR, "-p", QUESTION, "--think")
        self.assertIn(thinking["reasoning"].split("\n")[0].strip(), text)
        self.assertNotIn("think>", text)

    def test_loading_shows_progress_and_cleans_it_away(self):
        terminal = Terminal("generate", *PAIR, "-p", QUESTION, "-n", 8)
        terminal.read("generated")
        terminal.end()
        self.assertIn("loading", terminal.raw)
        self.assertIn("\x1b[K", terminal.raw)
        quiet = Terminal("generate", *PAIR, "-p", QUESTION, "-n", 8, "--quiet")
        quiet.read(None, 10)
        quiet.end()
        self.assertNotIn("loading", quiet.raw)

    def test_no_color_and_dumb_terminals_get_no_colour(self):
        for env in ({"NO_COLOR": "1"}, {}):
            terminal = Terminal("generate", *PAIR, "-p", QUESTION, "-n", 20, "--draft-tokens", 11, "--quiet", **env)
            terminal.read(None, 10)
            terminal.end()
            self.assertEqual("\x1b[36m" in terminal.raw, not env)


class Chat(Case):
    def start(self, *arguments):
        terminal = Terminal("chat", *PAIR, *arguments, XDG_STATE_HOME=self.temp / "state")
        terminal.read("> $")
        return terminal

    def say(self, terminal, text):
        terminal.write(text + "\n")
        return terminal.read(r"\n(\(stopped\)\n)?> $")

    def stats(self, terminal):
        return self.say(terminal, "/stats")

    def test_a_conversation_from_first_turn_to_quit(self):
        terminal = self.start()
        first = self.say(terminal, QUESTION)
        self.assertIn("def ", first)
        self.assertNotIn("kept from before", self.stats(terminal))
        second = self.say(terminal, "Write a test for it.")
        self.assertIn("def ", second)
        kept = re.search(r"\((\d+) kept from before\)", self.stats(terminal))
        self.assertGreater(int(kept.group(1)), 40)

        self.assertIn("saved", self.say(terminal, f"/save {self.temp / 'chat.json'}"))
        saved = json.loads((self.temp / "chat.json").read_text())
        self.assertEqual([m["role"] for m in saved], ["user", "assistant", "user", "assistant"])
        again = self.generate(*PAIR, "--messages", self.write("first.json", saved[:3]))
        self.assertEqual(again["text"], saved[3]["content"])  # kept context changes nothing

        self.assertNotIn("(cut off", first + second)
        self.say(terminal, "/think on")
        self.say(terminal, QUESTION)
        self.say(terminal, f"/save {self.temp / 'think.json'}")
        self.assertIn("reasoning_content", json.loads((self.temp / "think.json").read_text())[-1])
        self.assertIn("forgotten", self.say(terminal, "/reset"))
        self.assertIn("forgotten", self.say(terminal, "/system Be brief."))
        self.say(terminal, f"/save {self.temp / 'reset.json'}")
        self.assertEqual(json.loads((self.temp / "reset.json").read_text()), [{"role": "system", "content": "Be brief."}])
        self.assertIn("unknown command", self.say(terminal, "/nonsense"))
        self.assertIn("expected", self.say(terminal, "/think maybe"))
        self.say(terminal, "")
        terminal.write("/quit\n")
        self.assertEqual(terminal.end()[0], OK)

    def test_a_saved_conversation_is_continued_with_a_ledger_of_every_turn(self):
        saved = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "```python\npass\n```"}]
        file, ledger, trace = self.write("saved.json", saved), self.temp / "ledger", self.temp / "trace"
        result = run("chat", *PAIR, "--messages", file, "--ledger", ledger, "--trace", trace,
                     stdin=f"Write a test for it.\n/save {self.temp / 'more.json'}\n".encode())
        self.assertEqual(result.code, OK, result.err)
        more = json.loads((self.temp / "more.json").read_text())
        self.assertEqual((more[:2], len(more)), (saved, 4))
        expected = self.generate(*PAIR, "--messages", self.write("three.json", more[:3]))
        ids = [int(line.split()[1]) for line in ledger.read_text().splitlines()]
        self.assertEqual((ids, more[3]["content"]), (expected["token_ids"], expected["text"]))
        self.assertTrue(trace.read_text().startswith("{"))
        self.fails(USAGE, "chat", *PAIR, "--messages", self.write("no.json", "{}"), saying="no.json")

    def test_an_answer_that_is_cut_off_says_so(self):
        terminal = self.start("-n", 3)
        self.assertIn("(cut off", self.say(terminal, QUESTION))
        terminal.write("/quit\n")
        self.assertEqual(terminal.end()[0], OK)

    def test_ctrl_c_stops_the_turn_only(self):
        terminal = self.start(*LONG)
        terminal.write(QUESTION + "\n")
        terminal.read("def |class |```")
        terminal.write("\x03")
        self.assertIn("(stopped)", terminal.read(r"\(stopped\)\n(.*\n)*> $"))
        self.assertRegex(self.stats(terminal), r"generated +[1-9]")
        terminal.write("\x03")  # at the prompt: a new line, nothing else
        terminal.read("> $")
        terminal.write("\x04")
        self.assertEqual(terminal.end()[0], OK)

    def test_history_is_kept_for_the_next_time(self):
        terminal = self.start("-n", "2")
        self.say(terminal, "remember this line")
        terminal.write("/quit\n")
        terminal.end()
        again = self.start("-n", "2")
        again.write("\x1b[A")
        again.read(r"/quit")
        again.write("\x1b[A")
        again.read("remember this line")
        again.write("\x03")
        again.read("> $")
        again.write("\x04")
        again.end()

    def test_ctrl_c_at_the_prompt_is_never_lost(self):
        terminal = self.start()
        for _ in range(40):  # as soon as the prompt shows, when the reader may not wait yet
            terminal.write("\x03")
            terminal.read("> $", 10)
        terminal.write("\x04")
        self.assertEqual(terminal.end()[0], OK)

    def test_a_typed_line_keeps_its_letters_in_any_locale(self):
        text = "Pr\u00fcfe \u201cna\u00efve\u201d \u6f22\u5b57 \U0001f600"
        terminal = Terminal("chat", *PAIR, XDG_STATE_HOME=self.temp / "state", LC_ALL="C")
        terminal.read("> $")
        self.say(terminal, f"/system {text}")
        self.assertIn("saved", self.say(terminal, f"/save {self.temp / 'chat.json'}"))
        self.assertEqual(json.loads((self.temp / "chat.json").read_text()), [{"role": "system", "content": text}])
        terminal.write("/quit\n")
        self.assertEqual(terminal.end()[0], OK)

    def test_lines_from_a_pipe_are_answered_too(self):
        result = run("chat", *PAIR, stdin=f"{QUESTION}\nWrite a test for it.\n".encode())
        self.assertEqual(result.code, OK, result.err)
        self.assertEqual(result.text.count("```python"), 2)
        self.assertNotIn(b"\x1b", result.out)

    def test_a_question_without_an_answer_ends_the_turn_only_and_a_script_learns_of_it(self):
        prompt = f"{'word ' * 400}\n{QUESTION}\n"
        result = run("chat", *PAIR, "--ctx", "200", stdin=prompt.encode())
        self.assertEqual(result.code, LIMIT)
        self.assertIn("context", result.err)
        self.assertIn("def ", result.text)
        self.fails(USAGE, "chat", *PAIR, "--messages", self.write("m.json", [3]), "--quiet", stdin=b"hi\n", saying="m.json")


if __name__ == "__main__":
    unittest.main()
