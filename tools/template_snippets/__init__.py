"""Small templates, one for each rule of the template language that chat templates can meet.

An item of SNIPPETS is a template; it is rendered with CONTEXT_JSON. A tuple is (template, more context). The order is that
of the committed vectors.
"""
from template_snippets import expressions, functions, layout, published, statements

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

SNIPPETS = [
    *expressions.SNIPPETS,
    *functions.SNIPPETS,
    *statements.SNIPPETS,
    *layout.SNIPPETS,
    *published.SNIPPETS,
]
