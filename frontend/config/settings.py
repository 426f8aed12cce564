"""Settings from a TOML file and the environment. Bad ones prevent the start and are named."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from frontend.catalogue import extensions
from frontend.catalogue.added_models import added_in, added_models
from frontend.catalogue.aliases import Aliases
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.kokoro import speakers_of
from frontend.catalogue.models import CHAT, PRICES, Added, Served
from frontend.config import reading
from frontend.config.fields import Fields
from frontend.config.networks import Networks
from frontend.config.pools import Pools, PoolSetting
from frontend.config.reading import PREFIX
from frontend.config.tables import Floors, Limits, Prices, Tiers, faults_of, faults_of_aliases

_Item = TypeVar("_Item")
_SECRET_BYTES = 32  # at least
_WEB = ("http://", "https://")
_SCHEMES = {"redis": ("redis://", "rediss://"), "chat_upstream": _WEB, "otlp_endpoint": _WEB, "manual": (*_WEB, "/")}
# Addresses that logs, pages and 'quartet check' show.
_SHOWN = ("chat_upstream", "jwt_jwks", "manual", "otlp_endpoint")
_WITH_USER = re.compile(r"\w+://[^/?#]*@")
# Browsers send origins in lower case, and the port only if it is not the scheme's default.
# What a header may carry.
_HEADER = re.compile(r"[!-~]*")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?")
# The longest time for the last charges and the end of reservations.
_FLUSH_SECONDS = 15.0
# Settings that apply to all workers together.
_SHARED = ("audio_workers", "text_workers", "threads", "connections", "held_bytes")


def _read_table(
    name: str, read: Callable[[Mapping[str, Any]], Sequence[_Item]], environ: Mapping[str, str], values: dict[str, Any]
) -> Sequence[_Item]:
    """What a table adds that the export reads too. A variable of that name is about what is served of it."""
    if isinstance(values.get(name), dict):
        del values[name]
    try:
        return read(reading.table(environ, name))
    except ValueError as error:
        raise reading.refusal([(name, str(error))], {}) from None


@dataclass(frozen=True)
class Settings(Fields):
    """All settings. The variable of a field is ``QUARTET_`` and its name in capitals.

    The file that ``QUARTET_CONFIG`` names has the names of the fields. Variables override it. Only the file has the
    tables ``[limits]`` (name = requests per minute), ``[tiers.<tier>]`` (the same for one tier), ``[pools.<name>]``
    (Tritons, instead of ``triton``), ``[floors.<model>]`` (an organisation or "key:<id>" = slots), ``[prices.<model>]``
    (unit = CHF), ``[aliases]`` (names that OpenAI's apps use), ``[voices.<name>]`` and ``[models.<name>]`` (voices of
    Kokoro and models to export, instead of ``voices`` and ``models``). ``added`` is what the catalogue does not have.
    """

    limits: Limits = field(default_factory=lambda: LIMITS)
    tiers: Tiers = field(default_factory=dict)
    pools: Pools = ()
    floors: Floors = field(default_factory=dict)
    prices: Prices = field(default_factory=lambda: PRICES)
    aliases: Aliases = field(default_factory=Aliases)
    added: Added = Added()

    __pydantic_config__ = ConfigDict(extra="forbid")

    @classmethod
    def from_env(cls, environ: Mapping[str, str], added: Added | None = None) -> "Settings":
        """Read the file and the variables. What is ``added`` is in the model repository, or given.

        Raises ``SettingsError`` that names all bad settings.
        """
        values, sources = reading.read(environ)
        if "added" in values:
            raise reading.refusal([("added", "there is no such setting")], sources)
        _read_table("voices", speakers_of, environ, values)
        models = _read_table("models", added_models, environ, values)
        if added is None:
            added = added_in(Path(values.get("model_repository", cls.model_repository)))
        exported = {model.id for model in added.models}
        added = dataclasses.replace(added, absent=tuple(each.model() for each in models if each.name not in exported))
        try:
            settings = TypeAdapter(cls).validate_python({**values, "added": added}, context=added)
        except ValidationError as error:
            raise reading.refusal(faults_of(error), sources) from None
        of_added = {model.id: model.price for model in added.models}
        settings = dataclasses.replace(settings, prices={**of_added, **settings.prices})
        if faults := list(settings._faults()) or list(settings._faults_of_served()):
            raise reading.refusal(faults, sources)
        return settings

    def _faults(self) -> Iterator[tuple[str, str]]:
        """The setting and the reason of each fault that types and bounds do not catch."""
        for name in ("jwt_secret", "admin_key"):
            if 0 < len(getattr(self, name).encode()) < _SECRET_BYTES:
                yield name, f"must have at least {_SECRET_BYTES} bytes"
        if not _HEADER.fullmatch(self.triton_secret):
            yield "triton_secret", "must have only visible ASCII characters"
        for name, schemes in _SCHEMES.items():
            if (address := getattr(self, name)) and not address.startswith(schemes):
                yield name, f"must begin with {' or '.join(schemes)}"
        for name in _SHOWN:
            if _WITH_USER.match(getattr(self, name)):
                yield name, "must have no user and no password: logs show it"
        if self.workers > 1 and not self.redis:
            yield "workers", f"more than one need {PREFIX}REDIS, or each would count for itself"
        if self.admin_port and self.admin_port == self.port:
            yield "admin_port", f"must be another than {PREFIX}PORT"
        for origin in self.allowed_origins - {"*"}:
            if not _ORIGIN.fullmatch(origin):
                yield "cors_origins", f"{origin!r} is no origin: a scheme and a host, such as https://app.example.com"
        reads: dict[str, Callable[[], object]] = {
            "triton": lambda: [pool.read() for pool in self.tritons],
            "trusted_proxies": lambda: self.proxies,
            "models": lambda: Served.of(self.models, added=self.added),
            "voices": lambda: Served.of(voices=self.voices, added=self.added),
            "extensions": lambda: extensions.parse(self.extensions),
        }
        for name, read in reads.items():
            try:
                read()
            except ValueError as error:
                yield name, str(error)

    def _faults_of_served(self) -> Iterator[tuple[str, str]]:
        """Faults of settings that name served models or voices."""
        yield from faults_of_aliases(self.served, [model.id for model in self.added.absent])
        models = self.served.triton_models
        for name in self.required_models:
            if name not in models:
                yield "ready_models", f"there is no model {name!r}; there are {', '.join(models)}"

    @cached_property
    def required_models(self) -> Sequence[str]:
        """The models that ``/health/ready`` requires, if it requires particular ones."""
        if self.ready_models in ("any", "none"):
            return ()
        names = [name.strip() for name in self.ready_models.split(",")]
        return self.served.triton_models if names == ["all"] else names

    @cached_property
    def served(self) -> Served:
        """The models and voices that this deployment serves."""
        return Served.of(self.models, self.voices, self.aliases, extensions.parse(self.extensions), self.added)

    @cached_property
    def operations(self) -> tuple[str, ...]:
        """The operations with endpoints."""
        operations = [model.operation for model in self.served.models] + [CHAT] * bool(self.chat_upstream)
        return tuple(dict.fromkeys(operations))

    @cached_property
    def allowed_origins(self) -> frozenset[str]:
        """The origins whose pages may call; ``*`` allows all."""
        return frozenset(origin for each in self.cors_origins.split(",") if (origin := each.strip()))

    @cached_property
    def tritons(self) -> Sequence[PoolSetting]:
        """The pools of Tritons."""
        addresses = tuple(address.strip() for address in self.triton.split(","))
        return self.pools or [PoolSetting("triton", addresses)]

    @cached_property
    def proxies(self) -> Networks:
        """Proxies whose ``X-Forwarded-For`` is trusted."""
        return Networks(self.trusted_proxies)

    @property
    def longest_drain_seconds(self) -> float:
        """Time for running requests at a stop: by default the limits of a body, a deadline and a write together."""
        deadline = self.request_seconds + self.audio_second_seconds * self.max_audio_seconds
        return self.drain_seconds or self.body_seconds + deadline + self.write_seconds

    @property
    def stop_seconds(self) -> float:
        """The longest time for a stop. A supervisor must wait longer before it kills."""
        return self.stop_delay_seconds + self.longest_drain_seconds + _FLUSH_SECONDS

    @cached_property
    def floor_owners(self) -> frozenset[str]:
        """The keys and organisations with floors."""
        return frozenset(name for owners in self.floors.values() for name in owners)

    def for_one_worker(self) -> "Settings":
        """These settings with one worker's share of the shared ones, at least 1 each."""
        shares = {name: -(-getattr(self, name) // self.workers) for name in _SHARED}
        return dataclasses.replace(self, **shares)
