"""Statements and scopes."""
from template_snippets.lines import lines

SNIPPETS = lines(r"""
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
