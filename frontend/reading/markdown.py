"""Markdown, as language models write it, to the text that a person reads out."""

import re
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Indented code, blocks of HTML and link definitions would take lines of plain text for markup.
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["code", "html_block", "reference"])
_WITHOUT_TABLES = MarkdownIt("commonmark").enable("strikethrough").disable(["code", "html_block", "reference"])
# A wide table with many short rows takes a second, because each row is filled with cells.
_MOST_COLUMNS = 12
# As in 2*3 and Kolleg*innen, and a sign before a temperature, which is no bullet.
_NO_EMPHASIS = re.compile(r"(?<=\d)(\*+)(?=\d)|(?<=\w)(\*)(?=\w)")
_NO_BULLET = re.compile(r"^([-+])(?= \d+(?:[.,]\d+)? ?°)", re.MULTILINE)
# Other words in angle brackets are no markup, such as <name>.
_TAG = re.compile(
    r"<!--.*|</?(?:a|abbr|b|big|blockquote|br|center|code|dd|del|details|div|dl|dt|em|font|h[1-6]|hr|i|iframe|img|ins|kbd"
    r"|li|mark|ol|p|pre|q|s|small|span|strike|strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul|video|audio)"
    r"(?:\s[^>]*=[^>]*)?\s?/?>",
    re.IGNORECASE | re.DOTALL,
)
_HIGHLIGHT = re.compile(r"==(?=\S)([^=\n]+)(?<=\S)==")
# The box of a task, behind its bullet.
_TASK = re.compile(r"^\[[ xX]\] ")
# A mark whose other end is missing, as in a text that was cut off.
_OPEN_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=[^\W\d_])")


def plain(text: str) -> str:
    """The text without markup: a link is its label, a picture its alternative text, a table's row has commas.

    An empty line separates headings, paragraphs, items and rows.
    """
    text = _NO_BULLET.sub(r"\\\1", _NO_EMPHASIS.sub(_escaped, text))
    is_wide = any(line.count("|") > _MOST_COLUMNS for line in text.splitlines())
    return "\n\n".join(_blocks((_WITHOUT_TABLES if is_wide else _PARSER).parse(text)))


def _escaped(stars: re.Match[str]) -> str:
    return "".join(f"\\{star}" for star in stars[0])


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
            # "a<b and c>d" is no markup.
            is_break = token.content.lower().startswith("<br")
            return "\n" if is_break else _TAG.sub("", token.content)
        case _:
            # Code and alternative texts. Marks of emphasis have no content.
            return token.content
