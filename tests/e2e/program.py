"""What the end-to-end tests share: running the program, and model folders to run it on."""
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("SPINDRIFT_BINARY", str(ROOT / "build/release/spindrift"))
TARGET = ROOT / "models/laguna-tiny-nvfp4"
DRAFTER = ROOT / "models/laguna-tiny-dflash"
QUESTION = "Write a Python function that returns a sorted copy of a list using bubble sort."
PAIR = ["-m", TARGET, "--draft-model", DRAFTER]

OK, OTHER, USAGE, MODEL, CHECK_FAILED, LIMIT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.seconds = code, out, seconds
        self.err = err.decode()

    @property
    def text(self):
        return self.out.decode()

    @property
    def json(self):
        return json.loads(self.out)


def environment(**changes):
    """The caller's environment without settings of its own that would change what the program does."""
    env = {k: v for k, v in os.environ.items() if k not in ("SPINDRIFT_ISA", "NO_COLOR", "HF_HOME", "HF_HUB_CACHE")}
    env["HF_HUB_CACHE"] = env["XDG_CACHE_HOME"] = "/dev/null/none"
    env.update({k: str(v) for k, v in changes.items()})
    return env


def run(*arguments, stdin=b"", timeout=120, **env):
    started = time.monotonic()
    done = subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout,
                          env=environment(**env), check=False)
    return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - started)


class Case(unittest.TestCase):
    """A temporary folder for each test, and claims about how a run ended."""

    def setUp(self):
        self.temp = Path(tempfile.mkdtemp(prefix="spindrift-e2e-"))
        self.addCleanup(shutil.rmtree, self.temp, ignore_errors=True)

    def write(self, name, content):
        path = self.temp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def copy_model(self, source=TARGET, name="model"):
        """A copy of a model folder that a test may spoil."""
        target = self.temp / name
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("golden"))
        return target

    def edit_json(self, path, **changes):
        values = json.loads(path.read_text())
        values.update(changes)
        path.write_text(json.dumps({k: v for k, v in values.items() if v is not None}))

    def ok(self, *arguments, **kwargs):
        result = run(*arguments, **kwargs)
        self.assertEqual(result.code, OK, result.err)
        return result

    def generate(self, *arguments, **kwargs):
        """The object of `generate --json`."""
        return self.ok("generate", *arguments, "--json", **kwargs).json

    def fails(self, code, *arguments, saying=(), seconds=None, **kwargs):
        """One error line (and perhaps a hint) that has all of `saying`, and nothing like a crash."""
        result = run(*arguments, **kwargs)
        self.assertEqual(result.code, code, result.err)
        lines = [line for line in result.err.splitlines() if not line.startswith("spindrift: warning: ")]
        errors = [line for line in lines if line.startswith("spindrift: error: ")]
        self.assertEqual(len(errors), 1, result.err)
        for text in [saying] if isinstance(saying, str) else saying:
            self.assertIn(text, errors[0])
        for line in lines:
            self.assertRegex(line, r"^spindrift: (error|hint): \S")
        if seconds is not None:
            self.assertLess(result.seconds, seconds)
        return result


def read_safetensors(path):
    """(header as a dict, the bytes after it)."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def read_safetensors_header(path):
    """The header of a file of any size."""
    with open(path, "rb") as file:
        return json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))


def write_safetensors(path, header, data):
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
