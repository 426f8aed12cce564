"""The tables of the settings' file: limits, tiers, pools, floors, prices, aliases; each checked before a start."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import MODELS, PRICES, Served
from frontend.catalogue.parameters import PARAMETERS
from frontend.catalogue.prices import Price, to_micro
from frontend.catalogue.voices import AUDIO_FORMATS, VOICES
from frontend.config.pools import PoolSetting

TIERS = ("bulk", "free", "pro", "company")
USUAL_TIER = "free"
# In the queue, 1 goes first.
LEVELS: Mapping[str, int] = {tier: len(TIERS) - place for place, tier in enumerate(TIERS)}
# More is no limit, and does not fit a database's integers.
MOST_REQUESTS = 1_000_000_000
_POOL = {item.name for item in fields(PoolSetting)} - {"name"}
_ALIASES = {item.name for item in fields(Aliases)}
# As long as the name of a parameter or a model may be in an answer.
_LONGEST_ALIAS = 128
_POOL_TEXTS = ("zone", "server_name")
_NEEDS = (("certificate", "key"), ("key", "certificate"), ("certificate", "ca"), ("server_name", "ca"))


class SettingsError(ValueError):
    """A setting is missing, unknown or out of range; the message names it."""


def tables_of(content: dict[str, Any]) -> dict[str, Any]:
    """Take the tables out of a file's content, and answer them as values of the settings."""
    tiers, pools, floors, prices, aliases = (
        _table(name, content.pop(name, {})) for name in ("tiers", "pools", "floors", "prices", "aliases")
    )
    for tier in tiers:
        if tier not in TIERS:
            raise SettingsError(f"tiers.{tier}: there is no such tier; tiers are {', '.join(TIERS)}")
    return {
        "limits": {**LIMITS, **_limits("limits", content.pop("limits", {}))},
        "tiers": {tier: _limits(f"tiers.{tier}", numbers) for tier, numbers in tiers.items()},
        "pools": tuple(_pool(name, table) for name, table in pools.items()),
        "floors": {model: _floors(f"floors.{model}", table) for model, table in floors.items()},
        "prices": {**PRICES, **{model: _price(model, table) for model, table in prices.items()}},
        "aliases": _aliases(aliases),
    }


def check_limit(place: str, name: str, number: Any) -> None:
    """``SettingsError`` unless this is a limit that exists, with a number it can have."""
    if name not in LIMITS:
        raise SettingsError(f"{place}: there is no such limit; limits are {', '.join(LIMITS)}")
    _check_number(place, number)
    if number > MOST_REQUESTS:
        raise SettingsError(f"{place}: must be at most {MOST_REQUESTS}")


def _check_number(place: str, number: Any) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise SettingsError(f"{place}: must be a positive integer")


def _table(place: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SettingsError(f"{place}: must be a table")
    return table


def _numbers(place: str, table: Any) -> dict[str, int]:
    for name, number in _table(place, table).items():
        _check_number(f"{place}.{name}", number)
    return dict(table)


def _floors(place: str, table: Any) -> dict[str, int]:
    """Slots by owner: ``key:<id>`` for a key, whose name any other could bear too, ``org:<name>`` for an organisation.

    A name alone is an organisation's.
    """
    numbers = _numbers(place, table)
    return {
        owner if owner.startswith(("org:", "key:")) else f"org:{owner}": number for owner, number in numbers.items()
    }


def _limits(place: str, table: Any) -> dict[str, int]:
    for name, number in _table(place, table).items():
        check_limit(f"{place}.{name}", name, number)
    return dict(table)


def _pool(name: str, table: Any) -> PoolSetting:
    place = f"pools.{name}"
    if unknown := _table(place, table).keys() - _POOL:
        raise SettingsError(f"{place}.{min(unknown)}: there is no such setting")
    if ("address" in table) == ("file" in table):
        raise SettingsError(f"{place}: must have an address or a file")
    for setting, other in _NEEDS:
        if setting in table and other not in table:
            raise SettingsError(f"{place}.{setting}: needs {place}.{other}")
    address = table.get("address", [])
    values: dict[str, Any] = {
        "address": _names(f"{place}.address", [address] if isinstance(address, str) else address),
        "models": _names(f"{place}.models", table.get("models", [])),
        "concurrency": _numbers(f"{place}.concurrency", table.get("concurrency", {})),
    }
    for setting in table.keys() - values.keys():
        if not isinstance(text := table[setting], str) or not text:
            raise SettingsError(f"{place}.{setting}: must be a string")
        values[setting] = text if setting in _POOL_TEXTS else Path(text)
    return checked(f"{place}.{'file' if 'file' in table else 'address'}", PoolSetting(name, **values))


def checked(place: str, pool: PoolSetting) -> PoolSetting:
    """The pool; ``SettingsError`` where an address is none, or its file cannot be read."""
    try:
        pool.read()
    except (ValueError, OSError) as error:
        raise SettingsError(f"{place}: {error}") from None
    return pool


def _names(place: str, names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"{place}: must be a list of names")
    return tuple(names)


def _price(model: str, table: Any) -> Price:
    if model not in PRICES:
        raise SettingsError(f"prices.{model}: there is no such model; models are {', '.join(PRICES)}")
    usual = PRICES[model]
    if _table(f"prices.{model}", table).keys() != {usual.unit}:
        raise SettingsError(f"prices.{model}: must have {usual.unit}, and nothing else")
    try:
        return replace(usual, micro_chf=to_micro(str(table[usual.unit])))
    except ValueError as error:
        raise SettingsError(f"prices.{model}.{usual.unit}: {error}") from None


def _aliases(table: dict[str, Any]) -> Aliases:
    if unknown := table.keys() - _ALIASES:
        raise SettingsError(
            f"aliases.{min(unknown)}: there is no such setting; there are {', '.join(sorted(_ALIASES))}"
        )
    models, voices = (_others(f"aliases.{kind}", table.get(kind, {})) for kind in ("models", "voices"))
    ignore = _names("aliases.ignore", table.get("ignore", []))
    speech_format = table.get("speech_format", "")
    if speech_format not in ("", *AUDIO_FORMATS):
        raise SettingsError(f"aliases.speech_format: must be one of {', '.join(AUDIO_FORMATS)}")
    return Aliases(models, voices, ignore, speech_format)


def _others(place: str, table: Any) -> dict[str, str]:
    for name, own in _table(place, table).items():
        if not isinstance(own, str):
            raise SettingsError(f"{place}.{name}: must be a string")
        _check_alias(place, name)
    return dict(table)


def _check_alias(place: str, name: str) -> None:
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST_ALIAS:
        raise SettingsError(f"{place}: {name[:_LONGEST_ALIAS]!r} must have 1 to {_LONGEST_ALIAS} printable characters")


def check_aliases(served: Served) -> None:
    """``SettingsError`` where an alias stands for nothing or takes a name's place, or what counts is ignored."""
    aliases = served.aliases
    _check_others("aliases.models", aliases.models, served.ids(), MODELS)
    _check_others("aliases.voices", aliases.voices, [voice.name for voice in served.voices], VOICES)
    for name in aliases.ignore:
        if operation := next((each for each, names in PARAMETERS.items() if name in names), None):
            raise SettingsError(f"aliases.ignore: {name!r} is a parameter of {operation}, and means something there")
        _check_alias("aliases.ignore", name)


def check_models(place: str, models: Iterable[str]) -> None:
    """``SettingsError`` for the first of ``models`` that the catalogue does not have."""
    known = Served.of().triton_models
    for model in models:
        if model not in known:
            raise SettingsError(f"{place}: there is no model {model!r}; there are {', '.join(known)}")


def _check_others(place: str, others: Mapping[str, str], served: Collection[str], taken: Collection[str]) -> None:
    for name, own in others.items():
        if name in taken:
            raise SettingsError(f"{place}.{name}: is a name already, and must stay what it is")
        if own not in served:
            raise SettingsError(f"{place}.{name}: {own!r} is not served; there are {', '.join(served) or 'none'}")
