#!/usr/bin/env python3
"""Writes tests/golden/torch_bin/expected.txt: what is inside the PyTorch files that the reader is tested on.

usage: make_torch_bin_vectors.py SHARED [--check]

SHARED is the folder with the shared models and references. One line for each tensor, ascending: file, name, type,
sizes (`23x8`), CRC-32 of the bytes, first and last element in hexadecimal.

Nothing here comes from the reader under test. The small files are copies of SHARED/reference/mlp_speculator/golden, and
their expected values are those that PyTorch itself wrote beside them as text (NAME.json, `params`). The heads under
SHARED/models are read with Python's own zipfile and pickle modules, restricted to the globals that they name. With
--check nothing is written; the exit code says whether the file is up to date.
"""
import collections
import json
import pickle
import struct
import sys
import zipfile
import zlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "torch_bin"
HEADS = ("gptbigcode-random-accelerator", "granite-tiny-accelerator")
ELEMENT_BYTES = {"F32": 4, "F16": 2, "BF16": 2}


def bits(values, dtype):
    """The bytes of numbers that the type holds exactly."""
    data = struct.pack(f"<{len(values)}f", *values)
    if dtype == "F32":
        return data
    upper = b"".join(data[i + 2 : i + 4] for i in range(0, len(data), 4))
    assert all(data[i : i + 2] == b"\0\0" for i in range(0, len(data), 4)), "not a bfloat16"
    return upper


def small_file(path, golden):
    dtype = "F32" if ".f32." in path.name else "BF16"
    params = json.loads((golden / f"{path.name.split('.')[0]}.json").read_text())["params"]
    return {name: (dtype, tensor["shape"], bits(tensor["values"], dtype)) for name, tensor in params.items()}


class HeadUnpickler(pickle.Unpickler):
    """Rebuilds tensors as (type, sizes, bytes)."""

    def __init__(self, archive, prefix):
        super().__init__(archive.open(f"{prefix}/data.pkl"))
        self.archive, self.prefix = archive, prefix

    def find_class(self, module, name):
        known = {
            "collections.OrderedDict": Attributes,
            "torch._utils._rebuild_tensor_v2": self.tensor,
            "torch.FloatStorage": "F32", "torch.HalfStorage": "F16", "torch.BFloat16Storage": "BF16",
        }
        return known[f"{module}.{name}"]

    def persistent_load(self, pid):
        _, dtype, key, _, count = pid
        data = self.archive.read(f"{self.prefix}/data/{key}")
        assert len(data) == count * ELEMENT_BYTES[dtype]
        return dtype, data

    @staticmethod
    def tensor(storage, offset, size, stride, *_):
        dtype, data = storage
        count = 1
        for extent, step in zip(reversed(size), reversed(stride)):
            assert step == count or extent == 1
            count *= extent
        unit = ELEMENT_BYTES[dtype]
        return dtype, list(size), data[offset * unit : (offset + count) * unit]


class Attributes(collections.OrderedDict):
    """An OrderedDict that takes `_metadata`."""


def head(path):
    with zipfile.ZipFile(path) as archive:
        prefix = next(name for name in archive.namelist() if name.endswith("/data.pkl")).split("/")[0]
        return dict(HeadUnpickler(archive, prefix).load())


def lines(name, tensors):
    for tensor in sorted(tensors):
        dtype, shape, data = tensors[tensor]
        unit = ELEMENT_BYTES[dtype]
        yield (f"{name} {tensor} {dtype} {'x'.join(map(str, shape))} {zlib.crc32(data):08x} "
               f"{data[:unit].hex()} {data[-unit:].hex()}")


def main(arguments):
    check = "--check" in arguments
    folders = [Path(a) for a in arguments if a != "--check"]
    if len(folders) != 1:
        sys.exit(__doc__)
    golden = folders[0] / "reference" / "mlp_speculator" / "golden"
    out = []
    for path in sorted(FOLDER.glob("*.bin")):
        assert path.read_bytes() == (golden / path.name).read_bytes(), f"{path.name} is no copy"
        out += lines(path.name, small_file(path, golden))
    for model in HEADS:
        name = f"models/{model}/pytorch_model.bin"
        out += lines(name, head(folders[0] / name))
    text = "\n".join(out) + "\n"
    target = FOLDER / "expected.txt"
    if not check:
        target.write_text(text)
    return 0 if target.read_text() == text else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
