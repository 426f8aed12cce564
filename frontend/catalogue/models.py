"""The models that callers can name: operation, Triton model and price of each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.extensions import SPEECH_FORMATS, TRANSLATIONS
from frontend.catalogue.prices import MICRO, Price
from frontend.catalogue.voices import AUDIO_FORMATS, DEFAULTS_BY_LANGUAGE, MORE_AUDIO_FORMATS, VOICES, Voice

TRANSCRIPTIONS, SPEECH, EMBEDDINGS, RERANK, CHAT = "transcriptions", "speech", "embeddings", "rerank", "chat"
# The priced unit of each operation.
_UNITS = {
    TRANSCRIPTIONS: "minute",
    SPEECH: "million_characters",
    EMBEDDINGS: "million_tokens",
    RERANK: "million_tokens",
    CHAT: "million_tokens",
}

# What a deployment has with a model that learned queries and documents with prefixes.
PREFIXES = "prefixes"
# Of the folder of each Triton model that an operator adds.
ADDED_PREFIX = "added_"

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Model:
    """``about`` says what it is, if others do the same, and ``micro_chf`` is the price per unit of the operation.

    For speech, each voice has its own ``triton_model``. A text model reads ``max_tokens`` of a text; an embedder
    returns vectors of ``width`` numbers. It may have learned texts with prefixes, and that the first numbers of a
    vector, as many as one of ``dimensions``, are one too. A model that ``translates`` was trained to write in English
    what is said in another language. ``languages`` are those of a Whisper that knows fewer than others. A reranker with
    ``raw_scores`` gives them as they are, without the sigmoid.
    """

    id: str
    operation: str
    micro_chf: int = 0
    triton_model: str = ""
    max_tokens: int = 0
    width: int = 0
    translates: bool = False
    query_prefix: str = ""
    document_prefix: str = ""
    dimensions: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    raw_scores: bool = False
    about: str = ""

    @property
    def price(self) -> Price:
        return Price(self.operation, _UNITS[self.operation], self.micro_chf)


# The first model of an operation is its default.
MODELS: Mapping[str, Model] = {
    model.id: model
    for model in (
        Model("stt-1", TRANSCRIPTIONS, 6_000, "whisper_turbo", about="fast"),
        Model("stt-1-hd", TRANSCRIPTIONS, 6_000, "whisper_large_v3", translates=True, about="for noise and accents"),
        Model("tts-1", SPEECH, 5 * MICRO),
        Model("tts-1-hd", SPEECH, 5 * MICRO, about="the same as tts-1"),
        Model("embed-m3", EMBEDDINGS, triton_model="m3_embedder", max_tokens=8192, width=1024),
        Model("rerank-v2-m3", RERANK, triton_model="m3_reranker", max_tokens=8192),
        Model("chat", CHAT),
    )
}
PRICES: Mapping[str, Price] = {model.id: model.price for model in MODELS.values()}


@dataclass(frozen=True)
class Added:
    """What an operator adds to the catalogue. ``absent`` models could not be exported: their names are known."""

    voices: tuple[Voice, ...] = ()
    models: tuple[Model, ...] = ()
    absent: tuple[Model, ...] = ()


@dataclass(frozen=True)
class Served:
    """The models and voices that a deployment serves, in the catalogue's order, with aliases and extensions."""

    models: tuple[Model, ...]
    voices: tuple[Voice, ...]
    aliases: Aliases = field(default_factory=Aliases)
    extensions: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        models: str = "all",
        voices: str = "all",
        aliases: Aliases | None = None,
        extensions: frozenset[str] = frozenset(),
        added: Added = Added(),
    ) -> "Served":
        """Parse ``all``, or names with commas. ``added`` voices and models come after those of the catalogue.

        Without a model that translates, no deployment has translations. Raises ``ValueError`` for an unknown name.
        """
        known = (*MODELS.values(), *added.models, *added.absent)
        named = {model.id: model for model in known if model.operation != CHAT}
        chosen = [model for model in _named(named, models) if model not in added.absent]
        speaks = any(model.operation == SPEECH for model in chosen)
        if not any(model.translates for model in chosen):
            extensions -= {TRANSLATIONS}
        spoken = _named({**VOICES, **{voice.name: voice for voice in added.voices}}, voices) if speaks else []
        return cls(tuple(chosen), tuple(spoken), aliases or Aliases(), extensions)

    @property
    def contract(self) -> "Served":
        """The same without aliases and extensions, for endpoints that accept none."""
        return replace(self, aliases=Aliases(), extensions=frozenset())

    def ids(self, operation: str | None = None) -> tuple[str, ...]:
        """The ids of all models, or of the models of one operation."""
        return tuple(model.id for model in self.models if operation in (None, model.operation))

    def model_names(self, operation: str | None = None) -> dict[str, str]:
        """The model of each name that callers can use; ids come first, then aliases."""
        return _with_others(self.ids(operation), self.aliases.models)

    def translators(self) -> dict[str, str]:
        """The model of each name that callers can use for translations; empty without the extension."""
        named = self.model_names(TRANSCRIPTIONS).items() if TRANSLATIONS in self.extensions else ()
        models = self.by_id(TRANSCRIPTIONS)
        return {name: model for name, model in named if models[model].translates}

    @cached_property
    def features(self) -> frozenset[str]:
        """The extensions, and ``PREFIXES`` if a model has some."""
        has_prefixes = any(model.query_prefix or model.document_prefix for model in self.models)
        return self.extensions | {PREFIXES} if has_prefixes else self.extensions

    @property
    def translating(self) -> set[str]:
        """The Triton models of the ``translators``."""
        models = self.by_id(TRANSCRIPTIONS)
        return {models[model].triton_model for model in self.translators().values()}

    def voice_names(self) -> dict[str, str]:
        """The voice of each name that callers can use."""
        return _with_others([voice.name for voice in self.voices], self.aliases.voices)

    def by_id(self, operation: str) -> dict[str, Model]:
        return {model.id: model for model in self.models if model.operation == operation}

    @property
    def defaults_by_language(self) -> dict[str, str]:
        """The default voice of each language. An added voice is one only of a language without another."""
        names = {voice.name for voice in self.voices}
        defaults = {language: voice for language, voice in DEFAULTS_BY_LANGUAGE.items() if voice in names}
        for voice in self.voices:
            if voice.name not in VOICES:
                defaults.setdefault(voice.language, voice.name)
        return defaults

    @property
    def audio_formats(self) -> Mapping[str, str]:
        """The content type of each audio format that speech can have."""
        return {**AUDIO_FORMATS, **(MORE_AUDIO_FORMATS if SPEECH_FORMATS in self.extensions else {})}

    @property
    def triton_models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for model in self.models for name in self.triton_models_of(model)))

    def triton_models_of(self, model: Model) -> tuple[str, ...]:
        """The Triton models of one model."""
        if model.operation != SPEECH:
            return (model.triton_model,)
        return tuple(dict.fromkeys(voice.triton_model for voice in self.voices))


def _with_others(own: Collection[str], others: Mapping[str, str]) -> dict[str, str]:
    return {name: name for name in own} | {other: name for other, name in others.items() if name in own}


def _named(known: Mapping[str, _Item], names: str) -> list[_Item]:
    if names == "all":
        return list(known.values())
    requested = {name.strip() for name in names.split(",")}
    if unknown := requested - known.keys():
        raise ValueError(f"there is no {min(unknown)!r}; there are {', '.join(known)}")
    return [item for name, item in known.items() if name in requested]
