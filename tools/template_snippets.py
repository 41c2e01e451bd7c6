"""Small templates, one for each rule of the template language that chat templates can meet.

A line of SNIPPETS is a template; it is rendered with CONTEXT. A tuple is (template, more context).
"""

CONTEXT_JSON = r"""
{
  "n": 7, "m": -3, "zero": 0, "f": 2.5, "g": 1e16, "h": 1.0, "tiny": 1e-7, "third": 0.3333333333333333,
  "big": 123456789012345678901234567890, "negbig": -98765432109876543210, "t": true, "no": false, "nil": null,
  "s": "Hello World", "empty": "", "uni": "Grüße, Ελλάς! 日本語 😀", "ws": "  \t padded \n ", "lines": "one\ntwo\r\nthree\n\nfive",
  "html": "<a href=\"x\">Tom & 'Jerry'</a>", "ctl": "a\u0001b\u007f\u2028\u00a0c\\d\"e'f",
  "l": [3, 1, 2], "mixed": [1, "a", null, true, 2.5, [1, 2], {"k": "v"}], "el": [], "strs": ["b", "A", "c", "a", "B"],
  "nested": [[1, 2], [3, [4, 5]], []], "d": {"b": 1, "a": 2, "c": {"x": [1, 2], "y": null}}, "ed": {},
  "users": [{"name": "Zoe", "age": 31, "tags": ["x", "y"]}, {"name": "adam", "age": 25, "tags": []},
            {"name": "Bob", "age": 31}, {"name": "carl", "age": null, "tags": ["z"]}],
  "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
  "keys": {"1": "one", "items": "I", "get": "G", "a b": "space", "_u": "under", "ключ": "u"},
  "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
               {"role": "assistant", "content": "Yo", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"x": 1.0, "y": [1, {"z": null}]}}}]},
               {"role": "tool", "content": "42"}],
  "bos_token": "<s>", "eos_token": "</s>"
}
"""

SNIPPETS = []


def add(text):
    """One snippet a line."""
    SNIPPETS.extend(line for line in text.strip("\n").split("\n") if line.strip())


# --- printing of values
add(r"""
{{ n }} {{ m }} {{ f }} {{ g }} {{ h }} {{ tiny }} {{ third }} {{ big }} {{ negbig }} {{ t }} {{ no }} {{ nil }}
{{ l }} {{ mixed }} {{ el }} {{ nested }} {{ d }} {{ ed }} {{ (1,) }} {{ (1, 'a') }} {{ () }}
{{ [s, empty, uni, ws] }}
{{ [html] }} {{ [ctl] }} {{ ['it''s', "a'b", 'a"b', 'a\'b"c'] }}
{{ 1e5 }} {{ 1E5 }} {{ 1.5e-10 }} {{ 123456789.123 }} {{ 1e22 }} {{ 1e15 }} {{ 1e17 }} {{ 0.1 }} {{ 0.0001 }} {{ 0.00001 }} {{ 100.0 }} {{ -0.0 }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000_000 }} {{ 1_0.2_5 }} {{ 00 }} {{ 12345678901234567890123 }}
{{ 1.e5 }}
{{ true }} {{ True }} {{ false }} {{ False }} {{ none }} {{ None }}
{{ missing }}|{{ missing is defined }}|{{ [missing] }}|{{ {'a': missing} }}
{{ range(5) }} {{ range(1, 10, 3) }} {{ range(1,4)|list }} {{ range(10, 0, -4)|list }} {{ range(0)|list }}
{{ d.keys() }} {{ d.values() }} {{ d.items() }}
{{ 'a' 'b' "c" }}
{{ "\n\t\\\"\'\x41\u00e9\U0001F600\101\q\é" }}
{{ {'a': 1, 'b': [1, 2], 3: 'x', none: 1.5, true: 2} }}
{{ {} }} {{ [] }} {{ [[], {}] }} {{ {1: 'a', 1.0: 'b', true: 'c'} }}
{{ [1, 2,] }} {{ {'a': 1,} }} {{ (1, 2,) }}
{{ 1, 2 }}
{{ s }}{{ s|string }}{{ uni|list }}
{{ 9223372036854775807 }} {{ 9223372036854775808 }} {{ -9223372036854775808 }}
""")

# --- operators
add(r"""
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ -7 % -3 }} {{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }}
{{ 7 / 2 }} {{ 6 / 2 }} {{ 1 / 3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ 2 ** 100 }} {{ (-2) ** 3 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ 10 ** 20 }} {{ 0 ** 0 }}
{{ big + 1 }} {{ big - 1 }} {{ big * big }} {{ big // 7 }} {{ big % 7 }} {{ -big // 7 }} {{ -big % 7 }} {{ big / 3 }} {{ big * 1.0 }} {{ big ** 2 }} {{ big - big }} {{ negbig % 1000 }}
{{ 9223372036854775807 + 1 }} {{ -9223372036854775807 - 2 }} {{ 9223372036854775807 * 2 }} {{ (9223372036854775807 + 1) - 1 }} {{ (2**64) // (2**32) }} {{ -(-9223372036854775807 - 1) }}
{{ 1 + 1.0 }} {{ 3 - 3.0 }} {{ 2 * 1.5 }} {{ true + 1 }} {{ true * 3 }} {{ -true }} {{ +true }} {{ +n }} {{ -f }}
{{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ [1] * 3 }} {{ 'x' * 0 }} {{ 'x' * -1 }} {{ (1, 2) * 2 }} {{ 'a' * true }}
{{ 'a' + 'b' }} {{ [1] + [2, 3] }} {{ (1,) + (2,) }} {{ l + nested }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ [1] + (2,) }}
{{ nil + 1 }}
{{ 'a' - 'b' }}
{{ 'a' * 'b' }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1.0 / 0 }}
{{ 1.0 % 0 }}
{{ 0 ** -1 }}
{{ missing + 1 }}
{{ 1 + missing }}
{{ 'a' + missing }}
{{ missing ~ 'x' ~ missing }}
{{ -missing }}
{{ 1 ~ 2.0 ~ none ~ true ~ [1] ~ 'x' }} {{ 'a' ~ 1 + 2 }} {{ 1 + 2 ~ 'a' }}
{{ 1 < 2 }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' == 'a' }} {{ 'a' < 'b' }} {{ 'B' < 'a' }} {{ [1, 2] < [1, 3] }} {{ (1, 2) == (1, 2) }} {{ [1] == (1,) }} {{ 1 != 2 }} {{ 2 >= 2 <= 3 }}
{{ big > 1e29 }} {{ big == 123456789012345678901234567890.0 }} {{ 9007199254740993 == 9007199254740992.0 }} {{ 9007199254740993 > 9007199254740992.0 }}
{{ {'a': 1} == {'a': 1.0} }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ none == false }} {{ 0 == false }} {{ '' == none }} {{ missing == missing2 }} {{ missing == none }} {{ missing != '' }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ [1] < [none] }}
{{ {} < {} }}
{{ missing < 1 }}
{{ 1 in l }} {{ 5 not in l }} {{ 'ell' in s }} {{ 'z' in s }} {{ '' in '' }} {{ 'a' in d }} {{ 'x' in d }} {{ 1 in (1, 2) }} {{ 3 in range(5) }} {{ 1.0 in l }} {{ missing in l }} {{ 1 in missing }} {{ 'a' in d.keys() }} {{ 2 in d.values() }} {{ ('a', 2) in d.items() }}
{{ 1 in 's' }}
{{ 1 in 5 }}
{{ [] in d }}
{{ not true }} {{ not '' }} {{ not [] }} {{ not missing }} {{ not not 1 }} {{ not 1 == 2 }} {{ not 1 in l }}
{{ 1 and 2 }} {{ 0 and 2 }} {{ '' or 'x' }} {{ 1 or missing.x }} {{ none or false }} {{ [] or {} }} {{ 1 and '' and 2 }} {{ false or none or 0 }}
{{ 'y' if t else 'n' }} {{ 'y' if no else 'n' }} {{ 'y' if no }}| {{ ('y' if no) is defined }} {{ 1 if 0 else 2 if 0 else 3 }} {{ 'a' if t if no else 'b' }}
{{ (1 if no).x }}
{{ 5 - 2 - 1 }} {{ 2 * 3 + 4 }} {{ 2 + 3 * 4 }} {{ (2 + 3) * 4 }} {{ 10 - -3 }} {{ - - 3 }} {{ 7 // 2 * 2 }}
{{ 2 + 3 ~ 4 + 5 }}
{{ 2 ~ 3 + 4 }}
{{ -1|abs }} {{ (-1)|abs }} {{ -3.5|abs }}
{{ 2 ** 2|string }}
{{ 1 if 'a' is string and 2 > 1 else 0 }} {{ n is odd and m is odd }} {{ not n is even }}
{{ '%s-%d' % ('a', 5) }} {{ '%s' % 'x' }} {{ '%(a)s %(b)05.1f' % {'a': 1, 'b': 2.25} }} {{ '%5s|%-5s|%05d|%+d|%x|%X|%o|%#x|%e|%g|%%|%c|%r' % ('a', 'b', 42, 5, 255, 255, 8, 255, 12345.678, 0.0001, 'z', 'q') }}
{{ '%s' % (1, 2) }}
{{ '%d' % 'x' }}
{{ '%s %s' % 'x' }}
{{ '%.3s|%10.2f|%-10d|% d|%i' % ('abcdef', 3.14159, 7, 3, 2.9) }} {{ '%s' % [1, 2] }} {{ '%s' % {'a': 1} }} {{ '%*d' % (5, 3) }} {{ '%.*f' % (2, 3.14159) }} {{ '%s' % missing }}|
{{ 1 == 1 == true }} {{ 1 < 2 == true }}
{{ 3 is divisibleby 3 }} {{ 10 % 3 is even }}
{{ 1.5.real }} {{ n.real }} {{ 5 .denominator }}
{{ 1 if true }}{{ 2 if false }}
""")

# --- subscripts and slices
add(r"""
{{ l[0] }} {{ l[-1] }} {{ l[5] }}| {{ l[5] is defined }} {{ s[0] }} {{ s[-1] }} {{ uni[1] }} {{ uni[-1] }} {{ d['a'] }} {{ d.a }} {{ d['zz'] }}| {{ d.c.x[1] }} {{ d['c']['x'][0] }} {{ l.0 }} {{ nested.1.0 }}
{{ l[1:] }} {{ l[:1] }} {{ l[::2] }} {{ l[::-1] }} {{ l[-2:] }} {{ l[1:2] }} {{ l[5:] }} {{ l[:-1] }} {{ l[:] }} {{ l[2:0:-1] }}
{{ s[1:4] }} {{ s[::-1] }} {{ s[-3:] }} {{ s[:-3] }} {{ s[::3] }} {{ uni[::-1] }} {{ uni[3:9] }} {{ uni[-3:] }} {{ uni[100:] }}| {{ uni[1:20:5] }}
{{ (1, 2, 3)[1:] }} {{ range(10)[2:8:2] }} {{ range(10)[::-1] }} {{ range(10)[3] }} {{ range(10)[-1] }}
{{ l['a'] }}| {{ s['a'] }}| {{ n.foo }}| {{ n['foo'] }}| {{ nil.foo }}| {{ nil['a'] }}| {{ t.x }}|
{{ missing.x }}
{{ missing['x'] }}
{{ missing[0] }}
{{ missing[1:] }}
{{ d.x.y }}
{{ l[9].x }}
{{ d[1:] }}
{{ n[1:] }}
{{ l[::0] }}
{{ l['a':] }}
{{ l[true] }} {{ l[1.0] }}| {{ d[[1]] }}| {{ d[{}] }}|
{{ keys['items'] }} {{ keys['get'] }} {{ keys['a b'] }} {{ keys._u }} {{ keys['_u'] }} {{ keys['ключ'] }} {{ keys.ключ }} {{ keys['1'] }} {{ keys[1] }}|
{{ keys.items() | length }} {{ keys.get('get') }}
{{ d.__class__ }}| {{ d.__class__ is defined }} {{ ''.__class__ }}| {{ d['__class__'] }}| {{ missing.__class__ }}|
{{ d.__class__.x }}
{{ d.__class__() }}
{{ l.append }}| {{ l.append is defined }} {{ d.update is undefined }} {{ d.pop }}|
{{ l.append(1) }}
{{ d.update({}) }}
{{ l.sort() }}
{{ ''.join(['a', 'b']) }} {{ ', '.join(strs) }} {{ '-'.join(d) }} {{ '-'.join('abc') }}
{{ ''.join([1]) }}
{{ l[big] }}
{{ l[-big:big] }} {{ s[:big] }} {{ l[::big] }} {{ l[::-big] }}
{{ "abc"[1] }} {{ [1,2,3][1] }} {{ {'a': 1}['a'] }} {{ {'a': 1}.a }} {{ ((1, 2), 3)[0][1] }} {{ "abc"[1:][0] }} {{ 'x'.upper()[0] }}
{{ messages[0].role }} {{ messages[-1]['content'] }} {{ messages[1:][0].content }} {{ messages[2].tool_calls[0].function.arguments.x }} {{ messages[0]['role'] == 'system' }}
{{ d[()] }}| {{ {(1, 2): 'x'}[1, 2] }} {{ {(1, 2): 'x'}[(1, 2)] }}
""")

# --- methods
add(r"""
{{ ws.strip() }}| {{ ws.lstrip() }}| {{ ws.rstrip() }}| {{ 'xxaxx'.strip('x') }} {{ 'xyaxy'.strip('yx') }} {{ 'xxa'.rstrip('x') }} {{ 'axx'.rstrip('x') }} {{ 'xxa'.lstrip('x') }} {{ 'éaé'.strip('é') }} {{ ws.strip(none) }}|
{{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a  b c '.split() }} {{ 'a b c'.split(none, 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }}
{{ 'abc'.split('') }}
{{ 'a,b,c'.split(sep=',', maxsplit=1) }} {{ 'a--b--c'.split('--') }} {{ ' a b '.split(' ') }} {{ 'a b c d'.rsplit() }} {{ 'a b c'.split(maxsplit=0) }} {{ '  a b'.split(maxsplit=0) }} {{ 'a,b'.split(',', -1) }}
{{ lines.splitlines() }} {{ lines.splitlines(true) }} {{ 'a\x0bb\x0cc\x1cd\u2028e\x85f'.splitlines() }} {{ ''.splitlines() }} {{ '\n'.splitlines() }}
{{ s.startswith('Hell') }} {{ s.endswith('ld') }} {{ s.startswith(('x', 'H')) }} {{ s.endswith(('x', 'y')) }} {{ s.startswith('ello', 1) }} {{ s.startswith('') }} {{ s.startswith('lo', 3, 5) }} {{ s.endswith('Hell', 0, 4) }} {{ s.startswith(()) }}
{{ s.startswith(1) }}
{{ s.startswith(['H']) }}
{{ s.replace('l', 'L') }} {{ s.replace('l', 'L', 1) }} {{ s.replace('', '-') }} {{ s.replace('', '-', 2) }} {{ 'aaa'.replace('aa', 'b') }} {{ ''.replace('', 'x') }} {{ 'é'.replace('', '-') }}
{{ s.find('o') }} {{ s.find('o', 5) }} {{ s.find('zz') }} {{ s.rfind('o') }} {{ s.index('W') }} {{ uni.find('日') }} {{ uni.rfind('ß') }} {{ s.count('l') }} {{ s.count('') }} {{ s.count('l', 4) }} {{ s.find('') }} {{ s.find('', 20) }}
{{ s.index('zz') }}
{{ s.upper() }} {{ s.lower() }} {{ 'hello wORLD it\'s'.title() }} {{ 'hELLO'.capitalize() }} {{ s.swapcase() }} {{ 'straße'.upper() }} {{ 'ΑΣ ΑΣΑ Σ'.lower() }} {{ 'İ'.lower() }} {{ 'ǆ'.title() }} {{ 'ﬁx'.upper() }} {{ 'ﬁx'.title() }} {{ 'STRASSE ß'.casefold() }} {{ 'ŉ'.upper() }} {{ 'éÀ'.swapcase() }}
{{ 'abc'.isalpha() }} {{ '12'.isdigit() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }} {{ '½'.isnumeric() }} {{ '一'.isnumeric() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ ''.isspace() }} {{ 'Ab'.istitle() }} {{ 'AB'.isupper() }} {{ 'ab'.islower() }} {{ '1'.islower() }} {{ 'a1_'.isidentifier() }} {{ '1a'.isidentifier() }} {{ 'é'.isascii() }} {{ 'a\n'.isprintable() }} {{ 'Hello World'.istitle() }} {{ '٣'.isdigit() }}
{{ 'ab'.center(6) }}| {{ 'ab'.center(5, '*') }} {{ 'ab'.ljust(5) }}| {{ 'ab'.rjust(5, '.') }} {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ 'abc'.center(6, '*') }} {{ 'abc'.center(2) }} {{ 'é'.rjust(3, '日') }}
{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('=') }} {{ 'abc'.rpartition('=') }} {{ 'TestHook'.removeprefix('Test') }} {{ 'a.py'.removesuffix('.py') }} {{ 'a\tb'.expandtabs(4) }}|
{{ '{} {}'.format(1, 'a') }} {{ '{0} {1} {0}'.format('a', 'b') }} {{ '{x}-{y}'.format(x=1, y=[2]) }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }} {{ '{{}}'.format() }} {{ '{!r} {!s}'.format('a', 'b') }} {{ '{:05d} {:+d} {:x} {:#x} {:b} {:,}'.format(42, 5, 255, 255, 5, 1234567) }} {{ '{:.2f} {:e} {:g} {:.1%} {:10.3f}|'.format(3.14159, 12345.678, 0.5, 0.256, 2.5) }}
{{ '{0[a]} {0[c][x]} {1.real}'.format(d, 5) }} {{ '{:{}}'.format('a', 5) }}| {{ '{:{w}}|'.format('a', w=4) }} {{ '{}'.format(none) }} {{ '{}'.format(missing) }}| {{ '{:d}'.format(true) }} {{ '{}'.format(true) }} {{ '{:_}'.format(1000000) }} {{ '{:,.2f}'.format(1234567.891) }} {{ '{:08.2f}'.format(-3.14159) }} {{ '{:<8}|'.format(3.5) }} {{ '{:s}'.format('x') }} {{ '{:.3}'.format('abcdef') }} {{ '{:.3}'.format(3.14159) }} {{ '{:.3}'.format(31415.9) }} {{ '{:.1}'.format(5.0) }}
{{ '{} {1}'.format(1, 2) }}
{{ '{}'.format() }}
{{ '{'.format() }}
{{ '}'.format() }}
{{ '{x}'.format() }}
{{ '{:d}'.format('a') }}
{{ '{:d}'.format(1.5) }}
{{ '{:s}'.format(1) }}
{{ '{x}'.format_map({'x': 1}) }}
{{ '{0.__class__}'.format(1) }}|
{{ d.get('a') }} {{ d.get('zz') }} {{ d.get('zz', 'dflt') }} {{ d.items()|list }} {{ d.keys()|list }} {{ d.values()|list }} {{ d.copy() }} {{ ed.items()|list }}
{{ d.get() }}
{{ d.get('a', default=1) }}
{{ l.count(1) }} {{ l.index(2) }} {{ (1, 2, 1).count(1) }} {{ l.copy() }} {{ range(5).index(3) }}
{{ l.index(99) }}
{{ n.bit_length() }} {{ f.is_integer() }} {{ h.is_integer() }} {{ big.bit_length() }}
{{ s.nope() }}
{{ d.nope() }}
{{ n() }}
{{ 'a'() }}
{{ missing() }}
{{ s.upper }}{{ '' if s.upper is callable }}
{{ s.strip('a', 'b') }}
{{ s.upper(1) }}
{{ s.strip(chars='H') }}
{{ 'a'.join(missing) }}|{{ 'ab'.replace('a', missing) }}
{{ (s | upper).lower() }} {{ s.split()[0].upper() ~ '!' }} {{ ('a' ~ 'b').upper() }} {{ [1, 2].count(1) }}
{% set f = s.upper %}{{ f() }} {% set g = d.items %}{% for k, v in g() %}{{ k }}={{ v }};{% endfor %}
""".replace("{{ s.upper }}{{ '' if s.upper is callable }}", "{{ s.upper is callable }}"))

# --- filters
add(r"""
{{ missing|default('x') }} {{ ''|default('x') }}| {{ ''|default('x', true) }} {{ none|default('x') }} {{ none|d('x', boolean=true) }} {{ missing|default }}| {{ 0|default(5, true) }} {{ d.zz|default('q') }} {{ missing|default(default_value=3) }}
{{ missing.x|default('x') }}
{{ ws|trim }}| {{ 'xxaxx'|trim('x') }} {{ 5|trim }} {{ none|trim }} {{ missing|trim }}|
{{ s|upper }} {{ s|lower }} {{ 'hello wORLD-foo (bar) it\'s [x] {y} <z>'|title }} {{ 'hELLO'|capitalize }} {{ 5|upper }} {{ 'straße'|upper }} {{ 'ǆa'|title }} {{ ''|title }}| {{ '-a'|title }}
{{ l|join }} {{ l|join(', ') }} {{ users|join(', ', attribute='name') }} {{ 'abc'|join('-') }} {{ mixed|join('|') }} {{ d|join(',') }} {{ el|join(',') }}| {{ l|join(5) }} {{ l|join(d='+') }} {{ missing|join }}|
{{ 5|join }}
{{ l|length }} {{ s|length }} {{ uni|length }} {{ d|length }} {{ el|count }} {{ missing|length }} {{ range(5)|length }} {{ d.items()|length }}
{{ 5|length }}
{{ none|length }}
{{ (l|map('string'))|length }}
{{ 'abc'|list }} {{ d|list }} {{ range(3)|list }} {{ (1, 2)|list }} {{ missing|list }} {{ d.items()|list }}
{{ 5|list }}
{{ users|map(attribute='name')|list }} {{ l|map('string')|list }} {{ strs|map('upper')|join }} {{ users|map(attribute='zz', default='?')|list }} {{ users|map(attribute='tags.0', default='-')|list }} {{ nested|map('length')|list }} {{ el|map('upper')|list }} {{ strs|map('replace', 'a', 'z')|list }} {{ l|map('default', 5)|list }} {{ users|map(attribute='zz')|list }}
{{ l|map }}{{ l|map|list }}
{{ l|map('nope')|list }}
{{ l|map(foo='x')|list }}
{{ l|map(attribute='x', foo=1)|list }}
{{ missing|map('upper')|list }} {{ none|map('upper')|list }}
{{ l|select('odd')|list }} {{ l|reject('odd')|list }} {{ mixed|select|list }} {{ mixed|reject|list }} {{ mixed|select('string')|list }} {{ l|select('>', 1)|list }} {{ l|select('gt', 1)|list }} {{ l|select('in', [1, 2])|list }} {{ l|select('divisibleby', 3)|list }} {{ l|select('equalto', 1)|list }} {{ l|reject('==', 2)|list }}
{{ users|selectattr('age')|map(attribute='name')|list }} {{ users|selectattr('age', 'equalto', 31)|map(attribute='name')|list }} {{ users|rejectattr('age', 'none')|map(attribute='name')|list }} {{ users|selectattr('tags', 'defined')|list|length }} {{ users|rejectattr('tags')|map(attribute='name')|list }} {{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|first }} {{ messages|selectattr('role', 'in', ['user', 'tool'])|list|length }}
{{ l|select('nope')|list }}
{{ users|selectattr|list }}
{{ missing|select|list }}
{{ l|first }} {{ l|last }} {{ s|first }} {{ s|last }} {{ uni|last }} {{ d|first }} {{ d|last }} {{ el|first }}| {{ el|last is defined }} {{ range(5)|last }} {{ missing|first }}| {{ missing|last }}| {{ d.values()|last }} {{ (l|map('string'))|first }}
{{ 5|first }}
{{ 5|last }}
{{ (l|map('string'))|last }}
{{ s|replace('l', 'L') }} {{ s|replace('l', 'L', 1) }} {{ 5|replace(5, 6) }} {{ s|replace('', '-') }} {{ s|replace('o', '0', count=1) }} {{ s|replace(old='o', new='0') }} {{ 'aXb'|replace('X', none) }} {{ missing|replace('a', 'b') }}|
{{ s|replace('l') }}
{{ 'a\nb\n\nc'|indent }}| {{ 'a\nb'|indent(2) }} {{ 'a\nb'|indent(2, true) }} {{ 'a\n\nb'|indent(2, blank=true) }} {{ 'a\nb'|indent('>>') }} {{ 'a\nb\n'|indent(first=true) }}| {{ ''|indent(2, true) }}| {{ lines|indent(1) }} {{ 'a\nb'|indent(width=1) }} {{ 'a\nb'|indent(-1) }}
{{ 5|indent }}
{{ '42'|int }} {{ '42.7'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ 3.9|int }} {{ -3.9|int }} {{ true|int }} {{ none|int }} {{ '0x1f'|int(0, 16) }} {{ 'ff'|int(base=16) }} {{ ' 5 '|int }} {{ '1_000'|int }} {{ '1e3'|int }} {{ big|int }} {{ '123456789012345678901234567890'|int }} {{ 1e20|int }} {{ [1]|int }} {{ ''|int }} {{ '-7'|int }} {{ '٣'|int }} {{ '0b11'|int(0, 2) }} {{ '0x1f'|int(0, 0) }} {{ 'nan'|int }} {{ 'inf'|int }} {{ '1__0'|int }} {{ '_1'|int }} {{ '+5'|int }}
{{ missing|int }}
{{ '2.5'|float }} {{ 'x'|float }} {{ 'x'|float(1.5) }} {{ 3|float }} {{ none|float }} {{ true|float }} {{ '1e5'|float }} {{ ' 2 '|float }} {{ 'inf'|float }} {{ '-nan'|float }} {{ big|float }} {{ '1_0.5'|float }} {{ '.5'|float }} {{ '5.'|float }} {{ '0x10'|float }} {{ 'Infinity'|float }} {{ '1e400'|float }}
{{ missing|float }}
{{ l|string }} {{ 5|string ~ 1 }} {{ none|string }} {{ 1.0|string }} {{ missing|string }}|
{{ -5|abs }} {{ (-5)|abs }} {{ (-2.5)|abs }} {{ negbig|abs }} {{ true|abs }} {{ (-0.0)|abs }}
{{ 'a'|abs }}
{{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ 2.5|round|int }} {{ 7|round }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(method='floor') }} {{ 2.123|round(2, 'ceil') }} {{ 1234.5|round(-2) }} {{ 1250|round(-2) }} {{ 1350|round(-2) }} {{ -2.5|round }} {{ (-2.5)|round }} {{ 0.5|round }} {{ 1.005|round(2) }} {{ 2.675|round(2) }} {{ 7|round(0, 'floor') }} {{ 1e20|round }} {{ true|round }} {{ 15.5|round(-1) }} {{ 25.0|round(-1) }} {{ 1.5|round(3) }}
{{ 1.5|round(1, 'nope') }}
{{ 'a'|round }}
{{ l|sort }} {{ strs|sort }} {{ strs|sort(case_sensitive=true) }} {{ l|sort(reverse=true) }} {{ users|sort(attribute='name')|map(attribute='name')|list }} {{ users[:3]|sort(attribute='age,name')|map(attribute='name')|list }} {{ d|sort }} {{ 'hello'|sort }} {{ [[2, 'b'], [1, 'z'], [2, 'a']]|sort(attribute=0) }} {{ [true, 0, 2]|sort }} {{ strs|sort(true) }} {{ [(2, 'b'), (1, 'a')]|sort }} {{ missing|sort }}
{{ mixed|sort }}
{{ users|sort(attribute='age') }}
{{ 5|sort }}
{{ strs|unique|list }} {{ strs|unique(true)|list }} {{ [1, 1.0, true, 2]|unique|list }} {{ users|unique(attribute='age')|map(attribute='name')|list }} {{ [none, none]|unique|list }} {{ 'Hello'|unique|join }}
{{ [[1], [1]]|unique|list }}
{{ l|reverse|list }} {{ s|reverse }} {{ uni|reverse }} {{ (1, 2)|reverse|list }} {{ d|reverse|list }} {{ range(3)|reverse|list }} {{ el|reverse|list }} {{ missing|reverse|list }} {{ (l|map('string'))|reverse }}
{{ 5|reverse }}
{{ l|sum }} {{ [1.5, 2]|sum }} {{ users[:3]|sum(attribute='age') }} {{ [[1], [2]]|sum(start=[]) }} {{ el|sum }} {{ l|sum(start=10) }} {{ [0.1, 0.2, 0.3]|sum }} {{ [true, true]|sum }}
{{ ['a']|sum }}
{{ users|sum(attribute='age') }}
{{ l|min }} {{ l|max }} {{ strs|min }} {{ strs|max }} {{ strs|max(true) }} {{ users[:3]|max(attribute='age') }} {{ el|min }}| {{ el|max is defined }} {{ 'hello'|max }} {{ [1, 1.0]|min }} {{ [2, 3.5]|max }}
{{ mixed|max }}
{{ 5|min }}
{{ d|dictsort }} {{ d|dictsort(by='key', reverse=true) }} {{ {'b': 1, 'A': 3, 'a': 2}|dictsort }} {{ {'b': 1, 'A': 3, 'a': 2}|dictsort(true) }} {{ {'b': 1, 'A': 3}|dictsort(false, 'value') }} {{ ed|dictsort }}
{{ d|dictsort(by='x') }}
{{ l|dictsort }}
{{ d|items|list }} {{ missing|items|list }} {{ ed|items|list }}
{{ l|items|list }}
{{ l|batch(2)|list }} {{ l|batch(2, 'x')|list }} {{ range(7)|batch(3)|list }} {{ el|batch(2)|list }} {{ l|batch(1)|map('first')|list }}
{{ range(7)|slice(3)|list }} {{ range(7)|slice(3, 'x')|list }} {{ l|slice(5)|list }} {{ el|slice(2)|list }}
{{ '%s %s'|format(1, 'a') }} {{ '%(x)s'|format(x=5) }} {{ 'a'|format }} {{ '%d%%'|format(50) }} {{ '%05.2f'|format(3.14159) }}
{{ '%s'|format }}
{{ '%s'|format(1, x=2) }}
{{ 'a long sentence here'|truncate(10) }} {{ 'a long sentence here'|truncate(10, true) }} {{ 'short'|truncate(10) }} {{ 'a long sentence here'|truncate(10, false, '!') }} {{ 'abcdefghijkl'|truncate(10) }} {{ 'abcdefghijkl'|truncate(10, leeway=0) }} {{ uni|truncate(8, true, '…', 0) }} {{ 'nospaceshereatall'|truncate(8, leeway=0) }}
{{ 'abc'|truncate(2) }}
{{ 'Hello, big world! it''s 2 x_y'|wordcount }} {{ ''|wordcount }} {{ uni|wordcount }} {{ 5|wordcount }}
{{ html|escape }} {{ html|e }} {{ html|safe }} {{ html|e|e }} {{ html|forceescape }} {{ html|e|forceescape }} {{ 5|e }} {{ [html|e] }} {{ (html|safe) ~ '<b>' }} {{ ('<a>'|safe) + '<b>' }} {{ '<b>' + ('<a>'|safe) }} {{ ('<'|safe) is escaped }} {{ '<' is escaped }} {{ missing|e }}| {{ none|e }}
{{ ('<i>'|safe)|upper }} {{ ('<i>'|safe).upper() is escaped }} {{ ('a<'|safe)[0] is escaped }} {{ ('<'|e)|length }} {{ ['<'|safe, '<']|join(',') }} {{ ('<'|safe)|tojson }} {{ ('<'|safe) * 2 }} {{ ('<%s>'|safe) % '<' }}
{{ d|tojson }} {{ mixed|tojson }} {{ uni|tojson }} {{ ctl|tojson }} {{ html|tojson }} {{ h|tojson }} {{ g|tojson }} {{ big|tojson }} {{ nil|tojson }} {{ t|tojson }} {{ s|tojson }} {{ el|tojson }} {{ ed|tojson }} {{ (1, 2)|tojson }} {{ tiny|tojson }} {{ -0.0|tojson }}
{{ d|tojson(indent=2) }} {{ nested|tojson(indent=4) }} {{ el|tojson(indent=2) }} {{ d|tojson(indent=0) }} {{ d|tojson(indent='--') }} {{ d|tojson(indent=none) }} {{ ed|tojson(indent=2) }} {{ {'a': []}|tojson(indent=2) }} {{ d|tojson(indent=-1) }} {{ d|tojson(indent=true) }}
{{ uni|tojson(ensure_ascii=true) }} {{ ctl|tojson(ensure_ascii=true) }} {{ uni|tojson(ensure_ascii=False) }} {{ uni|tojson(true) }} {{ d|tojson(sort_keys=true) }} {{ d|tojson(separators=(',', ':')) }} {{ d|tojson(separators=(',', ':'), indent=1) }} {{ {1: 'a', 2.5: 'b', none: 'c', true: 'd'}|tojson }} {{ d|tojson(false, 2) }}
{{ missing|tojson }}
{{ range(3)|tojson }}
{{ d.keys()|tojson }}
{{ (l|map('string'))|tojson }}
{{ {(1, 2): 3}|tojson }}
{{ {1: 1, 'a': 2}|tojson(sort_keys=true) }}
{{ [missing]|tojson }}
{{ d|tojson(foo=1) }}
{{ d|tojson(separators=',') }}
{{ s|urlencode }} {{ 'a/b?c=d&e é'|urlencode }} {{ {'a': 1, 'b c': 'd/e'}|urlencode }} {{ [('a', 1), ('b', 2)]|urlencode }} {{ 5|urlencode }} {{ missing|urlencode }}|
{{ {'class': 'a b', 'id': none, 'x': '<"'}|xmlattr }} {{ {'a': 1}|xmlattr(false) }} {{ {}|xmlattr }}| {{ {'a': missing}|xmlattr }}|
{{ {'a b': 1}|xmlattr }}
{{ 'ab'|center(6) }}| {{ 'ab'|center(width=5) }}| {{ 'abc'|center(0) }}
{{ 1000|filesizeformat }} {{ 1|filesizeformat }} {{ 999|filesizeformat }} {{ 1500000|filesizeformat }} {{ 1024|filesizeformat(true) }} {{ 123456789012|filesizeformat }} {{ '2048'|filesizeformat(binary=true) }}
{% for g in users|rejectattr('age', 'none')|groupby('age', default=0) %}{{ g.grouper }}:{{ g.list|map(attribute='name')|join(',') }};{% endfor %}
{% for k, v in [{'a': 'x', 'b': 1}, {'a': 'X', 'b': 2}, {'a': 'y', 'b': 3}]|groupby('a') %}{{ k }}={{ v|map(attribute='b')|list }} {% endfor %}
{% for k, v in [{'a': 'x'}, {'a': 'X'}]|groupby('a', case_sensitive=true) %}{{ k }}={{ v|length }} {% endfor %}
{{ [{'a': 1}]|groupby('a') }} {{ [{'a': 1}]|groupby('a')|first }}
{{ users|groupby('age') }}
{{ d|attr('a') }}| {{ d|attr('items') is callable }} {{ s|attr('nope') is defined }} {{ d|attr('__class__') }}|
{{ s|nope }}
{{ 'x' if false else s|nope }}
{{ 'x' if true else s|nope }}
{{ s is nope }}
{% if false %}{{ s|nope }}{{ s is nope }}{% endif %}ok
{% if true %}{{ s|nope }}{% endif %}
{{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ 'nope' is test }} {{ 'tojson' is filter }}
{{ s|upper|lower|title|replace('W', 'V')|length }} {{ s|upper() }} {{ (s)|upper }} {{ s|default('x')|upper }}
{{ s|upper(1) }}
{{ s|lower(foo=1) }}
{{ l|join(', ', 'x', 'y') }}
{{ s|default('a', default_value='b') }}
{{ [1, 2, 3] | sum + 4 }} {{ 'a' ~ 'b'|upper }} {{ ('a' ~ 'b')|upper }} {{ 1 + 2|string|length }} {{ not ''|length }}
{{ '1,2'.split(',')|map('int')|sum }} {{ 'x'|list|tojson }} {{ {'a': [1, 2]}['a']|last }} {{ [3, 1]|sort|first }}
""")

# --- tests
add(r"""
{{ n is defined }} {{ missing is defined }} {{ missing is undefined }} {{ d.zz is defined }} {{ nil is none }} {{ missing is none }} {{ nil is not none }} {{ d.a is defined and d.a is number }}
{{ s is string }} {{ n is string }} {{ n is number }} {{ f is number }} {{ t is number }} {{ s is number }} {{ n is integer }} {{ t is integer }} {{ f is integer }} {{ h is float }} {{ n is float }} {{ big is integer }} {{ big is number }}
{{ d is mapping }} {{ l is mapping }} {{ l is iterable }} {{ s is iterable }} {{ n is iterable }} {{ missing is iterable }} {{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ n is sequence }} {{ missing is sequence }} {{ range(3) is sequence }} {{ (l|map('string')) is sequence }} {{ (l|map('string')) is iterable }} {{ d.keys() is sequence }} {{ d.items() is iterable }} {{ (1, 2) is sequence }} {{ nil is iterable }}
{{ t is boolean }} {{ 1 is boolean }} {{ t is true }} {{ 1 is true }} {{ no is false }} {{ 0 is false }} {{ nil is false }}
{{ 3 is odd }} {{ 4 is even }} {{ 0 is even }} {{ -3 is odd }} {{ 9 is divisibleby(3) }} {{ 9 is divisibleby 4 }} {{ 2.0 is even }} {{ big is even }}
{{ 'a' is odd }}
{{ missing is odd }}
{{ nil is even }}
{{ 1 is eq 1 }} {{ 1 is eq(1) }} {{ 1 is equalto 2 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is lessthan 2 }} {{ 2 is gt 1 }} {{ 2 is greaterthan(1) }} {{ 2 is ge 2 }} {{ 2 is le 2 }} {{ 'a' is eq 'a' }} {{ 1 is in [1, 2] }} {{ 'a' is in 'abc' }} {{ 3 is not in [1] }} {{ none is sameas none }} {{ t is sameas true }} {{ 1 is sameas true }} {{ n is sameas n }} {{ l is sameas l }} {{ l is sameas nested }}
{{ s is lower }} {{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'Abc' is upper }} {{ '1' is lower }} {{ 5 is lower }}
{{ s.upper is callable }} {{ range is callable }} {{ s is callable }} {{ missing is callable }} {{ namespace is callable }} {{ nil is callable }}
{{ s is string is defined }}
{{ s is not string }} {{ not s is string }} {{ s is not defined or s }} {{ 'x' if s is string else 'y' }} {{ s is string and n is number }} {{ (s is string) is boolean }}
{{ n is gt(5) and n is lt 10 }} {{ n is gt 5 + 1 }} {{ l is eq [3, 1, 2] }} {{ d.a is eq d.a }} {{ n is eq n|int }}
{{ 1 is divisibleby 0 }}
{{ 1 is lt 'a' }}
{{ messages[2].tool_calls is defined and messages[2].tool_calls is not none }} {{ messages[0].tool_calls is defined }} {{ messages[0].content is string }}
{{ 'a' is none or 'b' }} {{ none is none and 'c' }}
""")

# --- statements and scopes
add(r"""
{% if n > 5 %}a{% elif n > 2 %}b{% else %}c{% endif %} {% if no %}x{% endif %}|{% if el %}x{% else %}empty{% endif %} {% if missing %}x{% else %}undef{% endif %} {% if not no and t %}y{% endif %}
{% for x in l %}{{ x }},{% endfor %} {% for x in el %}x{% else %}none{% endfor %} {% for x in missing %}x{% else %}undef{% endfor %} {% for c in 'abc' %}{{ c }}.{% endfor %} {% for k in d %}{{ k }}{% endfor %} {% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.previtem is defined }} {% endfor %}
{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %} {% for x in [1, 1, 2, 2, 1] %}{% if loop.changed(x) %}{{ x }}{% endif %}{% endfor %}
{% for x in l %}{{ loop.cycle() }}{% endfor %}
{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %} {% for x in l if x > 10 %}x{% else %}no{% endfor %} {% for x in range(10) if x is even %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}
{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %} {% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %} {% for (a, b) in [(1, 2)] %}{{ a }}{% endfor %} {% for a, b in ['xy'] %}{{ b }}{{ a }}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{% for a, in [(1,)] %}{{ a }}{% endfor %}
{% for x in l, 5, %}{{ x }}{% endfor %}
{% for x in 1, 2 recursive %}{{ x }}{% endfor %}
{% for a, b in [1] %}{% endfor %}
{% for a, b in [(1,)] %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in nil %}{% endfor %}
{% for x in range(5) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %} {% for x in l %}{% break %}{% else %}else{% endfor %} {% for x in l %}{% continue %}{% else %}else{% endfor %} {% for x in l %}{% if x == 2 %}{% break %}{% endif %}{% else %}else{% endfor %}
{% for x in l %}{% for y in [1, 2] %}{{ x }}{{ y }}{{ loop.index }} {% endfor %}{{ loop.index }}{% endfor %} {% for x in l %}{% set outer = loop %}{% for y in [1] %}{{ outer.index }}{% endfor %}{% endfor %} {% for x in nested %}{% for y in x %}{{ loop.first }}{% endfor %}{% endfor %}
{% for n in tree recursive %}{{ n.v }}{% if n.kids %}({{ loop(n.kids) }}){% endif %}{{ loop.depth }}{% endfor %}
{% for n in tree recursive %}{{ loop.index }}.{{ n.v }}{{ loop(n.kids) if n.kids }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}
{% for n in tree if n.v != 3 recursive %}{{ n.v }}{{ loop(n.kids) }}{% endfor %}
{% for x in l %}{{ loop(l) }}{% endfor %}
{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }} {% for i in l %}{% set q = i %}{% endfor %}{{ q }}|{% if t %}{% set y = 5 %}{% endif %}{{ y }} {% if no %}{% set z = 5 %}{% endif %}{{ z }}|{{ z is defined }}
{% for i in l %}{% set x = x|default(0) + i %}{{ x }},{% endfor %} {% set n = n + 1 %}{{ n }} {% for i in l %}{{ n }}{% set n = i %}{{ n }}{% endfor %}{{ n }}
{% set ns = namespace(x=0, y='a') %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns.y }}{{ ns.zz }}| {{ ns }} {{ ns['x'] }} {% set ns.new = 1 %}{{ ns.new }} {% set ns = namespace() %}{{ ns.x is defined }} {% set ns2 = namespace({'a': 1}, b=2) %}{{ ns2.a }}{{ ns2.b }}
{% set d.x = 1 %}
{% set missing.x = 1 %}
{% set ns = namespace(a=1) %}{% set ns.a, ns.b = 3, 4 %}{{ ns.a }}{{ ns.b }} {% set a, b = 1, 2 %}{{ a }}{{ b }} {% set (a, b) = (b, a) %}{{ a }}{{ b }} {% set a, b = 'xy' %}{{ a }} {% set x = 1, 2 %}{{ x }} {% set a, (b, c) = 1, (2, 3) %}{{ c }}
{% set a, b = 1 %}
{% set a, b = (1, 2, 3) %}
{% set x %}hello {{ n }}{% endset %}[{{ x }}] {% set x | upper %}abc{% endset %}{{ x }} {% set x | replace('a', 'b') | upper %}aXa{% endset %}{{ x }} {% set ns = namespace() %}{% set ns.t %}T{% endset %}{{ ns.t }} {% set x %}{% for i in l %}{{ i }}{% endfor %}{% endset %}{{ x|length }} {% set e %}{% endset %}[{{ e }}]
{% set x %}{% set y = 5 %}{{ y }}{% endset %}{{ x }}{{ y }}|
{% macro m(a, b=2, c='x') %}[{{ a }}|{{ b }}|{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c=5) }}{{ m(a=9) }}{{ m() }}{{ m(b=1, a=2) }}
{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{{ m(1) }} {% macro k() %}{{ kwargs.x }}{% endmacro %}{{ k(x=1) }} {% macro v() %}{% for a in varargs %}{{ a }}{% endfor %}{% endmacro %}{{ v(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}
{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {% macro m2(a=n) %}{{ a }}{% endmacro %}{{ m2() }} {% macro r(n) %}{{ n }}{% if n > 0 %}{{ r(n - 1) }}{% endif %}{% endmacro %}{{ r(3) }}
{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }} {% macro q() %}{% set n = 99 %}{{ n }}{% endmacro %}{{ q() }}{{ n }} {% macro o() %}{{ undefined_thing }}{% endmacro %}{{ o() }}|
{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}body{{ n }}{% endcall %} {% macro each(l) %}{% for x in l %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(x) each(l) %}({{ x }}){% endcall %} {% macro o(x) %}{{ caller is defined }}{{ caller }}{% endmacro %}{{ o(1) }}
{% macro w(a) %}{{ a }}{{ caller(1, b=2) }}{% endmacro %}{% call(x, b, c=3) w('z') %}{{ x }}{{ b }}{{ c }}{% endcall %} {% macro opt() %}{% if caller %}{{ caller() }}{% else %}no{% endif %}{% endmacro %}{{ opt() }}{% call opt() %}yes{% endcall %}
{% macro nc() %}x{% endmacro %}{% call nc() %}body{% endcall %}
{% macro m(x) %}{{ x }}{% endmacro %}{{ m.name }} {{ m.arguments }} {{ m.catch_kwargs }} {{ m.catch_varargs }} {{ m.caller }} {{ m }} {{ m is callable }} {{ m|string }}
{% macro m(a, caller=none) %}{{ caller }}{% endmacro %}{{ m(1) }}
{% macro m(caller) %}{{ caller() }}{% endmacro %}{{ m(1) }}
{% macro m(a, a) %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% macro outer(x) %}{% macro inner(y) %}{{ x }}{{ y }}{% endmacro %}{{ inner(2) }}{{ inner(3) }}{% endmacro %}{{ outer(1) }} {% for i in l %}{% macro lm() %}{{ i }}{% endmacro %}{{ lm() }}{% endfor %}
{{ m2 }}|{% macro m2() %}x{% endmacro %}{{ m2() }} {% if t %}{% macro im() %}im{% endmacro %}{% endif %}{{ im() }}
{% filter upper %}abc {{ s }}{% endfilter %} {% filter replace('a', 'b')|upper %}aaa{% endfilter %} {% for x in l %}{% filter string %}{{ x }}{% set zz = x %}{% endfilter %}{% endfor %}{{ zz }}| {% filter trim %}  x  {% endfilter %}|
{% filter nope %}x{% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}| {% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}| {% set v = 1 %}{% with v = 2 %}{{ v }}{% set v = 3 %}{{ v }}{% endwith %}{{ v }} {% with a = 5, b = a %}{{ b }}{% endwith %}| {% with a, b = (1, 2) %}{{ a }}{% endwith %}
{% block foo %}in block {{ n }}{% endblock %} {% block bar %}{% set n = 1 %}{{ n }}{% endblock bar %}{{ n }} {% set tv = 5 %}{% block baz %}{{ tv }}{% endblock %} {% for i in l %}{% block qux %}{{ i }}|{% endblock %}{% endfor %}
{% block a %}{% endblock %}{% block a %}{% endblock %}
{% generation %}gen {{ n }}{% endgeneration %} {% generation %}{% set gx = 1 %}{{ gx }}{% endgeneration %}{{ gx }}| {% for x in l %}{% generation %}{{ x }}{{ loop.index }}{% endgeneration %}{% endfor %}
{% for x in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}
{% print n %} {% print n, s %} {% print 1, %}
{% for x in l %}{{ x }}{% endfor %}{{ x }}| {% for x in l %}{% endfor %}{{ x is defined }} {% set x = 'keep' %}{% for x in l %}{{ x }}{% endfor %}{{ x }}
{% for loop in l %}{% endfor %}
{% for x in l %}{% set loop = 1 %}{% endfor %}
{% set loop = 5 %}{{ loop }}
{{ loop }}| {{ loop is defined }} {% for x in l %}{% endfor %}{{ loop is defined }} {% for x in l %}{{ loop is defined }}{% endfor %} {% for x in l %}{{ loop }}{% endfor %}
{% for x in l|map('string') %}{{ loop.length }}{{ loop.last }}{% endfor %} {% for x in l|select('odd') %}{{ x }}{{ loop.revindex }}{{ ',' if not loop.last }}{% endfor %} {% set it = l|map('string') %}{{ it|join }}{{ it|join }}|
{% set it = l|map('string') %}{% for x in it %}{{ x }}{% if loop.first %}{{ it|first }}{% endif %}{% endfor %}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }} {% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}c {% set j = joiner() %}{{ j() }}x{{ j() }}
{{ cycler() }}
{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ dict([('a', 1)]) }} {{ dict() }} {{ dict(**{'q': 1}) }} {{ dict(a=1).a }}
{{ range(100001) }}
{{ range(100000)|length }} {{ range(0, 100000, 2)|length }} {{ range(5, 0)|list }}
{{ range(1.5) }}
{{ range('a') }}
{{ range(1, 2, 0) }}
{{ range() }}
{{ raise_exception('boom') }}
{% if n > 100 %}{{ raise_exception('x') }}{% endif %}fine
{{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%d %b %Y, %H:%M:%S.%f %A %j %p %I %y %B %%') }} {{ strftime_now('%Z|%z|') }} {{ strftime_now('') }}| {{ strftime_now('%-d/%-m') }} {{ strftime_now('%a %U %w %x %X %c') }}
{{ strftime_now(5) }}
{% set args = [1, 2] %}{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*args) }} {{ m(**{'a': 5, 'b': 6}) }} {{ m(1, *[2]) }} {{ m(*[1], **{'b': 2}) }} {{ m(*'xy') }} {{ m(1, b=2,) }}
{% macro m(a) %}{% endmacro %}{{ m(a=1, **{'a': 2}) }}
{% macro m(a) %}{% endmacro %}{{ m(a=1, a=2) }}
{% macro m(a) %}{% endmacro %}{{ m(a=1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(**5) }}
{% set x = [] %}{% set x = x + [1] %}{% set x = x + [2] %}{{ x }} {% set d2 = dict(d, z=1) %}{{ d2 }} {% set l2 = l + [4] %}{{ l }}{{ l2 }}
{% for x in l %}{% if loop.index == 2 %}{% set found = x %}{% endif %}{% endfor %}{{ found }}| {% set ns = namespace(found=false) %}{% for x in l %}{% if x == 1 %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}
{% if t %}{% for x in l %}{% set inner = x %}{% if loop.last %}{{ inner }}{% endif %}{% endfor %}{% endif %}{{ inner }}|
{% set x = 1 %}{% if t %}{% set x = 2 %}{% if t %}{% set x = x + 5 %}{% endif %}{% endif %}{{ x }} {% if no %}{% set s = 1 %}{% elif t %}{{ s }}{% endif %}{{ s }}
{% set s = 'a' %}{% macro m() %}{{ s }}{% set s = 'b' %}{{ s }}{% endmacro %}{{ m() }}{{ s }} {% macro p(s) %}{{ s }}{% endmacro %}{{ p('arg') }}{{ s }}
{% for x in l %}{% for x in [x, x * 10] %}{{ x }},{% endfor %}{{ x }};{% endfor %}
{% for i in range(3) %}{% set a = i %}{% for j in range(2) %}{% set a = a + j %}{{ a }}{% endfor %}{{ a }} {% endfor %}
{{ messages|length }}{% for m in messages %}{% if m['role'] == 'user' %}[U]{{ m['content'] }}{% elif m.role == 'assistant' %}[A]{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}{% endif %}{% endif %}{% endfor %}
{% set msgs = messages[1:] if messages[0].role == 'system' else messages %}{{ msgs|length }} {% for m in msgs if m.role != 'tool' %}{{ loop.index0 }}{{ m.role }}{% endfor %}
{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% endif %}{{ system_message }}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}BAD{% endif %}{% endfor %}
""")

# --- white space, comments, raw and syntax errors
SNIPPETS += [
    "a\n{% if t %}\nb\n{% endif %}\nc\n",
    "a\n  {% if t %}  \n  b\n  {% endif %}  x\nc\n\n",
    "  {%- if t -%}  b  {%- endif -%}  c",
    "a  {{- ' x ' -}}  b",
    "a \n {{- n }} \n b",
    "a \n {{ n -}} \n b",
    "{% if t +%}\nb{% endif %}",
    "  {%+ if t %}b{% endif %}",
    "a\n  {%+ if t %}b{%+ endif %}\n",
    "a\n  {# comment #}\nb",
    "a {# c #} b {#- c -#} d",
    "a\n{#- c #}\n{# c -#}\n b",
    "a{# multi\nline {{ x }} {% if %} #}b",
    "a{#+ c +#}\nb",
    "{% raw %}{{ x }} {% if %}{% endraw %}",
    "a\n  {% raw %}\n  {{ x }}\n  {% endraw %}\nb",
    "{%- raw -%}  {{ x }}  {%- endraw -%}  b",
    "{% raw %}a{% raw %}b{% endraw %}",
    "a\r\nb\rc\n{{ n }}\r\n",
    "a\n\n",
    "\n",
    "",
    "{{ n }}\n",
    "{{ n }}\n\n",
    "{% set x = 1 %}\n\n{{ x }}",
    "{% for x in l %}\n  {{ x }}\n{% endfor %}\n",
    "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\n",
    "\t{% if t %}\n\t\tx\n\t{% endif %}\n",
    "x {% if t %} y {% endif %} z",
    "   {% if t %}{% endif %}   {% if t %}   {% endif %}",
    "a\n   {{ n }}\nb",
    "a\u00a0{%- if t %}b{% endif %}",
    "\u2003{% if t %}b{% endif %}",
    "a\n\x0b{% if t %}b{% endif %}",
    "a{%- if t -%}\u2028 \x85b{% endif %}",
    "{{ 'a\nb' }}",
    "{{ 'a\\\nb' }}",
    "{{ 'a\r\nb'|length }}",
    "{{ n\n}}{{\nn }}",
    "{%\nif t\n%}x{%\nendif\n%}",
    "{{ {'a': {'b': 1}} }}{{ {'a':{}}}}",
    "{{ '}}' }} {{ '%}' }} {% if '%}' %}x{% endif %}",
    "{ {n} } {{ n }} { % if % }",
    "{{ n }}}",
    "{{{ n }}}",
    "{{{'a': 1}}}",
    "{{{'a': 1}['a']}}",
    "{% if t: %}x{% endif %}",
    "{% for x in l: %}{{ x }}{% endfor %}",
    "{{ n -}}{{- n }}",
    "{{-n}} {{ -n}} {{ n-1 }} {{ n -1 }}",
    "{{ n }", "{{ n", "{% if t %}x", "{% if t %}x{% endfor %}", "{% endif %}", "{% else %}", "{% foo %}",
    "{{ }}", "{% %}", "{{ n n }}", "{{ (n }}", "{{ n) }}", "{{ [n }}", "{{ [n) }}", "{{ 'abc }}", "{# abc", "{% raw %}abc",
    "{{ n. }}", "{{ .n }}", "{{ n[ }}", "{{ n | }}", "{{ | n }}", "{{ n is }}", "{{ is n }}", "{{ 1 + }}", "{{ + }}",
    "{{ n ? 1 : 2 }}", "{{ n && t }}", "{{ !n }}", "{{ n ! }}", "{{ $n }}", "{{ n @ t }}", "{{ a = 1 }}", "{{ n; t }}",
    "{% set %}", "{% set x %}", "{% set x = %}", "{% set 1 = 2 %}", "{% set x.y.z = 2 %}", "{% set x[0] = 2 %}", "{% set true = 1 %}",
    "{% set none = 1 %}", "{% for %}", "{% for x %}", "{% for x in %}", "{% for 1 in l %}{% endfor %}", "{% for x.y in l %}{% endfor %}",
    "{% macro %}", "{% macro m %}{% endmacro %}", "{% macro m( %}", "{% macro 1() %}{% endmacro %}", "{% call x %}{% endcall %}",
    "{% break %}", "{% continue %}", "{% if t %}{% break %}{% endif %}", "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in l %}{% else %}{% break %}{% endfor %}", "{% for y in l %}{% for x in el %}{% else %}{% break %}{% endfor %}x{% endfor %}",
    "{% for x in l %}{% if t %}{% break %}{% endif %}x{% endfor %}",
    "{% elif %}", "{% if %}x{% endif %}", "{% if t %}{% elif %}{% endif %}", "{% filter %}x{% endfilter %}", "{% with a %}{% endwith %}",
    "{% endraw %}", "{% if t %}{% else %}{% else %}{% endif %}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}",
    "{% from 'x' import y %}", "{{ super() }}", "{% set x = 1 }}", "{{ n %}", "{% if t }}x{% endif %}", "{{ n(a b) }}", "{{ f(,) }}",
    "{{ [,] }}", "{{ {1} }}", "{{ {1: } }}", "{{ {'a' 1} }}", "{{ 1 if }}", "{{ if t }}", "{{ not }}", "{{ n not t }}", "{{ n not in }}",
    "{{ 012 }}", "{{ 1__0 }}", "{{ 1_ }}", "{{ 1.2.3 }}", "{{ 1a }}", "{{ 0x }}", "{{ 1e }}", "{{ '\\x4' }}", "{{ '\\u12' }}",
    "{{ s.1a }}", "{{ s.'a' }}", "{{ s|1 }}", "{{ s is 1 }}", "{{ l[1,2] }}|", "{{ l[] }}|", "{{ l[1 2] }}", "{{ ''''' }}",
    "{{ é }}|{{ naïve_ключ }}|", "{% set ключ = 5 %}{{ ключ }}", "{{ a·b }}|", "{{ x² }}", "{{ _x }}|{{ __x }}|",
    "{{ '日本' ~ \"語\" }} 😀 {{ '😀'|length }}",
    "{{ 'a' if t else }}", "{{ (t) ? }}", "{{ n.__init__ }}|{{ n._x }}|",
    "line1\n{{ 1 / 0 }}", "{% do l.append(1) %}", "{% autoescape false %}x{% endautoescape %}ok" if False else "{% endautoescape %}",
    "{% if n == 7 -%}\n   seven\n{%- else -%}\n   other\n{%- endif %}\n!\n",
    "{%- for m in messages -%}\n{{- '<|' + m['role'] + '|>\\n' + m['content'] + '\\n' -}}\n{%- endfor -%}\n{%- if true -%}\n{{- '<|assistant|>' -}}\n{%- endif -%}\n",
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}}{% endfor %}",
    "{{ bos_token }}{% for m in messages %}\n    {% if m.role == 'user' %}\n        {{- m.content }}\n    {% endif %}\n{% endfor %}{{ eos_token }}",
    "{{ n }}{# trailing #}\n\n{{ n }}{%- set x = 1 %}\n\n{{ x }}",
    "{%- macro f(x) -%}\n  {{- x -}}\n{%- endmacro -%}\n{{ f(1) }}\n{{ f(2) }}",
    "{% set x -%}\n   abc   \n{%- endset %}[{{ x }}]",
    "{% raw -%}   {{ x }}{%- endraw %}",
    "{%- raw %}\n  x\n{% endraw -%}\n  y",
    "a\n    {%- raw %} x {% endraw +%}\n y",
    "  {# a #}  {# b #}  \n  {# c #}\n",
    "{{ '{{' }} {{ '{%' }} {{ '{#' }} #} %} }}",
    "{%if t%}x{%endif%}{%for x in l%}{{x}}{%endfor%}{{n}}",
]

# --- a few larger pieces as published templates write them
SNIPPETS += [
    # a type printer as tool prompts use
    """{%- macro json_type(p) -%}
{%- if p.type == 'array' -%}{%- if p['items'] -%}{{ json_type(p['items']) }}[]{%- else -%}any[]{%- endif -%}
{%- elif p.type is defined and p.type is iterable and p.type is not string -%}{{ p.type | join(' | ') }}
{%- elif p.enum -%}{{ '"' + p.enum|join('" | "') + '"' }}
{%- elif p.type == 'object' -%}{ {%- for k, v in p.properties.items() -%} {{ k }}{{ '?' if k not in (p.required or []) }}: {{ json_type(v) }}{{ ', ' if not loop.last }} {%- endfor -%} }
{%- else -%}{{ p.type }}{%- endif -%}
{%- endmacro -%}
{% set schema = {'type': 'object', 'required': ['a'], 'properties': {'a': {'type': 'array', 'items': {'type': 'string'}}, 'b': {'type': ['integer', 'null']}, 'c': {'enum': ['x', 'y']}, 'd': {'type': 'object', 'properties': {'e': {'type': 'number'}}}}} %}
function f(_: {{ json_type(schema) }}) => any;
""",
    """{%- set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='') -%}
{%- for message in messages -%}{%- if message['role'] == 'system' -%}{%- set ns.system_prompt = message['content'] -%}{%- endif -%}{%- endfor -%}
{{ bos_token }}{{ ns.system_prompt }}
{%- for message in messages -%}
{%- if message['role'] == 'user' -%}{%- set ns.is_tool = false -%}{{'<|User|>' + message['content']}}{%- endif -%}
{%- if message['role'] == 'assistant' and message['content'] is none -%}x{%- endif -%}
{%- if message['role'] == 'assistant' and message['content'] is not none -%}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<|Assistant|>' + content + eos_token}}{%- endif -%}
{%- if message['role'] == 'tool' -%}{%- set ns.is_tool = true -%}{{'<|tool|>' + message['content']}}{%- set ns.is_output_first = false %}{%- endif -%}
{%- endfor -%}{% if ns.is_tool %}{{'<|end|>'}}{% endif %}""",
    """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if loop.index0 > ns.last_query_index %}
        {%- if loop.last or (not loop.last and message.content) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + message.content.strip('\\n') + '\\n</think>\\n\\n' + message.content.lstrip('\\n') }}
        {%- endif %}
    {%- else %}{{- message.role }}
    {%- endif %}
    {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|first|>' }}{%- endif %}
    {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|last|>\\n' }}{%- endif %}
{%- endfor %}""",
    """{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- else %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if builtin_tools is defined %}{{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\\n\\n"}}{%- endif %}
{%- for arg_name, arg_val in messages[2].tool_calls[0].function.arguments | items %}{{- arg_name + '="' + arg_val|string + '"' }}{%- if not loop.last %}{{- ", " }}{%- endif %}{%- endfor %}
{{- '{"name": "' + messages[2].tool_calls[0].function.name + '", ' }}{{- '"parameters": ' }}{{- messages[2].tool_calls[0].function.arguments | tojson }}{{- "}" }}""",
    """{%- if messages[0]["role"] == "system" %}{%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}{%- set ns.index = 0 %}
{%- for message in loop_messages %}
{%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
{%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("roles must alternate") }}{%- endif %}
{%- set ns.index = ns.index + 1 %}{%- endif %}{%- endfor %}
{{- bos_token }}{%- for message in loop_messages %}{%- if message["role"] == "user" %}{%- if tools is defined and (message == user_messages[-1]) %}T{%- endif %}{%- if loop.last and system_message is defined %}{{- "[INST] " + system_message }}{%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}{%- endif %}
{%- elif message.tool_calls is defined and message.tool_calls is not none %}{{- "[TOOL_CALLS] [" }}{%- for tool_call in message.tool_calls %}{%- set out = tool_call.function|tojson %}{{- out[:-1] }}{{- ', "id": "' + tool_call.id + '"}' }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}{%- endfor %}{%- endif %}{%- endfor %}""",
]
