#!/usr/bin/env python3
"""Writes small PyTorch files, good and hostile, byte by byte.

usage: make_torch_bins.py [--check]

tests/golden/torch_bin/hostile/ gets files that must be refused, each for one reason, and expected.txt with one line for
each: file, error code, a part of the message. tests/golden/torch_bin/variants/ gets unusual files that must be read, and
expected.txt in the form that tools/make_torch_bin_vectors.py describes. With --check nothing is written; the exit code
says whether the files are up to date. Needs nothing but Python.
"""
import io
import struct
import sys
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Optional

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "torch_bin"

# --- pickles, opcode by opcode ------------------------------------------------------------------------------------

PROTO, STOP, MARK, NONE, TRUE, FALSE = b"\x80\x02", b".", b"(", b"N", b"\x88", b"\x89"
TUPLE, TUPLE1, EMPTY_TUPLE, REDUCE, PERSID = b"t", b"\x85", b")", b"R", b"Q"
EMPTY_DICT, SETITEM, SETITEMS, BUILD = b"}", b"s", b"u", b"b"
EMPTY_LIST, APPEND, APPENDS = b"]", b"a", b"e"


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return long1(value)


def long1(value, length=None):
    length = length or value.bit_length() // 8 + 1
    return b"\x8a" + bytes([length]) + value.to_bytes(length, "little", signed=True)


def put(slot):
    return b"q" + bytes([slot])


def get(slot):
    return b"h" + bytes([slot])


def global_(module, name):
    return f"c{module}\n{name}\n".encode()


def tuple_(*items):
    return MARK + b"".join(items) + TUPLE if items else EMPTY_TUPLE


def numbers(*values):
    return tuple_(*map(number, values))


ORDERED = global_("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
FLOAT = global_("torch", "FloatStorage")


def storage(key="0", kind=FLOAT, count=number(6), location="cpu", *more):
    return tuple_(text("storage"), kind, text(key), text(location), count, *more) + PERSID


def tensor(where=None, offset=number(0), size=numbers(2, 3), stride=numbers(3, 1), grad=FALSE, hooks=ORDERED, *more):
    where = storage() if where is None else where
    return global_("torch._utils", "_rebuild_tensor_v2") + tuple_(where, offset, size, stride, grad, hooks, *more) + REDUCE


def dictionary(*pairs, start=EMPTY_DICT):
    return start + MARK + b"".join(pairs) + SETITEMS


def root(value=None):
    """The pickle of {"w": value}."""
    return PROTO + dictionary(text("w"), tensor() if value is None else value) + STOP


# --- zip files, field by field ------------------------------------------------------------------------------------


@dataclass
class Entry:
    """One entry. What is None follows from the rest, so that a field can be set wrong on its own."""

    name: bytes
    data: bytes
    flags: int = 0x0808
    method: int = 0
    crc: Optional[int] = None  # everywhere
    size: Optional[int] = None  # in the directory
    packed: Optional[int] = None
    offset: Optional[int] = None
    extra: bytes = b""  # in the directory
    comment: bytes = b""
    disk: int = 0
    local_name: Optional[bytes] = None
    local_flags: Optional[int] = None
    local_method: Optional[int] = None
    local_numbers: Optional[tuple] = None  # crc, packed, size
    local_extra: Optional[bytes] = None
    descriptor: Optional[bytes] = None
    before: bytes = b""  # in front of the local header
    align: bool = True


@dataclass
class Archive:
    entries: list
    zip64: bool = True
    start: bytes = b""
    between: bytes = b""  # entries and directory
    end: bytes = b""  # behind the end record
    comment: bytes = b""
    end_fields: dict = field(default_factory=dict)  # of the end record
    end64_fields: dict = field(default_factory=dict)
    locator_fields: dict = field(default_factory=dict)

    def file(self):
        out, directory = bytearray(self.start), bytearray()
        for e in self.entries:
            out += e.before
            crc = zlib.crc32(e.data) if e.crc is None else e.crc
            place = len(out)
            later = e.flags & 8
            local_numbers = e.local_numbers
            if local_numbers is None:
                local_numbers = (0, 0, 0) if later else (crc, len(e.data), len(e.data))
            name = e.name if e.local_name is None else e.local_name
            extra = e.local_extra
            if extra is None:  # what PyTorch does to start the data at a multiple of 64
                pad = -(place + 30 + len(name) + 4) % 64 if e.align else 0
                extra = b"FB" + struct.pack("<H", pad) + b"Z" * pad if e.align else b""
            out += struct.pack(
                "<IHHHHHIIIHH", 0x04034B50, 0, e.flags if e.local_flags is None else e.local_flags,
                e.method if e.local_method is None else e.local_method, 0, 0, *local_numbers, len(name), len(extra))
            out += name + extra + e.data
            if e.descriptor is not None:
                out += e.descriptor
            elif later:
                out += struct.pack("<IIII", 0x08074B50, crc, len(e.data), len(e.data))
            directory += struct.pack(
                "<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, e.flags, e.method, 0, 0, crc,
                len(e.data) if e.packed is None else e.packed, len(e.data) if e.size is None else e.size,
                len(e.name), len(e.extra), len(e.comment), e.disk, 0, 0, place if e.offset is None else e.offset)
            directory += e.name + e.extra + e.comment
        out += self.between
        begin = len(out)
        out += directory
        count, end = len(self.entries), len(out)
        if self.zip64:
            values = {"size": 44, "disk": 0, "first_disk": 0, "here": count, "entries": count,
                      "bytes": len(directory), "begin": begin, **self.end64_fields}
            out += struct.pack("<IQHHIIQQQQ", 0x06064B50, values["size"], 0x031E, 0x2D, values["disk"],
                               values["first_disk"], values["here"], values["entries"], values["bytes"], values["begin"])
            values = {"disk": 0, "place": end, "disks": 1, **self.locator_fields}
            out += struct.pack("<IIQI", 0x07064B50, values["disk"], values["place"], values["disks"])
        values = {"disk": 0, "first_disk": 0, "here": count, "entries": count, "bytes": len(directory), "begin": begin,
                  "comment": len(self.comment), **self.end_fields}
        out += struct.pack("<IHHHHIIH", 0x06054B50, values["disk"], values["first_disk"], values["here"],
                           values["entries"], values["bytes"], values["begin"], values["comment"])
        return bytes(out) + self.comment + self.end


DATA = struct.pack("<6f", 1, -2, 0.5, 3, 0, -0.15625)


def entries(pickle=None, folder="archive", data=DATA, byteorder=b"little", version=b"3\n", more=()):
    prefix = folder.encode() + b"/"
    out = [Entry(prefix + b"data.pkl", root() if pickle is None else pickle)]
    if byteorder is not None:
        out.append(Entry(prefix + b"byteorder", byteorder))
    if data is not None:
        out.append(Entry(prefix + b"data/0", data))
    out += [Entry(prefix + name, content) for name, content in more]
    if version is not None:
        out.append(Entry(prefix + b"version", version))
    return out


def zipped(*arguments, **named):
    return Archive(entries(*arguments, **named)).file()


def changed(index, archive=None, **fields):
    """The usual archive with some fields of one entry replaced: 0 data.pkl, 1 byteorder, 2 data/0, 3 version."""
    archive = archive or Archive(entries())
    archive.entries[index] = replace(archive.entries[index], **fields)
    return archive.file()


# --- the legacy form ----------------------------------------------------------------------------------------------

MAGIC = PROTO + long1(0x1950A86A20F9469CFC6C) + STOP
VERSION = PROTO + number(1001) + STOP
SYSTEM = PROTO + dictionary(text("protocol_version"), number(1001), text("little_endian"), TRUE) + STOP


def old_tensor(*view, **named):
    return tensor(storage("77", FLOAT, number(6), "cpu", *(view or (NONE,))), **named)


def legacy(value=None, magic=MAGIC, version=VERSION, system=SYSTEM, keys=("77",), count=6, data=DATA, end=b"", object_=None):
    listed = PROTO + EMPTY_LIST + MARK + b"".join(map(text, keys)) + APPENDS + STOP
    object_ = root(old_tensor() if value is None else value) if object_ is None else object_
    return magic + version + system + object_ + listed + struct.pack("<q", count) + data + end


# --- hostile files ------------------------------------------------------------------------------------------------


def hostile():
    """Yields name, bytes, error code, part of the message."""
    yield from hostile_opcodes()
    yield from hostile_objects()
    yield from hostile_numbers()
    yield from hostile_roots()
    yield from hostile_records()
    yield from hostile_zip_entries()
    yield from hostile_zip_ends()
    yield from hostile_legacy()
    yield from hostile_forms()


def hostile_opcodes():
    def call(module, name, argument):
        return zipped(root(global_(module, name) + text(argument) + TUPLE1 + REDUCE))

    yield "global_os_system", call("os", "system", "touch owned"), "unsupported", "found `os.system`"
    yield "global_builtins_eval", call("builtins", "eval", "1"), "unsupported", "found `builtins.eval`"
    yield "global_getattr", call("__builtin__", "getattr", "x"), "unsupported", "found `__builtin__.getattr`"
    yield "global_torch_load", call("torch", "load", "x"), "unsupported", "found `torch.load`"
    yield "global_numpy", call("numpy.core.multiarray", "_reconstruct", "x"), "unsupported", "multiarray._reconstruct`"
    yield "global_rebuild_v1", call("torch._utils", "_rebuild_tensor", "x"), "unsupported", "`torch._utils._rebuild_tensor`"
    yield "global_dotted_name", call("collections", "OrderedDict.__class__", "x"), "unsupported", "OrderedDict.__class__`"
    yield "global_control_characters", call("os\x1b[2J", "system", "x"), "unsupported", "`os\\x1b[2J.system`"
    yield "global_long_name", zipped(PROTO + b"c" + b"a" * 300 + b"\nb\n" + STOP), "limit", "name of at most 256 bytes"
    yield "global_without_line_end", zipped(PROTO + b"ccollections"), "corrupt", "more bytes of the pickle"
    for kind in ("Double", "Long", "Int", "Byte", "Bool", "ComplexFloat", "QUInt8"):
        value = tensor(storage(kind=global_("torch", f"{kind}Storage")))
        yield f"storage_{kind.lower()}", zipped(root(value)), "unsupported", f"found `torch.{kind}Storage`"
    value = tensor(storage(kind=global_("torch.storage", "UntypedStorage")))
    yield "storage_untyped", zipped(root(value)), "unsupported", "`torch.storage.UntypedStorage`"

    refused = {
        "stack_global": text("os") + text("system") + b"\x93", "inst": b"(ios\nsystem\n", "obj": MARK + ORDERED + b"o",
        "newobj": ORDERED + EMPTY_TUPLE + b"\x81", "newobj_ex": ORDERED + EMPTY_TUPLE + EMPTY_DICT + b"\x92",
        "ext1": b"\x82\x01", "ext2": b"\x83\x01\x00", "ext4": b"\x84\x01\x00\x00\x00", "memoize": NONE + b"\x94",
        "frame": b"\x95" + bytes(8), "persid": b"P0\n", "pop": NONE + b"0", "dup": NONE + b"2", "pop_mark": MARK + b"1",
        "int": b"I1\n", "long": b"L1L\n", "long4": b"\x8b\x01\x00\x00\x00\x01", "float": b"F1\n",
        "binfloat": b"G" + bytes(8), "string": b"S'a'\n", "binbytes": b"B\x01\x00\x00\x00a",
        "short_binunicode": b"\x8c\x01a", "get": b"g0\n", "dict": MARK + b"d", "list": MARK + b"l",
        "empty_list": EMPTY_LIST, "frozenset": MARK + b"\x91", "bytearray8": b"\x96" + bytes(8),
    }
    for name, code in refused.items():
        yield f"opcode_{name}", zipped(PROTO + code + STOP), "unsupported", f"opcode {name.upper()} (0x"
    yield "opcode_unknown", zipped(PROTO + b"\xff" + STOP), "unsupported", "byte 2, opcode 0xff:"
    yield "opcode_zero", zipped(PROTO + b"\0" * 40 + STOP), "unsupported", "opcode 0x00"
    yield "proto_second", zipped(PROTO + PROTO + EMPTY_DICT + STOP), "invalid", "PROTO at the start only"
    yield "proto_missing", zipped(EMPTY_DICT + STOP), "invalid", "starts with PROTO"
    yield "proto_4", zipped(b"\x80\x04" + EMPTY_DICT + STOP), "unsupported", "expected protocol 2, found 4"
    yield "proto_0", zipped(b"\x80\x00" + EMPTY_DICT + STOP), "unsupported", "expected protocol 2, found 0"
    yield "after_stop", zipped(root() + b"\0"), "invalid", "behind STOP"
    yield "concatenated_pickles", zipped(root() + root(global_("os", "system"))), "invalid", "behind STOP"
    yield "stop_missing", zipped(root()[:-1]), "corrupt", "more bytes of the pickle, found 0"
    yield "pickle_empty", zipped(b""), "corrupt", "more bytes of the pickle, found 0"
    yield "stop_on_empty_stack", zipped(PROTO + STOP), "invalid", "one value on the stack at the end, found 0"
    yield "stop_on_two_values", zipped(PROTO + EMPTY_DICT + EMPTY_DICT + STOP), "invalid", "at the end, found 2"
    yield "stop_inside_mark", zipped(PROTO + EMPTY_DICT + MARK + STOP), "invalid", "no open mark at the end"
    yield "text_cut", zipped(PROTO + b"X\xff\xff\xff\xffabc" + STOP), "corrupt", "expected 4294967295 more bytes"
    yield "text_not_utf8", zipped(PROTO + dictionary(text(b"w\xff"), tensor()) + STOP), "invalid", "UTF-8 text"
    yield "text_surrogate", zipped(PROTO + dictionary(text(b"\xed\xa0\x80"), tensor()) + STOP), "invalid", "UTF-8 text"


def hostile_objects():
    def value(code):
        return zipped(root(code))

    yield "memo_overwritten", value(NONE + put(0) + tensor() + put(0)), "invalid", "next memo slot, 1, found 0"
    yield "memo_gap", value(tensor() + put(5)), "invalid", "next memo slot, 0, found 5"
    yield "memo_huge", value(tensor() + b"r\xff\xff\xff\xff"), "invalid", "found 4294967295"
    yield "memo_unknown", value(get(0)), "invalid", "memo slot below 0, found 0"
    yield "memo_of_nothing", zipped(PROTO + put(0) + STOP), "invalid", "1 values on the stack"
    yield "memo_of_itself", zipped(PROTO + EMPTY_DICT + put(0) + text("w") + get(0) + SETITEM + STOP, data=None), "unsupported", "found a dictionary"
    yield "stack_growth", value(NONE * 70000), "limit", "a stack of at most 65536"
    yield "deep_marks", value(MARK * 100), "limit", "at most 64 open marks"
    yield "deep_tuples", value(EMPTY_TUPLE + TUPLE1 * 100), "limit", "tuples at most 8 deep"
    yield "stack_underflow", value(b"\x87"), "invalid", "values on the stack above the last mark"
    yield "stack_below_mark", zipped(PROTO + EMPTY_DICT + text("w") + MARK + SETITEM + STOP), "invalid", "above the last mark"
    yield "tuple_without_mark", zipped(PROTO + NONE + TUPLE + STOP), "invalid", "an open mark, found none"

    attributes = dictionary(text("_metadata"), ORDERED)
    yield "build_on_tensor", value(tensor() + EMPTY_DICT + BUILD), "invalid", "the root OrderedDict"
    yield "build_on_hooks", value(tensor(hooks=ORDERED + attributes + BUILD)), "invalid", "the root OrderedDict"
    yield "build_on_plain_dict", zipped(PROTO + EMPTY_DICT + attributes + BUILD + STOP), "invalid", "the root OrderedDict"
    yield "build_twice", zipped(PROTO + ORDERED + (attributes + BUILD) * 2 + STOP), "invalid", "them twice"
    yield "build_with_tensor", zipped(PROTO + ORDERED + tensor() + BUILD + STOP), "invalid", "a dictionary of attributes"
    yield "setitem_on_tuple", zipped(PROTO + EMPTY_TUPLE + text("w") + NONE + SETITEM + STOP), "invalid", "found a tuple of 0"
    yield "setitems_on_storage", zipped(PROTO + dictionary(text("w"), NONE, start=storage()) + STOP), "invalid", "found a storage"
    yield "setitems_odd", zipped(PROTO + EMPTY_DICT + MARK + text("w") + SETITEMS + STOP), "invalid", "an odd number"
    yield "key_is_number", zipped(PROTO + dictionary(number(1), tensor()) + STOP), "invalid", "found the integer 1"
    yield "key_is_tuple", zipped(PROTO + dictionary(EMPTY_TUPLE, tensor()) + STOP), "invalid", "found a tuple of 0"

    yield "reduce_of_number", value(number(1) + EMPTY_TUPLE + REDUCE), "invalid", "a global below the arguments"
    yield "reduce_of_storage_type", value(FLOAT + EMPTY_TUPLE + REDUCE), "invalid", "found the global `torch.FloatStorage`"
    yield "reduce_without_tuple", value(global_("collections", "OrderedDict") + NONE + REDUCE), "invalid", "a tuple of arguments"
    yield "ordered_dict_of_items", value(global_("collections", "OrderedDict") + tuple_(NONE) + REDUCE), "invalid", "without arguments"
    yield "tensor_of_five", value(global_("torch._utils", "_rebuild_tensor_v2") + numbers(1, 2, 3, 4, 5) + REDUCE), "invalid", "found a tuple of 5"
    yield "tensor_without_storage", value(tensor(NONE)), "invalid", "with a storage, found None"
    yield "tensor_size_of_texts", value(tensor(size=tuple_(text("2"), text("3")))), "invalid", "with a size of integers"
    yield "tensor_size_is_number", value(tensor(size=number(6))), "invalid", "with a size of integers"
    yield "tensor_stride_of_none", value(tensor(stride=tuple_(NONE, NONE))), "invalid", "with a stride of integers"
    yield "tensor_grad_is_number", value(tensor(grad=number(1))), "invalid", "with a bool"
    yield "tensor_hooks", value(tensor(hooks=dictionary(text("h"), NONE, start=ORDERED))), "invalid", "without hooks"
    yield "tensor_negative_bit", value(tensor(None, number(0), numbers(2, 3), numbers(3, 1), FALSE, ORDERED, dictionary(text("neg"), TRUE))), "invalid", "without metadata"
    yield "parameter_of_none", value(global_("torch._utils", "_rebuild_parameter") + tuple_(NONE, TRUE, ORDERED) + REDUCE), "invalid", "_rebuild_parameter(tensor"

    yield "id_is_text", value(tensor(text("0") + PERSID)), "invalid", "found the text `0`"
    yield "id_of_four", value(tensor(tuple_(text("storage"), FLOAT, text("0"), text("cpu")) + PERSID)), "invalid", "found a tuple of 4"
    yield "id_with_view", value(tensor(storage("0", FLOAT, number(6), "cpu", NONE))), "invalid", "found a tuple of 6"
    yield "id_of_module", value(tensor(tuple_(text("module"), FLOAT, text("0"), text("cpu"), number(6)) + PERSID)), "invalid", "found the text `module`"
    yield "id_type_is_text", value(tensor(storage(kind=text("FloatStorage")))), "invalid", "with a storage type"
    yield "id_type_is_function", value(tensor(storage(kind=global_("collections", "OrderedDict")))), "invalid", "found the global `collections.OrderedDict`"
    yield "id_key_is_number", value(tensor(tuple_(text("storage"), FLOAT, number(0), text("cpu"), number(6)) + PERSID)), "invalid", "with a text as key"
    yield "id_location_is_none", value(tensor(tuple_(text("storage"), FLOAT, text("0"), NONE, number(6)) + PERSID)), "invalid", "with a text as location"
    yield "id_count_negative", value(tensor(storage(count=number(-6)))), "invalid", "a count that is not negative"
    other = PROTO + dictionary(text("a"), tensor(), text("b"), tensor(storage(kind=global_("torch", "HalfStorage")))) + STOP
    yield "id_two_types", zipped(other), "corrupt", "storage `0` as before"
    for name, key in (("parent", "../0"), ("zeros", "00"), ("missing", "1"), ("empty", ""), ("absolute", "/etc/passwd")):
        yield f"storage_key_{name}", value(tensor(storage(key))), "corrupt", "expected a record data/N"


def hostile_numbers():
    def value(**named):
        return zipped(root(tensor(**named)))

    yield "count_too_large", value(where=storage(count=number(7))), "corrupt", "7 elements of F32, found 24 bytes"
    yield "count_too_small", value(where=storage(count=number(5))), "corrupt", "5 elements of F32, found 24 bytes"
    yield "count_overflows", value(where=storage(count=number(2**62 + 6))), "corrupt", "elements of F32, found 24 bytes"
    yield "count_of_other_type", value(where=storage(kind=global_("torch", "HalfStorage"))), "corrupt", "6 elements of F16"
    yield "long1_negative", value(offset=long1(-1)), "invalid", "an integer that is not negative"
    yield "long1_negative_8_bytes", value(offset=long1(-1, 8)), "invalid", "an integer that is not negative"
    yield "long1_9_bytes", value(offset=long1(1, 9)), "limit", "an integer of at most 8 bytes, found 9"
    yield "long1_255_bytes", value(offset=b"\x8a\xff" + bytes(255)), "limit", "found 255"
    yield "size_negative", value(size=numbers(-2, 3)), "invalid", "sizes that are not negative, found -2"
    yield "size_too_large", value(size=numbers(3, 3)), "corrupt", "inside its storage of 6 elements"
    yield "size_overflows", value(size=numbers(2**62, 4), stride=numbers(4, 1)), "corrupt", "inside its storage"
    yield "size_overflows_empty", value(size=numbers(2**62, 2**62, 0), stride=numbers(1, 1, 1)), "corrupt", "inside its storage"
    yield "size_rank", value(size=numbers(*[1] * 17), stride=numbers(*[1] * 17)), "limit", "at most 16 sizes"
    yield "stride_count", value(stride=numbers(1)), "invalid", "as many strides as sizes"
    yield "stride_negative", value(stride=numbers(-3, 1)), "invalid", "strides that are not negative"
    yield "stride_too_large", value(stride=numbers(4, 1)), "corrupt", "inside its storage of 6"
    yield "stride_overflows", value(stride=numbers(2**62, 2**62)), "corrupt", "inside its storage of 6"
    yield "stride_transposed", value(stride=numbers(1, 2)), "unsupported", "a contiguous tensor"
    yield "stride_zero", value(stride=numbers(0, 1)), "unsupported", "a contiguous tensor"
    yield "offset_negative", value(offset=number(-1)), "invalid", "an offset that is not negative"
    yield "offset_too_large", value(offset=number(1)), "corrupt", "offset 1"
    yield "offset_overflows", value(offset=number(2**63 - 1)), "corrupt", "offset 9223372036854775807"
    yield "offset_behind_empty", value(offset=number(7), size=numbers(0), stride=numbers(1)), "corrupt", "offset 7"


def hostile_roots():
    def whole(code, data=DATA):
        return zipped(PROTO + code + STOP, data=data)

    nested = dictionary(text("model_state"), dictionary(text("w"), tensor()))
    yield "root_nested", whole(nested), "unsupported", "tensor `model_state`: expected a tensor in a flat dictionary, found a dictionary"
    yield "root_tensor", whole(tensor()), "unsupported", "a flat dictionary of tensors, found a tensor"
    yield "root_tuple", whole(tuple_(tensor())), "unsupported", "found a tuple of 1"
    yield "root_number", whole(number(7), None), "unsupported", "found the integer 7"
    yield "root_storage", whole(storage()), "unsupported", "found a storage"
    yield "root_value_number", whole(dictionary(text("w"), tensor(), text("step"), number(7))), "unsupported", "tensor `step`"
    yield "root_value_none", whole(dictionary(text("w"), tensor(), text("x"), NONE)), "unsupported", "tensor `x`"
    yield "root_value_storage", whole(dictionary(text("w"), storage())), "unsupported", "found a storage"
    yield "root_name_twice", whole(dictionary(text("w"), tensor(), text("w"), tensor())), "invalid", "each name once, found it twice"


def hostile_records():
    yield "byteorder_big", zipped(byteorder=b"big"), "unsupported", "expected `little`, found `big`"
    yield "byteorder_empty", zipped(byteorder=b""), "unsupported", "expected `little`"
    yield "version_missing", zipped(version=None), "invalid", "a record `version`, found none"
    yield "version_future", zipped(version=b"11\n"), "unsupported", "a version from 1 to 10"
    yield "version_text", zipped(version=b"three" * 1000), "unsupported", "a version from 1 to 10"
    yield "data_missing", zipped(data=None), "corrupt", "storage `0`: expected a record data/N"
    yield "data_unused", zipped(more=[(b"data/1", DATA)]), "corrupt", "data/1`: expected a storage of data.pkl that uses it"
    yield "script_archive", zipped(more=[(b"constants.pkl", root()), (b"code/x.py", b"1")]), "unsupported", "code/x.py`"
    yield "data_key_padded", zipped(more=[(b"data/00", DATA)]), "unsupported", "data/00`"
    yield "data_key_text", zipped(more=[(b"data/x", DATA)]), "unsupported", "data/x`"
    second = Entry(b"other/data.pkl", root(global_("os", "system")))
    yield "pickle_twice", Archive(entries() + [second]).file(), "corrupt", "another one"
    yield "pickle_missing", Archive(entries()[1:]).file(), "invalid", "FOLDER/data.pkl, found none"
    yield "pickle_without_folder", Archive([replace(e, name=e.name[8:]) for e in entries()]).file(), "invalid", "found none"
    yield "pickle_in_deep_folder", zipped(folder="a/b"), "invalid", "found none"
    yield "folder_other", Archive(entries() + [Entry(b"other/x", b"1")]).file(), "unsupported", "every record in the folder `archive/`"
    yield "not_torch", Archive([Entry(b"META-INF/MANIFEST.MF", b"x")]).file(), "invalid", "FOLDER/data.pkl"
    yield "no_entries", Archive([]).file(), "invalid", "expected a file of torch.save"
    yield "no_entries_plain", Archive([], zip64=False).file(), "invalid", "FOLDER/data.pkl, found none"


def hostile_zip_entries():
    for bit, expected in ((0x1, "not encrypted"), (0x40, "not encrypted"), (0x2000, "not encrypted"),
                          (0x20, "no flags but bits 3 and 11"), (0x2, "no flags but"), (0x8000, "no flags but")):
        yield f"flag_{bit:x}", changed(0, flags=0x0808 | bit), "unsupported", expected
    yield "compressed", changed(2, method=8, data=zlib.compress(DATA, 0)[2:-4]), "unsupported", "not compressed, found method 8"
    yield "method_aes", changed(0, method=99), "unsupported", "method 99"
    yield "local_method", changed(0, local_method=8), "corrupt", "flags and method of the directory"
    yield "local_flags", changed(0, local_flags=0), "corrupt", "flags and method of the directory"
    yield "local_name", changed(0, local_name=b"archive/data.pkx"), "corrupt", "same name in the local header, found `archive/data.pkx`"
    yield "local_name_longer", changed(2, local_name=b"archive/data/0\0"), "corrupt", "same name in the local header"
    yield "local_numbers", changed(0, local_numbers=(1, 2, 2)), "corrupt", "checksum and sizes of the directory"
    yield "local_sizes_differ", changed(2, flags=0x0800, local_numbers=(zlib.crc32(DATA), 24, 8)), "corrupt", "checksum and sizes"
    yield "crc_of_pickle", changed(0, crc=1), "corrupt", "data.pkl`: expected bytes with the checksum"
    yield "crc_of_data", changed(2, crc=1), "corrupt", "data/0`: expected bytes with the checksum"
    yield "descriptor_size", changed(2, descriptor=struct.pack("<IIII", 0x08074B50, zlib.crc32(DATA), 24, 25)), "corrupt", "a data descriptor that agrees"
    yield "descriptor_crc", changed(2, descriptor=struct.pack("<IIII", 0x08074B50, 1, 24, 24)), "corrupt", "a data descriptor that agrees"
    yield "descriptor_magic", changed(2, descriptor=bytes(16)), "corrupt", "a data descriptor that agrees"
    yield "descriptor_missing", changed(2, descriptor=b""), "corrupt", "a data descriptor of 16 or 24 bytes"
    yield "descriptor_unannounced", changed(2, flags=0x0800, descriptor=bytes(16)), "corrupt", "nothing behind the data"
    yield "size_in_directory", changed(2, size=20), "corrupt", "two equal sizes"
    yield "sizes_in_directory", changed(2, size=20, packed=20), "corrupt", "descriptor"
    yield "size_beyond_file", changed(2, size=2**31, packed=2**31), "corrupt", "before the zip directory"
    yield "offset_beyond_file", changed(2, offset=2**31), "corrupt", "before the zip directory"
    big = struct.pack("<HHQQQ", 1, 24, 2**63, 2**63, 2**63)
    yield "zip64_beyond_file", changed(2, size=2**32 - 1, packed=2**32 - 1, offset=2**32 - 1, extra=big), "corrupt", "before the zip directory"
    yield "zip64_cut", changed(2, size=2**32 - 1, packed=2**32 - 1, extra=struct.pack("<HHQ", 1, 8, 24)), "corrupt", "a longer zip64 field"
    yield "zip64_idle", changed(2, extra=struct.pack("<HHQ", 1, 8, 24)), "corrupt", "a zip64 field of 0 bytes"
    yield "zip64_twice", changed(2, size=2**32 - 1, packed=2**32 - 1, extra=struct.pack("<HHQQ", 1, 16, 24, 24) * 2), "corrupt", "one zip64 field, found two"
    yield "extra_cut", changed(2, extra=b"\x01\x00\x09"), "corrupt", "whole extra fields"
    yield "extra_unicode_path", changed(2, extra=struct.pack("<HH", 0x7075, 5) + b"\1abcd"), "unsupported", "found field 28789"
    yield "extra_local", changed(2, local_extra=struct.pack("<HH", 0x5455, 0)), "unsupported", "found field 21589"
    yield "entry_comment", changed(2, comment=b"x"), "unsupported", "no comment"
    yield "entry_disk", changed(2, disk=1), "unsupported", "on the first disk"
    yield "entry_twice", Archive(entries() + [Entry(b"archive/data.pkl", root(global_("os", "system")))]).file(), "corrupt", "it once, found it twice"
    yield "entries_overlap", changed(3, offset=0), "corrupt", "a local header at byte 0"
    yield "entries_hole", changed(2, before=b"hidden"), "corrupt", "descriptor"
    yield "entries_hidden", Archive(entries(), between=entries()[0].data).file(), "corrupt", "descriptor"
    for name, path in (("parent", b"archive/../x"), ("dot", b"archive/./x"), ("absolute", b"/etc/passwd"), ("drive", b"c:x"),
                       ("backslash", b"archive\\x"), ("folder", b"archive/x/"), ("empty", b""), ("nul", b"archive/x\0y"),
                       ("line_feed", b"archive/x\ny"), ("not_utf8", b"archive/\xff"), ("double_slash", b"archive//x")):
        yield f"name_{name}", Archive(entries() + [Entry(path, b"1")]).file(), "invalid", "a relative path"
    # The whole second entry, header and all, is the first one's data.
    inner = entries()
    yield "entry_inside_another", changed(2, Archive(inner), offset=64), "corrupt", "header and data in 64 bytes"


def hostile_zip_ends():
    whole = zipped()
    yield "prepended", Archive(entries(), start=b"PK\x03\x04 and more").file(), "corrupt", "the first zip entry at byte 0, found it at 13"
    yield "appended", Archive(entries(), end=b"x").file(), "corrupt", "ends with its end record"
    yield "concatenated", whole + zipped(root(global_("os", "system"))), "corrupt", "in front of its locator"
    plain = Archive(entries(), zip64=False).file()
    yield "concatenated_plain", plain + plain, "corrupt", "a zip directory that ends"
    end_moved = Archive(entries(), zip64=False, start=plain).file()
    yield "concatenated_behind_hidden", end_moved, "corrupt", "the first zip entry at byte 0"
    yield "concatenated_legacy", whole + legacy(), "corrupt", "ends with its end record"
    yield "comment", Archive(entries(), comment=b"x").file(), "corrupt", "ends with its end record"
    yield "comment_of_nothing", Archive(entries(), end_fields={"comment": 1}).file(), "unsupported", "without comment"
    yield "comment_hides_end", Archive(entries(), comment=whole[-22:]).file(), "corrupt", "expected a zip"
    yield "end_missing", whole[:-22], "corrupt", "ends with its end record"
    yield "cut_in_half", whole[: len(whole) // 2], "corrupt", "ends with its end record"
    for name in ("disk", "first_disk", "here"):
        yield f"end_{name}", Archive(entries(), end_fields={name: 1}).file(), "unsupported", "on one disk"
        yield f"end64_{name}", Archive(entries(), end64_fields={name: 1}).file(), "unsupported", "on one disk"
    for name in ("disk", "disks"):
        yield f"locator_{name}", Archive(entries(), locator_fields={name: 2}).file(), "unsupported", "on one disk"
    yield "locator_place", Archive(entries(), locator_fields={"place": 0}).file(), "corrupt", "in front of its locator"
    yield "locator_place_beyond", Archive(entries(), locator_fields={"place": 2**63}).file(), "corrupt", "in front of its locator"
    yield "end64_size", Archive(entries(), end64_fields={"size": 2**40}).file(), "corrupt", "zip64 end record of 56 bytes"
    yield "end64_entries", Archive(entries(), end64_fields={"here": 2**40, "entries": 2**40}).file(), "corrupt", "entries in a zip directory"
    yield "end64_disagrees", Archive(entries(), end_fields={"here": 3, "entries": 3}).file(), "corrupt", "to agree"
    yield "end64_begin", Archive(entries(), end64_fields={"begin": 2**63}).file(), "corrupt", "a zip directory that ends"
    yield "end64_bytes", Archive(entries(), end64_fields={"bytes": 2**64 - 1}).file(), "corrupt", "a zip directory that ends"
    plain = {"zip64": False}
    yield "end_entries_more", Archive(entries(), **plain, end_fields={"here": 5, "entries": 5}).file(), "corrupt", "entry 5 of 5"
    yield "end_entries_fewer", Archive(entries(), **plain, end_fields={"here": 3, "entries": 3}).file(), "corrupt", "3 entries that ends at byte"
    yield "end_begin", Archive(entries(), **plain, end_fields={"begin": 0}).file(), "corrupt", "a zip directory that ends"
    yield "end_bytes", Archive(entries(), **plain, end_fields={"bytes": 2**32 - 1}).file(), "corrupt", "a zip directory that ends"
    broken = bytearray(whole)
    broken[whole.rindex(b"PK\x01\x02")] = 0
    yield "directory_magic", bytes(broken), "corrupt", "entry 4 of 4 of the zip directory"
    broken = bytearray(whole)
    broken[whole.rindex(b"PK\x01\x02") + 28 : whole.rindex(b"PK\x01\x02") + 30] = b"\xff\xff"
    yield "directory_name_length", bytes(broken), "corrupt", "inside the directory, found a longer one"
    broken = bytearray(whole)
    broken[26:28] = b"\xff\xff"
    yield "local_name_length", bytes(broken), "corrupt", "header and data in"


def hostile_legacy():
    yield "legacy_version", legacy(version=PROTO + number(1002) + STOP), "unsupported", "expected 1001, found the integer 1002"
    yield "legacy_version_text", legacy(version=PROTO + text("x") + STOP), "unsupported", "found the text `x`"
    yield "legacy_big_endian", legacy(system=SYSTEM.replace(TRUE, FALSE)), "unsupported", "key `little_endian`: expected True, found False"
    yield "legacy_system_list", legacy(system=PROTO + numbers(1) + STOP), "invalid", "system: expected a dictionary, found a tuple of 1"
    yield "legacy_system_empty", legacy(system=PROTO + EMPTY_DICT + STOP), "invalid", "a key `little_endian`, found none"
    yield "legacy_system_global", legacy(system=PROTO + global_("os", "system") + STOP), "unsupported", "opcode GLOBAL"
    yield "legacy_global", legacy(global_("os", "system")), "unsupported", "pickle of the object at byte"
    yield "legacy_list_in_object", legacy(EMPTY_LIST), "unsupported", "opcode EMPTY_LIST"
    yield "legacy_nested", legacy(dictionary(text("w"), old_tensor())), "unsupported", "found a dictionary"
    yield "legacy_key_missing", legacy(keys=()), "corrupt", "its key in the list of keys, found it missing"
    yield "legacy_key_unknown", legacy(keys=("78",)), "corrupt", "storage `78`: expected a tensor that uses it"
    yield "legacy_key_twice", legacy(keys=("77", "77"), end=struct.pack("<q", 6) + DATA), "corrupt", "the key twice"
    keys = PROTO + EMPTY_LIST + MARK + number(77) + APPENDS + STOP
    head = MAGIC + VERSION + SYSTEM + root(old_tensor())
    yield "legacy_key_number", head + keys + struct.pack("<q", 6) + DATA, "invalid", "texts only, found the integer 77"
    nested = PROTO + EMPTY_LIST + MARK + EMPTY_LIST + APPENDS + STOP
    yield "legacy_key_list", head + nested + struct.pack("<q", 6) + DATA, "invalid", "texts only, found a list"
    yield "legacy_keys_dict", head + PROTO + EMPTY_DICT + STOP, "invalid", "storage keys: expected a list, found a dictionary"
    yield "legacy_append_to_text", head + PROTO + text("a") + text("b") + APPEND + STOP, "invalid", "a list below the items"
    yield "legacy_keys_global", head + PROTO + global_("os", "system") + STOP, "unsupported", "opcode GLOBAL"
    yield "legacy_count", legacy(count=5), "corrupt", "6 elements, found 5"
    yield "legacy_count_negative", legacy(count=-6), "corrupt", "6 elements, found -6"
    huge = tensor(storage("77", FLOAT, number(2**62), "cpu", NONE))
    yield "legacy_count_overflows", legacy(huge, count=2**62), "corrupt", "elements inside the file"
    yield "legacy_data_cut", legacy()[:-1], "corrupt", "6 elements inside the file, found 23 bytes"
    yield "legacy_count_cut", legacy()[:-25], "corrupt", "its element count, found the end of the file"
    yield "legacy_appended", legacy(end=b"x"), "corrupt", "found 1 more bytes"
    yield "legacy_with_zip", legacy(end=zipped()), "corrupt", "behind the last storage"
    yield "legacy_only_magic", MAGIC, "corrupt", "pickle of the protocol version"
    view = tuple_(text("78"), number(3), number(4))
    yield "legacy_view_outside", legacy(old_tensor(view)), "corrupt", "first 3 and count 4 of 6"
    view = tuple_(text("78"), number(-1), number(4))
    yield "legacy_view_negative", legacy(old_tensor(view)), "corrupt", "first -1"
    yield "legacy_view_of_two", legacy(old_tensor(tuple_(text("78"), number(0)))), "invalid", "a view (key, first, count)"
    yield "legacy_view_number", legacy(old_tensor(number(1))), "invalid", "a view (key, first, count)"
    view = tuple_(text("78"), number(3), number(3))
    yield "legacy_tensor_outside_view", legacy(old_tensor(view)), "corrupt", "inside its storage of 3 elements"
    yield "legacy_wrong_magic", legacy(magic=PROTO + long1(0x1950A86A20F9469CFC6D) + STOP), "invalid", "expected a file of torch.save"
    yield "legacy_protocol_4", legacy(object_=b"\x80\x04" + root()[2:]), "unsupported", "protocol 2, found 4"


def hostile_forms():
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in ("sys_info", "pickle", "tensors", "storages"):
            archive.addfile(tarfile.TarInfo(name))
    yield "tar", tar.getvalue()[:2560], "unsupported", "the tar form of PyTorch before 0.1.10"
    yield "empty", b"", "invalid", "found an empty file"
    yield "one_byte", b"P", "invalid", "found bytes `P`"
    yield "safetensors", struct.pack("<Q", 2) + b"{}", "invalid", "expected a file of torch.save"
    yield "plain_pickle", root(), "invalid", "expected a file of torch.save"
    yield "gzip", b"\x1f\x8b\x08" + bytes(20), "invalid", "expected a file of torch.save"
    yield "only_zip_magic", b"PK\x03\x04", "corrupt", "ends with its end record"
    yield "lfs_pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "invalid", "found bytes `version `"


# --- unusual files that must be read ------------------------------------------------------------------------------


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
    for name, content, code, message in hostile():
        assert f"hostile/{name}.bin" not in files, name
        files[f"hostile/{name}.bin"] = content
        lines.append(f"{name}.bin {code} {message}\n")
    files["hostile/expected.txt"] = "".join(lines).encode()
    lines = []
    for name, content, tensors in variants():
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
