"""Random templates from a grammar: expressions over the context of template_snippets, and programs that set, loop,
branch and call macros over three names, for the rules of scopes."""

ATOMS = ["n", "m", "zero", "f", "g", "h", "third", "big", "negbig", "t", "no", "nil", "s", "empty", "uni", "ws", "html", "l",
         "mixed", "el", "strs", "nested", "d", "ed", "users", "missing", "1", "0", "2", "-1", "3.5", "'a'", "'abc'", "''", "none",
         "true", "[1, 2]", "{'a': 1}", "(1, 2)", "range(4)", "d.c", "l[0]", "users[0]", "'%s'", "'é日'", "10 ** 20", "messages"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in", "**"]
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "list", "string", "int", "float", "abs", "round", "first",
           "last", "sort", "unique|list", "reverse|list", "sum", "min", "max", "join(',')", "default('D')", "default('D', true)", "tojson",
           "tojson(indent=2)", "map('string')|list", "select|list", "reject('none')|list", "replace('a', 'b')", "indent", "dictsort",
           "items|list", "batch(2)|list", "slice(2)|list", "e", "safe", "wordcount", "truncate(5)", "center(9)", "urlencode", "string|length",
           "map(attribute='name')|list", "selectattr('age')|list", "join", "round(1)", "int(7)", "groupby('age')", "sort(reverse=true)",
           "map('upper')|join('-')", "count", "format(1)", "xmlattr", "sum(start=1)", "first|default('none')", "filesizeformat"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "iterable", "sequence", "boolean", "true",
         "false", "odd", "even", "divisibleby 2", "lower", "upper", "eq 1", "in l", "callable", "escaped", "sameas none", "gt 1", "ne 'a'"]
SUFFIXES = ["[0]", "[-1]", "[1:]", "[::-1]", "[:2]", "['a']", ".a", ".name", ".upper()", ".strip()", ".split()", ".items()|list", ".keys()|list",
            ".get('a')", ".startswith('a')", ".replace('l', 'L')", ".count(1)", ".join(strs)", ".find('l')", "[n]", "[missing]", "[1:2:1]",
            ".lower()", ".title()", ".splitlines()", ".endswith(('d', 'c'))", ".format(1, 2)", ".isdigit()", ".x"]


def expression(rng, depth=0):
    kind = rng.randint(0, 9)
    if depth > 3 or kind <= 1:
        return rng.choice(ATOMS)
    if kind <= 4:
        return f"({expression(rng, depth + 1)} {rng.choice(OPERATORS)} {expression(rng, depth + 1)})"
    if kind == 5:
        return f"({expression(rng, depth + 1)})|{rng.choice(FILTERS)}" if rng.random() < 0.5 else f"{rng.choice(ATOMS)}|{rng.choice(FILTERS)}"
    if kind == 6:
        return f"({expression(rng, depth + 1)} is {rng.choice(['', 'not '])}{rng.choice(TESTS)})"
    if kind == 7:
        return f"({expression(rng, depth + 1)}){rng.choice(SUFFIXES)}"
    if kind == 8:
        return f"({expression(rng, depth + 1)} if {expression(rng, depth + 1)} else {expression(rng, depth + 1)})"
    return rng.choice([f"not {expression(rng, depth + 1)}", f"[{expression(rng, depth + 1)}, {expression(rng, depth + 1)}]",
                       f"-{rng.choice(ATOMS)}", f"{{'k': {expression(rng, depth + 1)}}}"])


NAMES = ["a", "b", "c"]


def small(rng):
    return rng.choice(NAMES + ["1", "2", "x", "loop.index", "loop.first", "a ~ b", "[1, 2]", "loop.last", "ns.v", "b|default('u')"])


def program(rng, depth=0):
    out = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.randint(0, 13) if depth < 3 else rng.randint(0, 4)
        name = rng.choice(NAMES)
        body = (lambda: program(rng, depth + 1))
        if kind <= 1:
            out.append(f"<{{{{ {small(rng)} }}}}>")
        elif kind <= 3:
            out.append(f"{{% set {name} = {small(rng)} %}}")
        elif kind == 4:
            out.append(rng.choice(["\n", " ", "{%- set a = b -%}", "{# c #}\n", f"{{% set ns.v = {small(rng)} %}}", "\n  {% if a %}\nA\n  {% endif %}\n"]))
        elif kind <= 6:
            out.append(f"{{% if {small(rng)} %}}{body()}{rng.choice(['', '{% else %}' + body(), '{% elif ' + small(rng) + ' %}' + body()])}{{% endif %}}")
        elif kind <= 8:
            flow = rng.choice(["", "", f"{{% if {small(rng)} %}}{{% {rng.choice(['break', 'continue'])} %}}{{% endif %}}"])
            test = rng.choice(["", "", f" if {small(rng)}"])
            other = rng.choice(["", "", "{% else %}" + body()])
            out.append(f"{{% for {name} in {rng.choice(['[1, 2]', 'range(3)', '[]', 'x', NAMES[0]])}{test} %}}{body()}{flow}{body()}{other}{{% endfor %}}")
        elif kind == 9:
            out.append(f"{{% macro m{depth}({name}{rng.choice(['', '=' + rng.choice(NAMES)])}) %}}{body()}{rng.choice(['', '{{ caller() if caller }}'])}{{% endmacro %}}"
                       f"{{{{ m{depth}({rng.choice(['', '5', 'a'])}) }}}}")
        elif kind == 10:
            out.append(f"{{% set {name} %}}{body()}{{% endset %}}")
        elif kind == 11:
            out.append(f"{{% with {name} = {small(rng)} %}}{body()}{{% endwith %}}")
        elif kind == 12:
            out.append(f"{{% filter upper %}}{body()}{{% endfilter %}}")
        else:
            out.append(f"{{% macro w() %}}[{{{{ caller() }}}}{{{{ {name} }}}}]{{% endmacro %}}{{% call w() %}}{body()}{{% endcall %}}"
                       if rng.random() < 0.6 else f"{{% generation %}}{body()}{{% endgeneration %}}")
    return "".join(out)
