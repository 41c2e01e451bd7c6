#!/usr/bin/env python3
"""Writes small PyTorch files, good and hostile, byte by byte.

usage: make_torch_bins.py [--check]

tests/golden/torch_bin/hostile/ gets files that must be refused, each for one reason, and expected.txt with one line for
each: file, error code, a part of the message. tests/golden/torch_bin/variants/ gets unusual files that must be read, and
expected.txt in the form that tools/make_torch_bin_vectors.py describes. With --check nothing is written; the exit code
says whether the files are up to date. Needs nothing but Python.
"""
import itertools
import sys
import zlib
from pathlib import Path

from torch_bins import hostile_files, hostile_pickles, variants

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "torch_bin"


def vector_lines(name, tensors):
    for tensor_name, dtype, shape, data in tensors:
        unit = 4 if dtype == "F32" else 2
        yield (f"{name} {tensor_name} {dtype} {'x'.join(map(str, shape)) or '-'} {zlib.crc32(data):08x} "
               f"{data[:unit].hex() or '-'} {data[-unit:].hex() or '-'}")


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    files = {}
    lines = []
    for name, content, code, message in itertools.chain(hostile_pickles.hostile(), hostile_files.hostile()):
        assert f"hostile/{name}.bin" not in files, name
        files[f"hostile/{name}.bin"] = content
        lines.append(f"{name}.bin {code} {message}\n")
    files["hostile/expected.txt"] = "".join(lines).encode()
    lines = []
    for name, content, tensors in variants.variants():
        assert f"variants/{name}.bin" not in files, name
        files[f"variants/{name}.bin"] = content
        lines += [line + "\n" for line in vector_lines(f"{name}.bin", tensors)] or [f"{name}.bin\n"]
    files["variants/expected.txt"] = "".join(lines).encode()

    present = {p.relative_to(FOLDER).as_posix() for kind in ("hostile", "variants") for p in (FOLDER / kind).glob("*")}
    stale = sorted(n for n in files.keys() | present
                   if n not in present or n not in files or (FOLDER / n).read_bytes() != files[n])
    if arguments:
        print("\n".join(stale + [f"make_torch_bins: {len(files)} files, {len(stale)} out of date"]))
        return 1 if stale else 0
    for name in stale:
        if name in files:
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_bytes(files[name])
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
