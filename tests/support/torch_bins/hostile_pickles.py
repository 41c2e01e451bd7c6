"""Pickles that must be refused, each for one reason."""
from torch_bins.archives import DATA, zipped
from torch_bins.pickles import (
    BUILD, EMPTY_DICT, EMPTY_LIST, EMPTY_TUPLE, FALSE, FLOAT, MARK, NONE, ORDERED, PERSID, PROTO, REDUCE, SETITEM,
    SETITEMS, STOP, TRUE, TUPLE, TUPLE1, dictionary, get, global_, long1, number, numbers, put, root, storage,
    tensor, text, tuple_,
)


def hostile():
    """Yields name, bytes, error code, part of the message."""
    yield from opcodes()
    yield from objects()
    yield from integers()
    yield from roots()


def opcodes():
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


def objects():
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


def integers():
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


def roots():
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
