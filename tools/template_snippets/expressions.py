"""Values and how they are printed, operators, subscripts and slices."""
from template_snippets.lines import lines

SNIPPETS = []

# --- printing of values
SNIPPETS += lines(r"""
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
SNIPPETS += lines(r"""
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
SNIPPETS += lines(r"""
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
