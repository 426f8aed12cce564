"""Checks of the settings file's tables by pydantic, and its errors as sentences."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic_core.core_schema import no_info_after_validator_function, with_info_after_validator_function

from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import MODELS, PRICES, Added, Served
from frontend.catalogue.prices import Price, to_micro
from frontend.catalogue.voices import VOICES
from frontend.config.reading import refusal
from frontend.parameters.tables import TABLES

TIERS = ("bulk", "free", "pro", "company")
USUAL_TIER = "free"
# In the queue, 1 goes first.
LEVELS: Mapping[str, int] = {tier: len(TIERS) - index for index, tier in enumerate(TIERS)}
TIER_OF: Mapping[int, str] = {level: tier for tier, level in LEVELS.items()}
# The largest limit that fits a database's integers.
MOST_REQUESTS = 1_000_000_000
_SENTENCES = {
    "unexpected_keyword_argument": "there is no such setting",
    "dataclass_type": "must be a table",
    "dict_type": "must be a table",
    "tuple_type": "must be a list of names",
}


def faults_of(error: ValidationError) -> Iterator[tuple[str, str]]:
    """The setting and the reason of each fault."""
    for fault in error.errors():
        sentence, value = _SENTENCES.get(fault["type"], ""), fault["input"]
        if fault["type"] == "value_error":
            sentence = str(fault["ctx"]["error"])
        elif not sentence:
            sentence = fault["msg"].partition(", unable")[0].replace("Input should", "must")
            sentence += f", not {value!r}" if isinstance(value, str | int) else ""
        yield ".".join(str(part) for part in fault["loc"] if part != "[key]"), sentence


def _checked(kind: str, name: str, names: Collection[str]) -> str:
    if name not in names:
        raise ValueError(f"there is no {kind} {name!r}; there are {', '.join(names)}")
    return name


def _one_of(kind: str, names: Collection[str]) -> AfterValidator:
    return AfterValidator(lambda name: _checked(kind, name, names))


def _triton_model(name: str, info: ValidationInfo) -> str:
    """What is added has Triton models too; it is the context of the validation."""
    added = info.context or Added()
    absent = [model.triton_model for model in added.absent]
    return _checked("model", name, (*Served.of(added=added).triton_models, *absent))


def made_of(source: Any, make: Callable[[Any], Any]) -> GetPydanticSchema:
    """A field that is validated as ``source`` and then converted by ``make``."""
    return GetPydanticSchema(lambda _, schema: no_info_after_validator_function(make, schema(source)))


def _price(usual: Mapping[str, Price], model: str, by_unit: Mapping[str, int]) -> Price:
    if model not in usual:
        raise ValueError(f"there is no model {model!r}; there are {', '.join(usual)}")
    if by_unit.keys() != {unit := usual[model].unit}:
        raise ValueError(f"{model} must have {unit}, and nothing else")
    return replace(usual[model], micro_chf=by_unit[unit])


def _prices(amounts: Mapping[str, Mapping[str, int]], info: ValidationInfo) -> dict[str, Price]:
    """The prices of all models, of which what is added, the context of the validation, has its own."""
    added = info.context or Added()
    usual = {**PRICES, **{model.id: model.price for model in (*added.models, *added.absent)}}
    return {**usual, **{model: _price(usual, model, by_unit) for model, by_unit in amounts.items()}}


Slots = Annotated[int, Field(strict=True, ge=1)]
TritonModel = Annotated[str, AfterValidator(_triton_model)]
# A plain name is an organisation. A key is named by its id, because names of keys are not unique.
_Owner = Annotated[str, AfterValidator(lambda name: name if name.startswith(("org:", "key:")) else f"org:{name}")]
_Micro = Annotated[int, BeforeValidator(lambda amount: to_micro(str(amount)))]
_Limits = dict[Annotated[str, _one_of("limit", LIMITS)], Annotated[int, Field(strict=True, ge=1, le=MOST_REQUESTS)]]

Limits = Annotated[Mapping[str, int], made_of(_Limits, lambda limits: {**LIMITS, **limits})]
Tiers = Mapping[Annotated[str, _one_of("tier", TIERS)], _Limits]
Floors = Mapping[TritonModel, dict[_Owner, Slots]]
Prices = Annotated[
    Mapping[str, Price],
    GetPydanticSchema(
        lambda _, schema: with_info_after_validator_function(_prices, schema(dict[str, dict[str, _Micro]]))
    ),
]


def faults_of_aliases(served: Served, absent: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Aliases of unserved names, aliases that are names already, and ignored parameters that have a meaning.

    An alias may mean an ``absent`` model, and is not served either.
    """
    contract = served.contract
    aliases, voices = served.aliases, [voice.name for voice in served.voices]
    for kind, others, own, taken in (
        ("models", aliases.models, served.ids(), {*MODELS, *served.ids(), *absent}),
        ("voices", aliases.voices, voices, {*VOICES, *voices}),
    ):
        for name, meant in others.items():
            if name in taken:
                yield f"aliases.{kind}.{name}", "is a name already, and must stay what it is"
            if meant not in own and not (kind == "models" and meant in absent):
                yield f"aliases.{kind}.{name}", f"{meant!r} is not served; there are {', '.join(own) or 'none'}"
    # One that an extension gives a meaning is ignored elsewhere.
    for name in aliases.ignore:
        if operation := next((each for each, table in TABLES.items() if name in table.names(contract)), None):
            yield "aliases.ignore", f"{name!r} is a parameter of {operation}, and means something there"
    if aliases.speech_format not in ("", *served.audio_formats):
        yield "aliases.speech_format", f"must be one of {', '.join(served.audio_formats)}"


def check_limit(setting: str, name: str, number: Any) -> None:
    """Raise ``SettingsError`` for an unknown limit or a number that it cannot have."""
    try:
        TypeAdapter(_Limits).validate_python({name: number})
    except ValidationError as error:
        raise refusal(((setting, sentence) for _, sentence in faults_of(error)), {}) from None
