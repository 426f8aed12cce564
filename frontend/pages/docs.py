"""GET /docs: the guide to the API; /docs/reference: the schemas of /openapi.json."""

import asyncio
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiohttp import web
from markdown_it import MarkdownIt

from frontend.catalogue.endpoints import ENDPOINTS
from frontend.catalogue.extensions import EXTENSIONS, SUBTITLES, TOKEN_ARRAYS, TRANSCRIPT_STREAMING, TRANSLATIONS
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS, Model, Served
from frontend.catalogue.prices import to_chf
from frontend.config.settings import Settings
from frontend.errors import ApiError, InsufficientQuota
from frontend.pages.openapi import MEANINGS
from frontend.pages.static_files import STATIC, file_routes, page_response, page_route, read_page
from frontend.parameters.embeddings import most_inputs
from frontend.parameters.kinds import ModelName, Parameter, Schema
from frontend.parameters.speech import LONGEST_INPUT
from frontend.parameters.table import Table, without_spellings
from frontend.parameters.tables import TABLES
from frontend.parameters.transcription import formats

_FOLDER = STATIC / "docs"
_TEXT = (_FOLDER / "guide.md").read_text(encoding="utf-8")
_PLACEHOLDER = re.compile(r"\{\{(.+?)\}\}")
# The paragraphs about operations and extensions, for deployments that have all of them.
_SECTION = re.compile(r"<!-- ([\w ]+) -->\n(.*?)<!-- end -->\n\n", re.DOTALL)
# The most values of a parameter that its row lists.
_MOST_LISTED = 10
_OF_OPENAI = ("user", "instructions", "stream", "stream_format")
_DOES = {TRANSCRIPTIONS: "speech to text", SPEECH: "text to speech", EMBEDDINGS: "embeddings", RERANK: "rerank"}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _models(settings: Settings) -> str:
    def price(model: str) -> str:
        price = settings.prices[model]
        return f"{to_chf(price.micro_chf)} CHF a {price.unit.replace('_', ' ')}" if price.micro_chf else "free"

    def does(model: Model) -> str:
        return ", ".join(filter(None, (_DOES[model.operation], model.about)))

    rows = [(f"`{model.id}`", does(model), price(model.id)) for model in settings.served.models]
    rows += [(f"`{name}`", f"is `{own}`", "") for name, own in settings.aliases.models.items()]
    return _table(["model", "does", "costs"], rows)


def _voices(settings: Settings) -> str:
    def default_of(name: str) -> str:
        return ", ".join(code for code, voice in settings.served.defaults_by_language.items() if voice == name)

    rows = [
        (f"`{voice.name}`", voice.language, voice.gender, default_of(voice.name)) for voice in settings.served.voices
    ]
    rows += [(f"`{name}`", f"is `{own}`", "", "") for name, own in settings.aliases.voices.items()]
    return _table(["voice", "language", "gender", "the default of"], rows) if rows else ""


def _extensions(settings: Settings) -> str:
    rows = [(f"`{name}`", text) for name, text in EXTENSIONS.items() if name in settings.served.extensions]
    return f"Extensions that are on:\n\n{_table(['extension', 'adds'], rows)}\n\n" if rows else ""


def _ignored(settings: Settings) -> str:
    every = dict.fromkeys(name for each in TABLES.values() for name in each.ignored(settings.served))
    names = ", ".join(f"`{name}`" for name in without_spellings(every))
    return f"; ignored here: {names}" if names else ""


def _unlisted(settings: Settings) -> str:
    """Parameters of OpenAI that every endpoint rejects."""
    served = settings.served
    known = {name for each in TABLES.values() for name in (*each.names(served), *each.ignored(served))}
    names = ", ".join(f"`{name}`" for name in _OF_OPENAI if name not in known)
    return f", also for {names}" if names else ""


def _either(names: Iterable[str]) -> str:
    """The names as in "a, b or c"."""
    return " or ".join(", ".join(names).rsplit(", ", 1))


def _transcript_formats(settings: Settings) -> str:
    """The formats of transcripts, and those of OpenAI that are missing."""
    missing = [] if SUBTITLES in settings.served.extensions else ["`srt`", "`vtt`"]
    if TRANSCRIPT_STREAMING not in settings.served.extensions:
        missing.append("stream")
    lacks = f"; no {_either(missing)}" if missing else ""
    return f"{_either(f'`{name}`' for name in formats(settings.served))}{lacks}"


def _meaning(schema: Schema) -> str:
    """What a parameter is for, and the values that it takes."""
    values = [f"`{name}`" for name in schema.get("items", schema).get("enum", ())]
    sentences = [schema.get("description", "")]
    if 1 < len(values) <= _MOST_LISTED:
        sentences.append(f"{_either(values)}.")
    if "maximum" in schema:
        sentences.append(f"{schema['minimum']:g} to {schema['maximum']:g}.")
    if "maxLength" in schema:
        sentences.append(f"At most {schema['maxLength']:,} characters.")
    if "maxItems" in schema:
        sentences.append(f"At most {schema['maxItems']}.")
    return " ".join(filter(None, sentences))


def _parameters(table: Table, served: Served) -> str:
    """The parameters of an endpoint, those of extensions included."""

    def default(parameter: Parameter, schema: Schema) -> str:
        if parameter.required:
            return "required"
        usual = schema["enum"][0] if isinstance(parameter, ModelName) else schema.get("default")
        return "none" if usual is None else f"`{usual}`".lower()

    schemas = {parameter: parameter.schema(served) for parameter in table.taken(served)}
    rows = [(f"`{each.name}`", default(each, schema), _meaning(schema)) for each, schema in schemas.items()]
    return _table(["parameter", "default", "meaning"], rows)


def _limits(settings: Settings) -> str:
    rows = [
        (f"`POST {endpoint.path}`", f"{settings.limits[endpoint.limit]}")
        for endpoint in ENDPOINTS
        if endpoint.operation in settings.operations
    ]
    return _table(["endpoint", "requests per minute"], rows)


def _errors() -> str:
    meanings: dict[type[ApiError], str] = {**MEANINGS, InsufficientQuota: "The balance does not cover the request."}
    rows = [(str(kind.status), f"`{kind.type}`", text) for kind, text in meanings.items()]
    return _table(["status", "type", "when"], sorted(rows, key=lambda row: row[0]))


def guide(settings: Settings) -> str:
    """The guide as Markdown, with the served models, limits and prices. ``$QUARTET_URL`` is the address."""
    served = {operation for operation in _DOES if settings.served.ids(operation)}
    values: Mapping[str, str] = {
        **{f"parameters of {operation}": _parameters(TABLES[operation], settings.served) for operation in served},
        "models": _models(settings),
        "voices": _voices(settings),
        "voice": settings.served.voices[0].name if settings.served.voices else "",
        "extensions": _extensions(settings),
        "limits": _limits(settings),
        "ignored": _ignored(settings),
        "unlisted": _unlisted(settings),
        "audio_formats": _either(f"`{name}`" for name in settings.served.audio_formats),
        "transcript_formats": _transcript_formats(settings),
        "other_apis": "images" if TRANSLATIONS in settings.served.extensions else "translation, images",
        "speech_format": settings.aliases.speech_format or "wav",
        "errors": _errors(),
        "translators": ", ".join(f"`{name}`" for name in settings.served.translators()),
        "longest_input": f"{LONGEST_INPUT:,}",
        "token_arrays": "" if TOKEN_ARRAYS in settings.served.extensions else "; no token arrays",
        "most_inputs": f"{most_inputs(settings.served):,}",
    }
    shown = served | settings.served.extensions
    text = _SECTION.sub(lambda section: section[2] if shown.issuperset(section[1].split()) else "", _TEXT)
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def rendered(text: str) -> tuple[str, str]:
    """HTML of a table of contents and of the text. Markup within the text is escaped."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    environment: dict[str, Any] = {}
    tokens = markdown.parse(text, environment)
    links = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            title = tokens[index + 1].content
            token.attrSet("id", _slug(title))
            links.append(f'<li><a href="#{_slug(title)}">{markdown.renderInline(title)}</a></li>')
    return f"<ul>{''.join(links)}</ul>", markdown.renderer.render(tokens, markdown.options, environment)


def _slug(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def routes(settings: Settings) -> list[web.RouteDef]:
    """The guide for this deployment, and the reference."""

    @functools.cache
    def page() -> str:
        contents, text = rendered(guide(settings))
        template = read_page(_FOLDER / "index.html", "/docs")
        return template.replace("<!-- contents -->", contents).replace("<!-- guide -->", text)

    rendering = asyncio.Lock()

    async def show(request: web.Request) -> web.Response:
        async with rendering:
            # The first rendering would block the event loop for too long.
            text = page() if page.cache_info().currsize else await asyncio.to_thread(page)
        return page_response(request, text)

    return [
        web.get("/docs", show),
        page_route("/docs/reference", _FOLDER / "reference.html"),
        *file_routes("/docs", _FOLDER),
    ]
