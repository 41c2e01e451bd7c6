"""Methods, filters and tests."""
from template_snippets.lines import lines

SNIPPETS = []

# --- methods
SNIPPETS += lines(r"""
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
SNIPPETS += lines(r"""
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
SNIPPETS += lines(r"""
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
