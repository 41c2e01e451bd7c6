#!/usr/bin/env python3
"""Writes completions/ for bash, zsh and fish from the table below.

usage: make_completions.py            write the files
       make_completions.py --check    fail when they are out of date
       make_completions.py --compare PROGRAM    fail when PROGRAM's own --help lists other commands or long flags

A flag's value is "" (none), "word", "file", "folder" (a model folder) or a list of choices.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "completions"

FOLDER_FLAG = [("--model", "-m", "folder", "model folder or org/name in the local cache")]
MODEL = FOLDER_FLAG + [("--rope-derived", "", "", "derive the YaRN multiplier")]
DRAFTER = [
    ("--draft-model", "", "folder", "drafter folder or org/name in the local cache"),
    ("--draft-kind", "", ["auto", "dflash", "mlp_speculator", "none"], "kind of drafter"),
    ("--draft-top-k", "", "word", "tokens tried after each stage, as 4,3,2,2"),
    ("--draft-candidates", "", "word", "continuations verified per round"),
]
DRAFT = DRAFTER + [("--draft-tokens", "", "word", "tokens drafted on a path: auto or a number")]
SHAPES = ["xs-2.1-nvfp4", "xs-2.1-bf16", "xs-2.1-int4", "xs-2.1-mlx-4bit", "xs-2.1-mlx-nvfp4", "xs.2-nvfp4", "xs.2-fp8",
          "s-2.1-nvfp4", "s-2.1-nvfp4-0761412", "m.1-nvfp4", "xs-2.1-dflash", "s-2.1-dflash", "granite-3.0-8b",
          "granite-3.0-8b-accelerator"]
LOAD = [
    ("--threads", "", "word", "threads"),
    ("--kv-dtype", "", ["f32", "bf16"], "how keys and values are kept"),
    ("--lock", "", "", "keep the weights in memory"),
    ("--large-pages", "", "", "copy the weights into large pages"),
]
PREFILL = [("--prefill-chunk", "", "word", "prompt tokens per forward")]
MACHINE = LOAD + PREFILL + [
    ("--ctx", "", "word", "context limit"),
    ("--memory-limit", "", "word", "most bytes for keys and values"),
]
SAMPLING = [
    ("--max-tokens", "-n", "word", "most tokens to generate"),
    ("--temp", "", "word", "temperature"),
    ("--top-k", "", "word", "keep the k likeliest tokens"),
    ("--top-p", "", "word", "keep the likeliest tokens of this mass"),
    ("--min-p", "", "word", "drop tokens below this share of the likeliest"),
    ("--repeat-penalty", "", "word", "penalty on tokens already in the text"),
    ("--seed", "", "word", "seed of the sampling noise"),
    ("--stop", "", "word", "stop before this text"),
    ("--ignore-eos", "", "", "stop ids do not stop"),
]
SYSTEM = [("--system", "", "word", "system text")]
TOOLS = [("--tools", "", "file", "JSON array of tools")]
MESSAGES = [("--messages", "", "file", "JSON array of messages")]
THINK = [("--think", "", "", "ask for reasoning"), ("--no-think", "", "", "ask for no reasoning")]
JSON = [("--json", "", "", "print JSON")]
FILES = [("--ledger", "", "file", "write a line per token"), ("--trace", "", "file", "write a line per round")]
SCREEN = [("--color", "", ["auto", "always", "never"], "colour"), ("--quiet", "", "", "no progress and figures")]
TALK = MODEL + DRAFT + SYSTEM + TOOLS + THINK + SAMPLING + MACHINE + SCREEN
# command: (help, what its positional arguments are, flags)
COMMANDS = {
    "generate": ("answer once", "", TALK + MESSAGES + JSON + [
        ("--prompt", "-p", "word", "the user's text"), ("--prompt-file", "", "file", "file with the user's text"),
        ("--prompt-ids", "", "word", "token ids or @FILE"), ("--raw", "", "", "no chat template"),
        *FILES]),
    "chat": ("a conversation at the terminal", "", TALK + MESSAGES + FILES),
    "serve": ("an OpenAI-compatible server", "", MODEL + DRAFT + MACHINE + [
        ("--host", "", "word", "address to listen on"), ("--port", "", "word", "port, 0 = any"),
        ("--api-key", "", "word", "key that requests must carry"), ("--api-key-file", "", "file", "file with the key"),
        ("--served-name", "", "word", "the model's name"), ("--parallel", "", "word", "requests in one batch"),
        ("--queue", "", "word", "requests that may wait"),
        ("--prefix-cache", "", "word", "bytes kept for later requests"), ("--request-timeout", "", "word", "seconds a request may take"),
        ("--cors", "", "word", "origin whose pages may use the server"),
        ("--log-level", "", ["debug", "info", "warn", "error", "off"], "least level of the log"),
        ("--log-prompts", "", "", "prompts and answers in the log")]),
    "logits": ("logits of given ids as a NumPy file", "", MODEL + LOAD + PREFILL + [
        ("--prompt-ids", "", "word", "token ids or @FILE"), ("--out", "", "file", "NumPy file to write")]),
    "tokenize": ("text to token ids and back", "", FOLDER_FLAG + [
        ("--prompt", "-p", "word", "text"), ("--file", "", "file", "file with the text"),
        ("--decode", "", "word", "token ids to turn into text"), ("--add-bos", "", "", "add the beginning token"),
        ("--no-special", "", "", "added tokens are ordinary text")]),
    "template": ("render a conversation", "", FOLDER_FLAG + MESSAGES + TOOLS + THINK + [
        ("--no-generation-prompt", "", "", "end after the last message"), ("--set", "", "word", "NAME=JSON for the template")]),
    "inspect": ("what a model folder holds", "folder", [("--check", "", "", "read every block scale"), *JSON]),
    "list": ("loadable models and drafters", "folder", JSON),
    "verify": ("prove that drafting changes nothing", "", MODEL + DRAFTER + LOAD + [
        ("--quick", "", "", "fewer settings and shorter runs")]),
    "synth": ("random weights in a published shape and format", "", [
        ("--shape", "", SHAPES, "what to make"),
        ("--layers", "", "word", "only the first layers"),
        ("--out", "", "folder", "folder to make"),
        ("--seed", "", "word", "seed of the weights"),
        ("--sparse", "", "", "headers and vectors, matrices as holes")]),
    "bench": ("times against what the machine allows", "", MODEL + [f for f in DRAFT if f[0] != "--draft-tokens"] + MACHINE + JSON + [
        ("--context", "", "word", "tokens read before"), ("--rows", "", "word", "rows of a forward"),
        ("--max-tokens", "-n", "word", "new tokens a prompt"), ("--repeat", "", "word", "repetitions"),
        ("--prompt-file", "", "file", "file with the user's text"), ("--prompt-ids", "", "word", "token ids or @FILE"),
        ("--accept-pattern", "", "word", "draft tokens that hit in each round"),
        ("--ignore-eos", "", "", "stop ids do not stop"), ("--csv", "", "file", "write the points as CSV too")]),
    "info": ("version, processor, instruction sets, memory", "", JSON + [
        ("--measure", "", "", "measure the read bandwidth")]),
}
TOP_FLAGS = [("--help", "-h", "", "show help"), ("--version", "", "", "show version and commit")]
HELP = [("--help", "-h", "", "show help")]


def names(flags):
    return [name for long, short, _, _ in flags for name in (short, long) if name]


def bash():
    lines = ["# bash completion for spindrift", "_spindrift() {", "  local current=$2 previous=$3 command=${COMP_WORDS[1]}",
             "  COMPREPLY=()", "  if ((COMP_CWORD == 1)); then",
             f'    mapfile -t COMPREPLY < <(compgen -W "{" ".join([*COMMANDS, *names(TOP_FLAGS)])}" -- "$current")',
             "    return", "  fi", '  case "$command $previous" in']
    by_values = {}
    for command, (_, _, flags) in COMMANDS.items():
        for long, short, value, _ in flags:
            key = " ".join(value) if isinstance(value, list) else value
            if key:
                by_values.setdefault(key, []).extend(f'"{command} {name}"' for name in (long, short) if name)
    for key, patterns in by_values.items():
        lines.append(f"    {' | '.join(patterns)})")
        action = {"file": "compopt -o default", "word": ":",
                  "folder": 'mapfile -t COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames'}.get(
                      key, f'mapfile -t COMPREPLY < <(compgen -W "{key}" -- "$current")')
        lines += [f"      {action}", "      return", "      ;;"]
    lines += ["  esac", "  if [[ $current != -* ]]; then", "    case $command in"]
    folders = [command for command, (_, positional, _) in COMMANDS.items() if positional == "folder"]
    lines += [f"      {' | '.join(folders)})", '        mapfile -t COMPREPLY < <(compgen -d -- "$current")',
              "        compopt -o filenames", "        ;;", "    esac", "    return", "  fi", "  case $command in"]
    for command, (_, _, flags) in COMMANDS.items():
        lines.append(f'    {command}) mapfile -t COMPREPLY < <(compgen -W "{" ".join(names(flags + HELP))}" -- "$current") ;;')
    lines += ["  esac", "}", "complete -F _spindrift spindrift"]
    return "\n".join(lines) + "\n"


def quoted(text):
    return text.replace("'", "'\\''")


def zsh():
    action = {"word": ": ", "file": ":file:_files", "folder": ":folder:_files -/"}
    lines = ["#compdef spindrift", "# zsh completion for spindrift", "_spindrift() {", "  local -a commands", "  commands=("]
    lines += [f"    '{command}:{quoted(text)}'" for command, (text, _, _) in COMMANDS.items()]
    lines += ["  )", "  if ((CURRENT == 2)); then", "    _describe command commands"]
    lines += ["    _arguments " + " ".join(f"'{name}[{text}]'" for long, short, _, text in TOP_FLAGS
                                            for name in (long, short) if name), "    return", "  fi",
              "  local command=$words[2]", "  shift words", "  ((CURRENT--))", "  case $command in"]
    for command, (_, positional, flags) in COMMANDS.items():
        specs = []
        for long, short, value, text in flags + HELP:
            tail = f":value:({' '.join(value)})" if isinstance(value, list) else action.get(value, "")
            tail = ":value: " if tail == ": " else tail
            repeat = "*" if long == "--stop" else ""
            specs += [f"'{repeat}{name}[{quoted(text)}]{tail}'" for name in (long, short) if name]
        if positional == "folder":
            specs.append("'*:folder:_files -/'")
        lines.append(f"    {command})")
        lines += ["      _arguments \\"] + [f"        {spec} \\" for spec in specs[:-1]] + [f"        {specs[-1]}", "      ;;"]
    lines += ["  esac", "}", '_spindrift "$@"']
    return "\n".join(lines) + "\n"


def fish():
    lines = ["# fish completion for spindrift", "complete -c spindrift -f"]

    def add(condition, flag):
        long, short, value, text = flag
        parts = [f"complete -c spindrift -n '{condition}'"]
        if short:
            parts.append(f"-s {short[1:]}")
        parts.append(f"-l {long[2:]}")
        if isinstance(value, list):
            parts.append(f"-x -a '{' '.join(value)}'")
        elif value == "folder":
            parts.append("-x -a '(__fish_complete_directories)'")
        elif value:
            parts.append("-r -F" if value == "file" else "-x")
        parts.append(f"-d '{quoted(text)}'")
        lines.append(" ".join(parts))

    for flag in TOP_FLAGS:
        add("__fish_use_subcommand", flag)
    for command, (text, _, _) in COMMANDS.items():
        lines.append(f"complete -c spindrift -n '__fish_use_subcommand' -a {command} -d '{quoted(text)}'")
    for command, (_, positional, flags) in COMMANDS.items():
        condition = f"__fish_seen_subcommand_from {command}"
        for flag in flags + HELP:
            add(condition, flag)
        if positional == "folder":
            lines.append(f"complete -c spindrift -n '{condition}' -a '(__fish_complete_directories)'")
    return "\n".join(lines) + "\n"


FILES = {"spindrift.bash": bash, "_spindrift": zsh, "spindrift.fish": fish}


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout


def compare(program):
    """Differences between the table and what the program says of itself."""
    problems = []
    for command, (_, _, flags) in COMMANDS.items():
        try:
            text = help_of(program, command)
        except subprocess.CalledProcessError:
            problems.append(f"{program} has no command {command}")
            continue
        # Option lines only: they start with blanks and a dash. Examples below them show flags of other programs too.
        listed = set(re.findall(r"--[a-z][a-z-]+", "\n".join(
            line.split("  ")[1] if line.startswith("  ") else "" for line in text.splitlines() if re.match(r"^\s+-", line))))
        known = {name for name in names(flags + HELP) if name.startswith("--")}
        problems += [f"{command}: {flag} is not in the completions" for flag in sorted(listed - known)]
        problems += [f"{command}: {flag} is completed but not in --help" for flag in sorted(known - listed)]
    return problems


def main(arguments):
    if arguments[:1] == ["--compare"]:
        problems = compare(arguments[1])
    elif arguments == ["--check"]:
        problems = [f"completions/{name} is out of date: run tools/make_completions.py" for name, make in FILES.items()
                    if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != make()]
    else:
        FOLDER.mkdir(exist_ok=True)
        for name, make in FILES.items():
            (FOLDER / name).write_text(make(), encoding="utf-8")
        problems = []
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
