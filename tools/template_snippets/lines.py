"""How snippets are written down."""


def lines(text):
    """One snippet a line."""
    return [line for line in text.strip("\n").split("\n") if line.strip()]
