"""GET /docs: how the interface is called; /docs/reference: each schema of /openapi.json; nothing from the internet."""

import asyncio
import functools
import re
from typing import Any

from aiohttp import web
from markdown_it import MarkdownIt

from frontend.config.settings import Settings
from frontend.pages.guide import guide
from frontend.pages.static_files import STATIC, page_response, page_route, part_routes, parts_of, policy, read_page

_FOLDER = STATIC / "docs"
_HEADERS = policy()


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


def routes(settings: Settings) -> list[web.RouteDef]:
    """The guide with what this deployment serves, and the reference behind it."""

    @functools.cache
    def page() -> str:
        contents, text = rendered(guide(settings))
        whole = read_page(_FOLDER / "index.html", "/docs")
        return whole.replace("<!-- contents -->", contents).replace("<!-- guide -->", text)

    async def show(request: web.Request) -> web.Response:
        # The first time it is put together, which takes longer than the event loop may be held.
        return page_response(request, await asyncio.to_thread(page), _HEADERS)

    reference = page_route("/docs/reference", _FOLDER / "reference.html", _HEADERS)
    return [web.get("/docs", show), reference, *part_routes("/docs", parts_of(_FOLDER), _HEADERS)]
