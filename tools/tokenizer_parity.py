#!/usr/bin/env python3
"""Compares the tokenizer with the `tokenizers` package: ids, decoded text and streamed text.

usage: tokenizer_parity.py [--tool build/release/tests/unit/tokenizer/tokenize_file] [--megabytes 5] [--seed 1] FOLDER...

Every FOLDER has a tokenizer.json. The texts are made from the seed and differ in kind: code, prose in many scripts,
emoji and their joiners, line ends of every kind, control characters, combining marks, unassigned code points, every
added token in odd places, long runs. Exit code 1 and the first differing text when something differs; 77 when
`tokenizers` is not installed.
"""

import argparse
import random
import struct
import subprocess
import sys
import time
from pathlib import Path

try:
    import tokenizers
except ImportError:
    sys.exit(77)

SCRIPTS = {
    "latin": (0x41, 0x24F), "ipa": (0x250, 0x2FF), "marks": (0x300, 0x36F), "greek": (0x370, 0x3FF),
    "cyrillic": (0x400, 0x52F), "armenian": (0x530, 0x58F), "hebrew": (0x590, 0x5FF), "arabic": (0x600, 0x6FF),
    "syriac": (0x700, 0x74F), "devanagari": (0x900, 0x97F), "bengali": (0x980, 0x9FF), "tamil": (0xB80, 0xBFF),
    "thai": (0xE00, 0xE7F), "tibetan": (0xF00, 0xFFF), "georgian": (0x10A0, 0x10FF), "jamo": (0x1100, 0x11FF),
    "ethiopic": (0x1200, 0x137F), "khmer": (0x1780, 0x17FF), "mongolian": (0x1800, 0x18AF),
    "punctuation": (0x2000, 0x206F), "currency": (0x20A0, 0x20CF), "letterlike": (0x2100, 0x218F),
    "arrows": (0x2190, 0x23FF), "box": (0x2500, 0x27BF), "cjk": (0x3000, 0x9FFF), "hangul": (0xAC00, 0xD7A3),
    "private": (0xE000, 0xE0FF), "presentation": (0xFB00, 0xFDFF), "fullwidth": (0xFE00, 0xFFEF),
    "specials": (0xFFF0, 0xFFFF), "ancient": (0x10000, 0x10FFF), "indic": (0x11000, 0x11FFF),
    "cuneiform": (0x12000, 0x143FA), "newer": (0x16100, 0x1E95F), "math": (0x1D400, 0x1D7FF),
    "symbols": (0x1F000, 0x1FAFF), "extension_b": (0x20000, 0x2A6DF), "extension_h": (0x2EBF0, 0x323AF),
    "tags": (0xE0000, 0xE01EF), "any": (0x0, 0x10FFFF),
}
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", " \n", "\n ", "\u00a0", "\u2003", "\u3000", "\x0b", "\x0c", "\x85", "\u2028", "\u200b", "\ufeff"]
EMOJI = ["😀", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "🇩🇪🇫🇷", "1️⃣", "🧑🏿‍🚀", "❤️", "☃", "🫨", "🪿", "\u200d", "\ufe0f"]
WORDS = "the quick brown fox jumps over lazy dogs while reading some old books isn't can't I'm you'll we've they'd WE'LL IT'S don'T x's".split()
CODE = [
    "def f(x):\n    return x + 1\n", "if (a != b) {\n\t++i;  // why\n}\n", "#include <vector>\r\nint main() {}\r\n", "SELECT * FROM t WHERE id = 12345;\n",
    "for i in range(10):\n        print(f\"{i:>8}\")\n\n\n", "let x = a?.b ?? [];\n", "<div class=\"a\">text</div>\n", "x = 0xFF_FF; y = 1e-9\n",
    "'''doc'''\n", "/* 'll 'Re 'VE */", "a->b()->c[1][2][3];;\n", "\\n\\t\\\"", "```python\nprint('hi')\n```\n", "https://example.org/?q=1&r=%20#x",
]


class Maker:
    def __init__(self, seed, added):
        self.random = random.Random(seed)
        self.added = added

    def character(self, name=None):
        low, high = SCRIPTS[name or self.random.choice(list(SCRIPTS))]
        while True:
            c = self.random.randint(low, high)
            if not 0xD800 <= c < 0xE000:
                return chr(c)

    def atom(self):
        r = self.random
        kind = r.randrange(16)
        if kind < 3:
            return r.choice(WORDS)
        if kind < 5:
            return r.choice(SPACES)
        if kind == 5:
            return r.choice(CODE)
        if kind == 6:
            name = r.choice(list(SCRIPTS))
            return "".join(self.character(name) for _ in range(r.randint(1, 12)))
        if kind == 7:
            return str(r.randrange(10 ** r.randint(1, 12)))
        if kind == 8:
            return r.choice(EMOJI)
        if kind == 9 and self.added:
            token = r.choice(self.added)
            return r.choice([token, token, " " + token + " ", token[:-1], token[1:], token + token, "x" + token + "y", token.upper(), token.lower(), "\n" + token + "\n", token[: len(token) // 2] + token])
        if kind == 10:
            return chr(r.randrange(32)) if r.random() < 0.7 else chr(r.randrange(0x7F, 0xA0))
        if kind == 11:
            return r.choice("aeioun") + "".join(chr(r.randint(0x300, 0x36F)) for _ in range(r.randint(1, 4)))
        if kind == 12:
            return r.choice("!?.,;:-_=+*/\\|()[]{}<>#@$%^&~`'\"") * r.randint(1, 6)
        if kind == 13:
            return "'" + r.choice(["s", "S", "ſ", "t", "T", "re", "RE", "rE", "ve", "m", "ll", "LL", "lL", "d", "D", "x", "l", "r"])
        if kind == 14:
            return self.character()
        return " "

    def text(self):
        r = self.random
        kind = r.randrange(12)
        if kind == 0:  # a long run of one thing
            return self.atom() * r.randint(1, 400)
        if kind == 1:  # random characters
            return "".join(self.character() for _ in range(r.randint(0, 200)))
        if kind == 2:  # white space only
            return "".join(r.choice(SPACES) for _ in range(r.randint(0, 60)))
        if kind == 3:
            return "".join(r.choice(CODE) for _ in range(r.randint(1, 30)))
        if kind == 4:
            return " ".join(r.choice(WORDS) for _ in range(r.randint(1, 200)))
        return "".join(self.atom() for _ in range(r.randint(0, 120)))

    def corpus(self, size):
        texts, total = ["", " ", "\n", "\0", "a"], 0
        if size >= 1e6:  # every code point once
            texts += ["\n".join(chr(c) for c in range(low, low + 512) if not 0xD800 <= c < 0xE000) for low in range(0, 0x33000, 512)]
        texts += ["a" * 20000 + "b", " " * 5000 + "x", "\r\n" * 3000 + "\r", "ab" * 4000, "1" * 5000]
        while total < size:
            text = self.text()
            total += len(text.encode())
            texts.append(text)
        return texts


def ask(tool, folder, arguments, records):
    data = b"".join(struct.pack("<I", count) + payload for count, payload in records)
    return subprocess.run([tool, folder, *arguments], input=data, stdout=subprocess.PIPE, check=True).stdout


def first_difference(ours, theirs):
    return next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))


def compare_ids(tool, folder, package, texts, add_special):
    arguments = ["encode"] + (["add_special"] if add_special else [])
    encoded = [t.encode() for t in texts]
    lines = ask(tool, folder, arguments, [(len(e), e) for e in encoded]).decode().split("\n")[:-1]
    assert len(lines) == len(texts), (len(lines), len(texts))
    bad, all_ids = 0, []
    for text, line in zip(texts, lines):
        ours = list(map(int, line.split()))
        theirs = package.encode(text, add_special_tokens=add_special).ids
        all_ids.append(theirs)
        if ours != theirs:
            bad += 1
            if bad <= 3:
                at = first_difference(ours, theirs)
                print(f"  ids differ at token {at} of text of {len(text)} characters: ours {ours[at:at+8]}, package {theirs[at:at+8]}")
                print(f"    after {package.decode(theirs[max(0, at - 6):at], skip_special_tokens=False)!r}; text {text[:120]!r}")
    return bad, all_ids


def compare_decoding(tool, folder, package, all_ids, seed):
    r = random.Random(seed)
    size = max(package.get_vocab().values()) + 1
    sequences = all_ids[:2000]
    sequences += [[r.randrange(size) for _ in range(r.randint(0, 40))] for _ in range(2000)]
    low = [i for i in range(size) if (t := package.id_to_token(i)) is not None and (len(t) == 1 or t.startswith("<0x"))]
    sequences += [[r.choice(low) for _ in range(r.randint(1, 12))] for _ in range(4000)] if low else []
    bad = 0
    for skip in (False, True):
        expected = [package.decode(s, skip_special_tokens=skip) for s in sequences]
        for mode in ("decode", "stream"):
            answer = ask(tool, folder, [mode] + (["skip_special"] if skip else []),
                         [(len(s), struct.pack(f"<{len(s)}i", *s)) for s in sequences])
            at = 0
            for sequence, text in zip(sequences, expected):
                (length,) = struct.unpack_from("<I", answer, at)
                ours = answer[at + 4 : at + 4 + length].decode()
                at += 4 + length
                if ours != text:
                    bad += 1
                    if bad <= 3:
                        print(f"  {mode} differs for {sequence[:20]}: ours {ours[:80]!r}, package {text[:80]!r}")
    return bad


def compare_speed(tool, folder, package, texts):
    ours, theirs = [], []
    records = [(len(e), e) for e in (t.encode() for t in texts)]
    size = sum(count for count, _ in records)
    for _ in range(3):
        ours.append(float(ask(tool, folder, ["time"], records).split()[2]))
        start = time.perf_counter()
        for text in texts:
            package.encode(text, add_special_tokens=False)
        theirs.append(time.perf_counter() - start)
    a, b = sorted(ours)[1], sorted(theirs)[1]
    print(f"  one thread: ours {size / a / 1e6:.1f} MB/s, package {size / b / 1e6:.1f} MB/s, ratio {b / a:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--tool", default=str(root / "build/release/tests/unit/tokenizer/tokenize_file"))
    parser.add_argument("--megabytes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    failed = False
    for folder in options.folders:
        package = tokenizers.Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        package.no_truncation()
        package.no_padding()
        added = [t.content for t in package.get_added_tokens_decoder().values()]
        texts = Maker(options.seed, added).corpus(int(options.megabytes * 1e6))
        size = sum(len(t.encode()) for t in texts)
        bad, ids = compare_ids(options.tool, folder, package, texts, False)
        bad += compare_ids(options.tool, folder, package, texts[: len(texts) // 4], True)[0]
        wrong = compare_decoding(options.tool, folder, package, ids, options.seed)
        failed |= bad + wrong > 0
        print(f"{folder}: {len(texts)} texts, {size / 1e6:.1f} MB, {sum(map(len, ids))} tokens: {bad} texts and {wrong} decodings differ", flush=True)
        if options.speed:
            compare_speed(options.tool, folder, package, texts)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
