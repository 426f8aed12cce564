"""Markdown as a page's inside: its text, and the list of its sections."""

import re
from typing import Any

from markdown_it import MarkdownIt


def rendered(text: str) -> tuple[str, str]:
    """HTML of a list that links the sections, and of the text, in which markup stays text."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    environment: dict[str, Any] = {}
    tokens = markdown.parse(text, environment)
    links = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            title = tokens[place + 1].content
            token.attrSet("id", _slug(title))
            links.append(f'<li><a href="#{_slug(title)}">{markdown.renderInline(title)}</a></li>')
        elif token.type == "code_block":
            token.attrSet("class", "sent")
    return f"<ul>{''.join(links)}</ul>", markdown.renderer.render(tokens, markdown.options, environment)


def _slug(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")
