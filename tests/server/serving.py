"""What the server's tests share: a running `spindrift serve`, and plain HTTP to it."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
import program  # noqa: E402

PAIR = [*map(str, program.PAIR)]
QUESTION = program.QUESTION


def user(text):
    return [{"role": "user", "content": text}]


class Server:
    """`spindrift serve` on a free port. Its stderr is read all along and kept."""

    def __init__(self, *flags, model=PAIR, wait=True):
        self.process = subprocess.Popen(
            [program.BINARY, "serve", *model, "--port", "0", *map(str, flags)], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=program.environment())
        self.lines = []
        self.port = None
        self.listening = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if wait and not self.listening.wait(120):
            raise RuntimeError("no listening line: " + self.log)

    def read(self):
        for line in self.process.stderr:
            line = line.decode()
            self.lines.append(line)
            found = re.match(r"listening on http://.*:(\d+)$", line)
            if found:
                self.port = int(found[1])
                self.listening.set()
        self.listening.set()

    @property
    def log(self):
        return "".join(self.lines)

    def wait_log(self, text, seconds=60):
        until = time.monotonic() + seconds
        while text not in self.log:
            if time.monotonic() > until:
                raise AssertionError(f"not in the log: {text}")
            time.sleep(0.01)

    def events(self, name):
        return [json.loads(line) for line in self.lines if line.startswith("{") and f'"event":"{name}"' in line]

    def ask(self, method, path, body=None, headers=None, timeout=60):
        """(status, headers, body bytes)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, status=200, **kwargs):
        got, _, data = self.ask(method, path, body, **kwargs)
        if got != status:
            raise AssertionError(f"{method} {path}: {got} {data[:500]!r}")
        return json.loads(data)

    def chat(self, messages, status=200, **fields):
        return self.json("POST", "/v1/chat/completions", {"messages": messages, **fields}, status)

    def stream(self, path, body):
        """The JSON values of a stream, [DONE] seen at its end."""
        status, _, data = self.ask("POST", path, {**body, "stream": True})
        if status != 200:
            raise AssertionError(f"{status} {data[:500]!r}")
        lines = [line for line in data.decode().split("\n\n") if line]
        if lines[-1] != "data: [DONE]":
            raise AssertionError("no end: " + lines[-1])
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]

    def metric(self, name):
        """The sum of a metric over its labels."""
        _, _, text = self.ask("GET", "/metrics")
        values = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text.decode(), re.MULTILINE)
        if not values:
            raise AssertionError("no metric " + name)
        return sum(map(float, values))

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def rss(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("no VmRSS")

    def wait_idle(self, seconds=60):
        until = time.monotonic() + seconds
        while self.metric("spindrift_running") + self.metric("spindrift_queue_waiting") > 0:
            if time.monotonic() > until:
                raise AssertionError("requests are still there")
            time.sleep(0.02)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self, seconds=60):
        """SIGTERM and the exit code."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.reader.join(10)
            self.process.stderr.close()


def raw_request(path, body, close=True):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"{'Connection: close' + chr(13) + chr(10) if close else ''}Content-Length: {len(data)}\r\n\r\n").encode() + data


def read_all(connection):
    out = b""
    while True:
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            return out
        if not piece:
            return out
        out += piece


class ServerCase(unittest.TestCase):
    """One server for all tests of a class."""
    flags = ()
    model = PAIR

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.flags, model=cls.model)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.end()
        if code != 0:
            raise AssertionError(f"the server ended with {code}: {cls.server.log[-2000:]}")

    def refused(self, status, param, path="/v1/chat/completions", **fields):
        """An error object that names the parameter."""
        body = fields.pop("body", None)
        if body is None:
            body = {"messages": user("hi"), **fields} if "chat" in path else {"prompt": "hi", **fields}
        error = self.server.json("POST", path, body, status)["error"]
        self.assertEqual(error["param"], param, error)
        self.assertTrue(error["message"])
        self.assertIn("code", error)
        self.assertEqual(error["type"], "invalid_request_error")
        return error


__all__ = ["Server", "ServerCase", "PAIR", "QUESTION", "user", "raw_request", "read_all", "program", "os"]
