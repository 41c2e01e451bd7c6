"""Files around a pickle that must be refused, each for one reason."""
import io
import struct
import tarfile
import zlib
from dataclasses import replace

from torch_bins.archives import (
    Archive, DATA, Entry, MAGIC, SYSTEM, VERSION, changed, entries, legacy, old_tensor, zipped,
)
from torch_bins.pickles import (
    APPEND, APPENDS, EMPTY_DICT, EMPTY_LIST, FALSE, FLOAT, MARK, NONE, PROTO, STOP, TRUE, dictionary, global_,
    long1, number, numbers, root, storage, tensor, text, tuple_,
)


def hostile():
    """Yields name, bytes, error code, part of the message."""
    yield from records()
    yield from zip_entries()
    yield from zip_ends()
    yield from legacy_files()
    yield from other_forms()


def records():
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


def zip_entries():
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


def zip_ends():
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


def legacy_files():
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


def other_forms():
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
