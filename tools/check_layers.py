#!/usr/bin/env python3
"""Fails on an #include that the table below does not allow.

usage: check_layers.py [ROOT]

Folders of src/ may include the headers named here and nothing else, so that models never see drafters, the engine never
sees a concrete model or drafter, and a third-party library stays inside the few files that need it. It also checks how
project headers are spelled ("folder/file.h"), that the header exists, that headers start with #pragma once and that a
.cc file includes its own header first.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Folder:
    """What one folder of src/ may include. An entry of `own` is a folder or one header of it."""

    own: tuple = ()
    third_party: tuple = ()  # in headers and .cc files
    third_party_cc: tuple = ()  # in .cc files only
    third_party_files: tuple = ()  # (file, library) pairs: nowhere else in the folder


TABLE = {
    "core": Folder(third_party_files=(("core/log.h", "spdlog"), ("core/log.cc", "spdlog"), ("core/log.cc", "fmt"))),
    "io": Folder(own=("core",), third_party_cc=("nlohmann", "simdjson")),
    "kernels": Folder(own=("core",), third_party=("hwy",)),
    "tokenizer": Folder(
        own=("core", "io/json_config.h"), third_party_cc=("oniguruma", "utf8proc", "nlohmann", "simdjson")),
    "chat": Folder(own=("core", "io/json_config.h"), third_party_cc=("nlohmann", "utf8proc")),
    "nn": Folder(own=("core", "io/json_config.h", "io/weight_store.h", "kernels")),
    "models": Folder(own=("core", "io", "nn", "kernels")),
    "drafters": Folder(own=("core", "io", "nn", "kernels", "models/target_model.h")),
    "engine": Folder(
        own=("core", "models/target_model.h", "drafters/drafter.h", "tokenizer", "chat"), third_party_cc=("xxhash",)),
    "app": Folder(
        own=("core", "io", "kernels", "tokenizer", "chat", "nn", "models", "drafters", "engine"),
        third_party_cc=("fmt", "nlohmann")),
    "synth": Folder(own=("core", "io/crc32.h", "io/file.h"), third_party_cc=("nlohmann",)),
    "bench": Folder(
        own=("core", "io", "kernels", "models/target_model.h", "drafters/drafter.h", "drafters/scripted.h", "engine", "app"),
        third_party_cc=("fmt", "nlohmann")),
    "server": Folder(
        own=("core", "io/json_config.h", "engine", "app", "chat", "tokenizer"),
        third_party_cc=("httplib", "nlohmann", "prometheus"),
        third_party_files=(("server/connection.h", "httplib"), ("server/connection_threads.h", "httplib"))),
    "cli": Folder(
        own=("core", "kernels/registry.h", "engine", "app", "bench", "chat", "tokenizer", "server", "synth"),
        third_party_cc=("cli11", "fmt", "libedit", "nlohmann")),
}

# How an angle-bracket include names its library; what matches none is the standard library, POSIX, or unknown.
LIBRARIES = (
    ("hwy", r"hwy/.*"), ("nlohmann", r"nlohmann/.*"), ("simdjson", r"simdjson\.h"), ("cli11", r"CLI/.*"),
    ("fmt", r"fmt/.*"), ("spdlog", r"spdlog/.*"), ("oniguruma", r"onig\w*\.h"), ("utf8proc", r"utf8proc\.h"),
    ("xxhash", r"xxh(ash|3)\.h"), ("libedit", r"histedit\.h|editline/.*"),
    ("httplib", r"httplib\.h"),
    ("prometheus", r"prometheus/.*"),
)
SYSTEM = re.compile(
    r"(?:sys|linux|arpa|netinet)/[\w./]+\.h|"
    r"(?:cpuid|dirent|errno|fcntl|immintrin|malloc|netdb|poll|pthread|pwd|sched|signal|spawn|termios|unistd)\.h|[a-z_0-9]+")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(\w+))', re.MULTILINE)
INCLUDE_LINE = re.compile(r"^\s*#\s*include\b", re.MULTILINE)


def allowed_own(folder, rule, header):
    return header.split("/")[0] == folder or any(header == entry or header.startswith(entry + "/") for entry in rule.own)


def library_of(header):
    return next((name for name, pattern in LIBRARIES if re.fullmatch(pattern, header)), None)


def third_party_problem(name, rule, library):
    if library in rule.third_party or (name, library) in rule.third_party_files:
        return None
    if library in rule.third_party_cc:
        return None if name.endswith(".cc") else f"{library} may be included in .cc files only"
    return f"{library} is not allowed here"


def check_include(source_root, name, rule, angled, quoted, macro):
    """What is wrong with one include of the file `name` (relative to src/), or None."""
    folder = name.split("/")[0]
    if macro:
        # Highway re-includes a file through HWY_TARGET_INCLUDE; the definition beside it names the file itself.
        return None if macro == "HWY_TARGET_INCLUDE" else f"include through the macro {macro}"
    if quoted and library_of(quoted):
        angled, quoted = quoted, None
    if quoted:
        if quoted.startswith("spindrift/"):
            return None if folder in ("app", "cli") else "the public header is for src/app and for users"
        if "/" not in quoted or ".." in quoted:
            return f'"{quoted}": spell it "folder/file.h", from src/'
        if not (source_root / quoted).is_file():
            return f'"{quoted}": there is no such header under src/'
        if quoted.endswith(".cc"):
            return f'"{quoted}": a .cc file is never included'
        return None if allowed_own(folder, rule, quoted) else f'"{quoted}": src/{folder} may not include it'
    library = library_of(angled)
    if library:
        problem = third_party_problem(name, rule, library)
        return problem and f"<{angled}>: {problem}"
    return None if SYSTEM.fullmatch(angled) else f"<{angled}>: not a known library; add it to tools/check_layers.py"


def own_header_problem(source_root, path, includes):
    """A .cc file with a header of the same name must include it first."""
    header = path.with_suffix(".h")
    if path.suffix != ".cc" or not header.is_file():
        return None
    expected = header.relative_to(source_root).as_posix()
    quoted = [q for _, q, _ in includes if q]
    if expected not in quoted:
        return f'does not include its own header "{expected}"'
    first = next((a or q for a, q, _ in includes), None)
    return None if first == expected else f'must include its own header "{expected}" first, not {first}'


def check_file(source_root, path):
    name = path.relative_to(source_root).as_posix()
    folder = name.split("/")[0]
    if folder not in TABLE:
        return [f"{name}: src/{folder} is not in the table of tools/check_layers.py"]
    text = path.read_text(encoding="utf-8")
    includes = [match.groups() for match in INCLUDE.finditer(text)]
    problems = []
    if len(includes) != len(INCLUDE_LINE.findall(text)):
        problems.append(f"{name}: an #include that cannot be read")
    for match in INCLUDE.finditer(text):
        problem = check_include(source_root, name, TABLE[folder], *match.groups())
        if problem:
            line = text.count("\n", 0, match.start(0) + len(match.group(0)) - len(match.group(0).lstrip())) + 1
            problems.append(f"{name}:{line}: {problem}")
    reincluded = "HWY_TARGET_INCLUDE" in text  # such a file includes foreach_target.h in an order of its own
    problem = None if reincluded else own_header_problem(source_root, path, includes)
    if problem:
        problems.append(f"{name}: {problem}")
    if path.suffix == ".h" and not name.endswith("-inl.h") and "#pragma once" not in text:
        problems.append(f"{name}: a header starts with #pragma once")
    return problems


def check_tree(root):
    source_root = Path(root) / "src"
    files = sorted(p for p in source_root.rglob("*") if p.suffix in (".h", ".cc") and p.is_file())
    return [problem for path in files for problem in check_file(source_root, path)], len(files)


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems, files = check_tree(root)
    for problem in problems:
        print(f"src/{problem}")
    if not files:
        print(f"{root}/src has no source files")
    print(f"check_layers: {files} files, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
