"""Markdown, as language models write it, to the text that a person reads out."""

import re
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Indented code, blocks of HTML and link definitions would take lines of plain text for markup.
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["code", "html_block", "reference"])
_PRODUCT = re.compile(r"(?<=\d)\*(?=\d)")
_HIGHLIGHT = re.compile(r"==(?=\S)([^=\n]+)(?<=\S)==")
# The box of a task, behind its bullet.
_TASK = re.compile(r"^\[[ xX]\] ")
# A mark whose other end is missing, as in a text that was cut off.
_OPEN_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=[^\W\d_])")


def plain(text: str) -> str:
    """The text without markup: a link is its label, a picture its alternative text, a table's row has commas.

    An empty line separates headings, paragraphs, items and rows.
    """
    return "\n\n".join(_blocks(_PARSER.parse(_PRODUCT.sub(r"\\*", text))))


def _blocks(tokens: Iterable[Token]) -> Iterator[str]:
    number, cells = "", list[str]()
    in_table = in_item = False
    for token in tokens:
        if token.type == "list_item_open":
            # With its dot, which a bullet has not.
            number, in_item = token.info and f"{token.info}{token.markup} ", True
        elif token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        elif token.type == "inline" and in_table:
            cells.append(_inline(token.children or []))
        elif token.type == "tr_close":
            yield ", ".join(filter(None, cells))
            cells.clear()
        elif token.type == "inline":
            content = _inline(token.children or [])
            yield number + (_TASK.sub("", content) if in_item else content)
            number = ""
        elif token.type == "fence":
            yield token.content


def _inline(tokens: Iterable[Token]) -> str:
    return _HIGHLIGHT.sub(r"\1", "".join(map(_words, tokens)))


def _words(token: Token) -> str:
    match token.type:
        case "text":
            return _OPEN_EMPHASIS.sub("", token.content)
        case "softbreak" | "hardbreak":
            return "\n"
        case "html_inline":
            return "\n" if token.content.lower().startswith("<br") else ""
        case _:
            # Code and alternative texts. Marks of emphasis have no content.
            return token.content
