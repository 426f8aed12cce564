"""How the interface is called, as Markdown: what a deployment serves, allows and charges is put into one text."""

import re
from collections.abc import Iterable, Mapping, Sequence

from frontend.catalogue.endpoints import ENDPOINTS
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.catalogue.prices import to_chf
from frontend.config.settings import Settings
from frontend.errors import ApiError, InsufficientQuota
from frontend.operations.embeddings.protocol import MOST_INPUTS
from frontend.operations.rerank.protocol import MOST_DOCUMENTS
from frontend.operations.speech.protocol import LONGEST_INPUT
from frontend.operations.transcription.protocol import LONGEST_PROMPT
from frontend.pages.openapi import MEANINGS
from frontend.pages.static_files import STATIC

_TEXT = (STATIC / "docs" / "guide.md").read_text(encoding="utf-8")
_PLACE = re.compile(r"\{\{(.+?)\}\}")
# What is told of an operation where it is served.
_PART = re.compile(r"<!-- (\w+) -->\n(.*?)<!-- end -->\n\n", re.DOTALL)
_DOES = {
    TRANSCRIPTIONS: "speech to text",
    SPEECH: "text to speech",
    EMBEDDINGS: "embeddings",
    RERANK: "rerank",
}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _models(settings: Settings) -> str:
    def price(model: str) -> str:
        price = settings.prices[model]
        return f"{to_chf(price.micro_chf)} CHF a {price.unit.replace('_', ' ')}" if price.micro_chf else "free"

    rows = [(f"`{model.id}`", _DOES[model.operation], price(model.id)) for model in settings.served.models]
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


def _ignored(settings: Settings) -> str:
    names = ", ".join(f"`{name}`" for name in settings.aliases.ignore)
    return f"; ignored here: {names}" if names else ""


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
    """The whole text, for what is served; ``$QUARTET_URL`` stands for the address."""
    served = {operation: ids for operation in _DOES if (ids := settings.served.ids(operation))}
    places: Mapping[str, str] = {
        **{operation: f"`{ids[0]}`" for operation, ids in served.items()},
        "models": _models(settings),
        "voices": _voices(settings),
        "limits": _limits(settings),
        "ignored": _ignored(settings),
        "speech_format": settings.aliases.speech_format or "wav",
        "errors": _errors(),
        "longest_input": f"{LONGEST_INPUT:,}",
        "longest_prompt": f"{LONGEST_PROMPT:,}",
        "most_inputs": f"{MOST_INPUTS}",
        "most_documents": f"{MOST_DOCUMENTS}",
    }
    text = _PART.sub(lambda part: part[2] if part[1] in served else "", _TEXT)
    return _PLACE.sub(lambda place: places[place[1]], text)
