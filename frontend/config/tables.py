"""The tables of the settings' file: limits, tiers, backends, floors, prices; each checked before anything starts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import PRICES
from frontend.catalogue.prices import Price, to_micro

TIERS = ("free", "pro", "company")
# In the queue, 1 goes first.
LEVELS: Mapping[str, int] = {tier: len(TIERS) - place for place, tier in enumerate(TIERS)}
# More is no limit, and does not fit a database's integers.
MOST_REQUESTS = 1_000_000_000
_BACKEND = {"address", "models", "concurrency"}


class SettingsError(ValueError):
    """A setting is missing, unknown or out of range; the message names it."""


@dataclass(frozen=True)
class TritonSetting:
    """A Triton at host:port; without ``models`` it serves all. ``concurrency`` is calls at once by model."""

    name: str
    address: str
    models: tuple[str, ...] = ()
    concurrency: Mapping[str, int] = field(default_factory=dict)

    def slots(self, models: Iterable[str], default: int) -> dict[str, int]:
        """Calls at once of those of ``models`` that it serves; 0 is for it to say."""
        return {model: self.concurrency.get(model, default) for model in models if model in (self.models or models)}


def tables_of(content: dict[str, Any]) -> dict[str, Any]:
    """Take the tables out of a file's content, and answer them as values of the settings."""
    tiers = _table("tiers", content.pop("tiers", {}))
    for tier in tiers:
        if tier not in TIERS:
            raise SettingsError(f"tiers.{tier}: there is no such tier; tiers are {', '.join(TIERS)}")
    backends = _table("backends", content.pop("backends", {}))
    floors = _table("floors", content.pop("floors", {}))
    prices = _table("prices", content.pop("prices", {}))
    return {
        "limits": {**LIMITS, **_limits("limits", content.pop("limits", {}))},
        "tiers": {tier: _limits(f"tiers.{tier}", numbers) for tier, numbers in tiers.items()},
        "backends": tuple(_backend(name, table) for name, table in backends.items()),
        "floors": {model: _floors(f"floors.{model}", table) for model, table in floors.items()},
        "prices": {**PRICES, **{model: _price(model, table) for model, table in prices.items()}},
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


def _backend(name: str, table: Any) -> TritonSetting:
    place = f"backends.{name}"
    if unknown := _table(place, table).keys() - _BACKEND:
        raise SettingsError(f"{place}.{min(unknown)}: there is no such setting")
    address, models = table.get("address"), table.get("models", [])
    if not isinstance(address, str) or ":" not in address:
        raise SettingsError(f"{place}.address: must be host:port of a Triton's gRPC service")
    if not isinstance(models, list) or not all(isinstance(model, str) for model in models):
        raise SettingsError(f"{place}.models: must be a list of names")
    return TritonSetting(name, address, tuple(models), _numbers(f"{place}.concurrency", table.get("concurrency", {})))


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
