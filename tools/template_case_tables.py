"""Prints src/chat/jinja/case_tables.inc: what Python's str methods know and utf8proc does not say.

usage: python3 tools/template_case_tables.py > src/chat/jinja/case_tables.inc
"""

import sys
import unicodedata


def ranges(condition):
    out = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000 or not condition(chr(c)):
            continue
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def special(convert):
    return [
        (c, convert(chr(c)))
        for c in range(0x110000)
        if not 0xD800 <= c < 0xE000 and len(convert(chr(c))) > 1
    ]


def show_special(name, table):
    print(f"constexpr SpecialCase {name}[] = {{")
    for c, text in table:
        points = ", ".join(f"0x{ord(x):x}" for x in text + "\0" * (3 - len(text)))
        print(f"    {{0x{c:x}, {{{points}}}}},")
    print("};")


def show_ranges(name, table):
    print(f"constexpr CodeRange {name}[] = {{")
    for i in range(0, len(table), 4):
        print("    " + " ".join(f"{{0x{a:x}, 0x{b:x}}}," for a, b in table[i : i + 4]))
    print("};")


print(f"// Made by tools/template_case_tables.py from Unicode {unicodedata.unidata_version}; included by text.cc.")
show_special("kUpperSpecial", special(str.upper))
show_special("kTitleSpecial", special(str.title))
print("// Digits that are not decimal (superscripts, circled digits), and letters that are numbers (CJK numerals).")
show_ranges("kDigitNotDecimal", ranges(lambda c: c.isdigit() and not c.isdecimal()))
show_ranges("kNumericLetter", ranges(lambda c: c.isnumeric() and unicodedata.category(c)[0] != "N"))
print("// Letters without case of their own that Python counts as lower or upper (modifier letters, circled letters).")
show_ranges("kOtherLower", ranges(lambda c: c.islower() and unicodedata.category(c) != "Ll"))
show_ranges("kOtherUpper", ranges(lambda c: c.isupper() and unicodedata.category(c) != "Lu"))
sys.stdout.flush()
