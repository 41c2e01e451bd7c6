"""Unusual files that must be read."""
import io
import struct
import zipfile
import zlib
from dataclasses import replace

from torch_bins.archives import Archive, DATA, MAGIC, SYSTEM, VERSION, changed, entries, legacy, old_tensor, zipped
from torch_bins.pickles import (
    APPEND, BUILD, EMPTY_DICT, EMPTY_LIST, FALSE, NONE, ORDERED, PROTO, REDUCE, SETITEM, STOP, TRUE, dictionary,
    global_, long1, number, numbers, root, storage, tensor, text, tuple_,
)


def variants():
    """Yields name, bytes, tensors: (name, type, sizes, bytes)."""
    w = [("w", "F32", (2, 3), DATA)]
    yield "plain", zipped(), w
    yield "folder_name", zipped(folder="a b.é"), w
    yield "no_zip64", Archive(entries(), zip64=False).file(), w
    yield "no_byteorder", zipped(byteorder=None), w
    yield "version_without_line_end", zipped(version=b"10"), w
    dots = [(b".format_version", b"1"), (b".storage_alignment", b"64"), (b".data/serialization_id", b"0" * 40)]
    yield "dot_records", zipped(more=dots), w
    yield "no_descriptors", Archive([replace(e, flags=0) for e in entries()]).file(), w
    yield "unaligned", Archive([replace(e, align=False) for e in entries()]).file(), w
    long_descriptor = struct.pack("<IIQQ", 0x08074B50, zlib.crc32(DATA), 24, 24)
    full = {"size": 2**32 - 1, "packed": 2**32 - 1, "extra": struct.pack("<HHQQ", 1, 16, 24, 24)}
    yield "zip64_sizes", changed(2, **full, descriptor=long_descriptor), w
    local = {"flags": 0x0800, "local_numbers": (zlib.crc32(DATA), 2**32 - 1, 2**32 - 1),
             "local_extra": struct.pack("<HHQQ", 1, 16, 24, 24)}
    yield "zip64_local_sizes", changed(2, **full, **local), w
    yield "zip64_saturated_end", Archive(entries(), end_fields={
        "here": 2**16 - 1, "entries": 2**16 - 1, "bytes": 2**32 - 1, "begin": 2**32 - 1}).file(), w
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for e in entries():
            archive.writestr(zipfile.ZipInfo(e.name.decode()), e.data)
    yield "python_zipfile", packed.getvalue(), w

    metadata = dictionary(text("_metadata"), dictionary(text(""), dictionary(text("version"), number(1)), start=ORDERED))
    yield "metadata", zipped(PROTO + dictionary(text("w"), tensor(), start=ORDERED) + metadata + BUILD + STOP), w
    yield "setitem", zipped(PROTO + EMPTY_DICT + text("w") + tensor() + SETITEM + STOP), w
    parameter = global_("torch._utils", "_rebuild_parameter") + tuple_(tensor(), TRUE, ORDERED) + REDUCE
    yield "parameter", zipped(root(parameter)), w
    for name, more in (("none", NONE), ("empty", EMPTY_DICT)):
        value = tensor(None, number(0), numbers(2, 3), numbers(3, 1), FALSE, ORDERED, more)
        yield f"tensor_metadata_{name}", zipped(root(value)), w
    yield "cuda", zipped(root(tensor(storage(location="cuda:0")))), w
    yield "long_numbers", zipped(root(tensor(storage(count=long1(6, 8)), offset=b"\x8a\x00"))), w
    twice = dictionary(text("v"), tensor() + b"r\0\0\0\0", text("w"), b"j\0\0\0\0")
    yield "long_memo", zipped(PROTO + twice + STOP), [("v", *w[0][1:]), *w]
    for kind, name in (("Half", "F16"), ("BFloat16", "BF16")):
        value = tensor(storage(kind=global_("torch", f"{kind}Storage"), count=number(12)), size=numbers(3, 4), stride=numbers(4, 1))
        yield f"type_{name.lower()}", zipped(root(value)), [("w", name, (3, 4), DATA)]
    rows = dictionary(text("all"), tensor(), text("row"), tensor(offset=number(3), size=numbers(3), stride=numbers(1)),
                      text("same"), tensor())
    yield "shared", zipped(PROTO + rows + STOP), [
        ("all", "F32", (2, 3), DATA), ("row", "F32", (3,), DATA[12:]), ("same", "F32", (2, 3), DATA)]
    ones = tensor(size=numbers(1, 2, 1, 3), stride=numbers(99, 3, 0, 1))
    yield "strides_of_ones", zipped(root(ones)), [("w", "F32", (1, 2, 1, 3), DATA)]
    yield "scalar", zipped(root(tensor(offset=number(5), size=numbers(), stride=numbers()))), [("w", "F32", (), DATA[20:])]
    yield "no_elements", zipped(root(tensor(offset=number(6), size=numbers(0, 4), stride=numbers(9, 9)))), [("w", "F32", (0, 4), b"")]
    nothing = tensor(storage(count=number(0)), size=numbers(0), stride=numbers(1))
    yield "empty_storage", zipped(root(nothing), data=b""), [("w", "F32", (0,), b"")]
    yield "no_tensors", zipped(PROTO + EMPTY_DICT + STOP, data=None), []

    yield "legacy", legacy(), w
    yield "legacy_five_items", legacy(tensor(storage("77"))), w
    view = tuple_(text("78"), number(2), number(4))
    part = old_tensor(view, offset=number(1), size=numbers(3), stride=numbers(1))
    yield "legacy_view", legacy(part), [("w", "F32", (3,), DATA[12:])]
    one_key = PROTO + EMPTY_LIST + text("77") + APPEND + STOP
    yield "legacy_append", MAGIC + VERSION + SYSTEM + root(old_tensor()) + one_key + struct.pack("<q", 6) + DATA, w
