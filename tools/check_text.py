#!/usr/bin/env python3
"""Fails on what no source or document of this project contains.

usage: check_text.py [ROOT]

Markers of unfinished work, tabs and trailing blanks in code, Windows line ends, a missing line end at the end of a file.
Model folders, golden vectors and fuzz corpora are data and are not read.
"""
import re
import sys
from pathlib import Path

from tracked_files import ROOT, tracked_files

SUFFIXES = {".h", ".cc", ".in", ".cmake", ".txt", ".py", ".sh", ".md", ".json", ".bash", ".fish", ".zsh", ""}
CODE = {".h", ".cc", ".in", ".cmake", ".py", ".sh"}
DATA = ("models/", "tests/golden/", "tests/fuzz/corpus/", "tests/data/")
MARKER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def check_text(name, text):
    problems = []
    if text and not text.endswith("\n"):
        problems.append(f"{name}: no line end at the end of the file")
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{name}:{number}"
        if "\r" in line:
            problems.append(f"{where}: carriage return")
        if MARKER.search(line):
            problems.append(f"{where}: marker of unfinished work: {line.strip()}")
        if Path(name).suffix in CODE and "\t" in line:
            problems.append(f"{where}: tab")
        if Path(name).suffix in CODE and line.rstrip("\r") != line.rstrip("\r").rstrip():
            problems.append(f"{where}: blanks at the end of the line")
    return problems


def main(arguments):
    root = Path(arguments[0]) if arguments else ROOT
    problems = []
    files = 0
    for path in tracked_files(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(DATA) or path.suffix not in SUFFIXES or path.name == "LICENSE":
            continue
        files += 1
        try:
            problems += check_text(name, path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            problems.append(f"{name}: not UTF-8")
    print("\n".join(problems + [f"check_text: {files} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
