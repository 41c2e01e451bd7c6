#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.cc from the character classes of the `tokenizers` package.

The package carries its own Oniguruma and Rust tables; Debian's libonig is older and knows fewer code points. This
script asks the package about every code point and records (a) the classes the hand-written scanners use, (b) for each
regular expression property the code points that only the package's Oniguruma or only the system's libonig has, and (c)
where utf8proc normalises or lowercases otherwise than the package.
Run it with a Python that has `tokenizers`, on the machine whose libonig the build links:

    python3 tools/tokenizer_unicode.py > src/tokenizer/unicode_tables.cc
"""

import ctypes
import sys

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
PROPERTIES = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cn Co "
    "Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Devanagari Bengali Tamil Armenian Georgian"
).split()


def package_class(pattern):
    """Code points that one match of `pattern` covers alone, by the package's Oniguruma."""
    remove = normalizers.Replace(Regex(pattern), "")
    members = set()
    for i in range(0, len(ALL), 8192):
        chunk = ALL[i : i + 8192]
        left = set(map(ord, remove.normalize_str("\x01".join(map(chr, chunk)))))
        members.update(c for c in chunk if c not in left)
    if remove.normalize_str("\x01") == "":
        members.add(1)
    return members


class SystemOnig:
    def __init__(self):
        self.lib = ctypes.CDLL("libonig.so.5")
        self.utf8 = ctypes.addressof(ctypes.c_char.in_dll(self.lib, "OnigEncodingUTF8"))
        self.syntax = ctypes.c_void_p.in_dll(self.lib, "OnigDefaultSyntax")
        self.lib.onig_initialize((ctypes.c_void_p * 1)(self.utf8), 1)
        self.lib.onig_version.restype = ctypes.c_char_p

    def version(self):
        return self.lib.onig_version().decode()

    def members(self, pattern):
        regex = ctypes.c_void_p()
        data = pattern.encode()
        buffer = ctypes.create_string_buffer(data)
        start = ctypes.addressof(buffer)
        code = self.lib.onig_new(
            ctypes.byref(regex),
            ctypes.c_void_p(start),
            ctypes.c_void_p(start + len(data)),
            0,
            ctypes.c_void_p(self.utf8),
            self.syntax,
            ctypes.create_string_buffer(256),
        )
        if code != 0:
            raise ValueError(f"{pattern}: oniguruma error {code}")
        text = ctypes.create_string_buffer(8)
        at = ctypes.addressof(text)
        found = set()
        for c in ALL:
            encoded = chr(c).encode()
            ctypes.memmove(at, encoded, len(encoded))
            end = ctypes.c_void_p(at + len(encoded))
            begin = ctypes.c_void_p(at)
            if self.lib.onig_match(regex, begin, end, begin, None, 0) == len(encoded):
                found.add(c)
        return found


def rust_numeric():
    """char::is_numeric, which the Digits pre-tokenizer uses."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    found = set()
    for i in range(0, len(ALL), 4096):
        text = "a" + "a".join(map(chr, ALL[i : i + 4096])) + "a"
        found.update(ord(t) for t, _ in digits.pre_tokenize_str(text) if len(t) == 1 and t != "a")
    return found


def rust_word():
    r"""\w of the regex crate, which the added-token flag single_word uses."""
    split = pre_tokenizers.Whitespace()
    return {c for c in ALL if [t for t, _ in split.pre_tokenize_str("a" + chr(c))] == ["a" + chr(c)]}


def rust_combining_mark():
    """is_combining_mark of the normalisation crate, which StripAccents uses."""
    strip = normalizers.StripAccents()
    return {c for c in ALL if strip.normalize_str(chr(c)) == ""}


class SystemUtf8proc:
    def __init__(self):
        self.lib = ctypes.CDLL("libutf8proc.so.2")
        self.libc = ctypes.CDLL(None)
        self.lib.utf8proc_version.restype = ctypes.c_char_p
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            getattr(self.lib, "utf8proc_" + form).restype = ctypes.c_void_p

    def normalize(self, form, text):
        pointer = getattr(self.lib, "utf8proc_" + form)(text.encode())
        result = ctypes.string_at(pointer).decode()
        self.libc.free(ctypes.c_void_p(pointer))
        return result


def normalized_differently(system):
    """Code points that the package's normalisation crate (an older Unicode) and utf8proc treat differently: by their
    decomposition, by taking part in a composition, or by their place in the canonical order."""
    found = set()
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        package = getattr(normalizers, form)()
        for c in ALL[1:]:
            # U+0345 has the highest combining class but one: any other mark moves before it.
            for text in (chr(c), "a\u0345" + chr(c)):
                ours, theirs = system.normalize(form, text), package.normalize_str(text)
                if ours != theirs:
                    found.add(c)
                    found.update(map(ord, system.normalize("NFD", chr(c))[1:]))
    return found


def lowercase_differently(system):
    """Code points whose lower case in Rust is not utf8proc_tolower's, and that lower case."""
    lower = normalizers.Lowercase()
    found = []
    for c in ALL:
        theirs = lower.normalize_str(chr(c))
        if theirs != chr(system.lib.utf8proc_tolower(c)):
            found.append((c, theirs))
    return found


def ranges(members):
    out = []
    for c in sorted(members):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def emit(name, members):
    items = ranges(members)
    print(f"\nconstexpr CodePointRange {name}[] = {{")
    line = "   "
    for first, last in items:
        item = f" {{0x{first:x}, 0x{last:x}}},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    if items:
        print(line)
    print("};")


def main():
    system = SystemOnig()
    print("// Written by tools/tokenizer_unicode.py; do not edit.")
    print(f"// tokenizers {tokenizers.__version__} against libonig {system.version()} and utf8proc {SystemUtf8proc().lib.utf8proc_version().decode()}.")
    print("// clang-format off")
    print('#include "tokenizer/unicode_tables.h"\n')
    print("namespace spindrift::unicode_tables {\nnamespace {")
    emit("kLetterRanges", package_class(r"\p{L}"))
    emit("kNumberRanges", package_class(r"\p{N}"))
    emit("kSpaceRanges", package_class(r"\s"))
    emit("kNumericRanges", rust_numeric())
    emit("kWordRanges", rust_word())
    emit("kCombiningRanges", rust_combining_mark())
    utf8proc = SystemUtf8proc()
    emit("kUnnormalizedRanges", normalized_differently(utf8proc))
    print("\nconstexpr LowercaseException kLowercaseExceptions[] = {")
    for c, theirs in lowercase_differently(utf8proc):
        print(f"    {{0x{c:x}, 0x{ord(theirs[0]):x}, 0x{ord(theirs[1]) if len(theirs) > 1 else 0:x}}},")
    print("};")
    deltas = []
    for name in PROPERTIES + ["w"]:
        pattern = r"\w" if name == "w" else r"\p{%s}" % name
        ours, theirs = system.members(pattern), package_class(pattern)
        ours.discard(1), theirs.discard(1)
        columns = []
        for kind, members in [("Missing", theirs - ours), ("Surplus", ours - theirs)]:
            identifier = f"k{kind}{name.capitalize() if len(name) > 2 else name}"
            if members:
                emit(identifier, members)
            columns.append(identifier if members else "{}")
        deltas.append((name, *columns))
    print("\nconstexpr PropertyDelta kDeltas[] = {")
    for name, missing, surplus in deltas:
        print(f'    {{"{name}", {missing}, {surplus}}},')
    print("};\n\n}  // namespace\n")
    for function, name in [
        ("letters", "kLetterRanges"),
        ("numbers", "kNumberRanges"),
        ("spaces", "kSpaceRanges"),
        ("numeric", "kNumericRanges"),
        ("word", "kWordRanges"),
        ("combining_marks", "kCombiningRanges"),
        ("unnormalized", "kUnnormalizedRanges"),
    ]:
        print(f"std::span<const CodePointRange> {function}() {{ return {name}; }}")
    print("std::span<const LowercaseException> lowercase_exceptions() { return kLowercaseExceptions; }")
    print("std::span<const PropertyDelta> property_deltas() { return kDeltas; }")
    print("\n}  // namespace spindrift::unicode_tables")


if __name__ == "__main__":
    main()
