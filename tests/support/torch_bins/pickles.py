"""Pickles of state dicts, opcode by opcode."""
import struct

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
