"""The two forms of torch.save: a zip file, field by field, and the legacy form."""
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import Optional

from torch_bins.pickles import (
    APPENDS, EMPTY_LIST, FLOAT, MARK, NONE, PROTO, STOP, TRUE, dictionary, long1, number, root, storage, tensor,
    text,
)


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
