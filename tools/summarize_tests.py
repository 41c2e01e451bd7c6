#!/usr/bin/env python3
"""Counts what ./dev test ran and prints the closing line.

usage: summarize_tests.py check:NAME=passed|failed|skipped ... ctest:PRESET=BUILD_DIR ...

A CTest entry that left GoogleTest results (BUILD_DIR/results/NAME.xml) counts once for each of its tests; any other
entry counts once. An entry that failed although none of its tests did (a crash, a leak, a time-out) is one failure.
Exit status 1 when anything failed or nothing passed.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

OUTPUT_LINES = 60


@dataclass
class Tally:
    passed: int = 0
    failures: list = field(default_factory=list)  # (name, output)
    skips: list = field(default_factory=list)  # (name, reason)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips


def parse(path):
    try:
        return ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None


def read_googletest(path, where):
    """The tests of one GoogleTest binary, or None when it left no readable results."""
    root = parse(path)
    if root is None:
        return None
    tally = Tally()
    for case in root.iter("testcase"):
        name = f"{where}{case.get('classname')}.{case.get('name')}"
        failures = [f.text or f.get("message") or "" for f in case.iter("failure")]
        skip = case.find("skipped")
        if case.get("status") == "notrun":
            continue
        if failures:
            tally.failures.append((name, "\n".join(failures)))
        elif skip is not None or case.get("result") == "skipped":
            tally.skips.append((name, skip_reason((skip.get("message") or skip.text) if skip is not None else "")))
        else:
            tally.passed += 1
    return tally


def skip_reason(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    lines = [line for line in lines if not re.match(r"^\S+\.(cc|h):\d+$", line)]
    return " ".join(lines) or "no reason given"


def read_ctest(build_dir, preset):
    build_dir = Path(build_dir)
    root = parse(build_dir / "tests.xml")
    tally = Tally()
    if root is None:
        tally.failures.append((f"{preset}: ctest", "left no results"))
        return tally
    for case in root.iter("testcase"):
        name, status = case.get("name"), case.get("status")
        output = case.findtext("system-out") or ""
        inner = read_googletest(build_dir / "results" / f"{name}.xml", f"{preset}: ")
        if inner is not None:
            tally.add(inner)
        if status == "run":
            if inner is None:
                tally.passed += 1
        elif status in ("notrun", "disabled"):
            failed = case.find("skipped") is None
            (tally.failures if failed else tally.skips).append((f"{preset}: {name}", skip_reason(output)))
        elif inner is None or not inner.failures:
            failure = case.find("failure")
            reason = failure.get("message", "") if failure is not None else ""
            tally.failures.append((f"{preset}: {name}", f"{reason}\n{output}".strip()))
    return tally


def print_skips(skips):
    by_reason = defaultdict(list)
    for name, reason in skips:
        by_reason[reason].append(name)
    for reason, names in sorted(by_reason.items()):
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        print(f"-- skipped {len(names)}: {reason}\n     {shown}")


def print_failure(name, output):
    print(f"-- FAILED: {name}")
    lines = output.splitlines()
    if len(lines) > OUTPUT_LINES:
        print(f"     ... {len(lines) - OUTPUT_LINES} lines before")
    for line in lines[-OUTPUT_LINES:]:
        print(f"     {line}")


def main(arguments):
    total = Tally()
    for argument in arguments:
        label, _, value = argument.partition("=")
        kind, _, name = label.partition(":")
        if kind == "ctest":
            tally = read_ctest(value, name)
        elif value == "passed":
            tally = Tally(passed=1)
        elif value == "skipped":
            tally = Tally(skips=[(f"check: {name}", "see above")])
        else:
            tally = Tally(failures=[(f"check: {name}", "see above")])
        if kind == "ctest":
            print(f"== {name}: {tally.passed} passed, {len(tally.failures)} failed, {len(tally.skips)} skipped")
        total.add(tally)
    print_skips(total.skips)
    for name, output in total.failures:
        print_failure(name, output)
    skipped = f", {len(total.skips)} skipped" if total.skips else ""
    print(f"{total.passed} passed, {len(total.failures)} failed{skipped}")
    return 1 if total.failures or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
