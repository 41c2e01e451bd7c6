#!/usr/bin/env python3
"""Fails on a link in a Markdown file whose target is not in the repository.

usage: check_docs.py [ROOT]

Relative links must name a file or folder, and an anchor (#section) a heading of the file it points to. Links to the
outside are not followed. Code blocks are not read.
"""
import re
import sys
from pathlib import Path
from urllib.parse import unquote

from tracked_files import ROOT, tracked_files

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:")


def blank(match):
    """Same number of lines, no text, so that line numbers stay right."""
    return "\n" * match.group(0).count("\n")


def anchors(text):
    """The anchors that headings get: lower case, punctuation dropped, blanks to hyphens, repeats numbered."""
    seen = {}
    result = set()
    for heading in HEADING.findall(FENCE.sub(blank, text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        result.add(slug if count == 0 else f"{slug}-{count}")
    return result


def check_document(root, path):
    text = path.read_text(encoding="utf-8")
    body = CODE_SPAN.sub("", FENCE.sub(blank, text))
    problems = []
    for match in LINK.finditer(body):
        link = unquote(match.group(1))
        if OUTSIDE.match(link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        line = body.count("\n", 0, match.start()) + 1
        where = f"{path.relative_to(root).as_posix()}:{line}"
        if not target.is_relative_to(root) or not target.exists():
            problems.append(f"{where}: {link}: no such file")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target.read_text(encoding="utf-8"))):
            problems.append(f"{where}: {link}: no such heading")
    return problems


def main(arguments):
    root = (Path(arguments[0]) if arguments else ROOT).resolve()
    documents = [p for p in tracked_files(root) if p.suffix == ".md"]
    problems = [problem for path in documents for problem in check_document(root, path)]
    print("\n".join(problems + [f"check_docs: {len(documents)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
