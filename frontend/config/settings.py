"""Settings, read once from a TOML file and the environment; bad ones end the start with their names."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import ConfigDict, TypeAdapter, ValidationError

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import CHAT, PRICES, Served
from frontend.config import reading
from frontend.config.fields import Fields
from frontend.config.networks import Networks
from frontend.config.pools import Pools, PoolSetting
from frontend.config.reading import PREFIX
from frontend.config.tables import Floors, Limits, Prices, Tiers, faults_of, faults_of_aliases

_SECRET_BYTES = 32
_WEB = ("http://", "https://")
_SCHEMES = {"redis": ("redis://", "rediss://"), "chat_upstream": _WEB, "otlp_endpoint": _WEB}
# As browsers write it: in small letters, with a port only where that is not the scheme's own.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?")
# What it takes at most to write the last charges down and to end what is reserved.
_FLUSH_SECONDS = 15.0
_SHARED = ("audio_workers", "text_workers", "threads", "connections", "held_bytes")


@dataclass(frozen=True)
class Settings(Fields):
    """Everything that can be set. The name of a variable is ``QUARTET_`` and the field in capitals.

    The file that ``QUARTET_CONFIG`` names has the fields as they are called here; variables go before it. Only the
    file has the tables ``[limits]`` (name = requests a minute), ``[tiers.<tier>]`` (the same for one tier),
    ``[pools.<name>]`` (Tritons, in the place of ``triton``), ``[floors.<model>]`` (an organisation, or
    "key:<id>" = slots), ``[prices.<model>]`` (unit = CHF) and ``[aliases]`` (what apps say that know OpenAI alone).
    """

    limits: Limits = field(default_factory=lambda: LIMITS)
    tiers: Tiers = field(default_factory=dict)
    pools: Pools = ()
    floors: Floors = field(default_factory=dict)
    prices: Prices = field(default_factory=lambda: PRICES)
    aliases: Aliases = field(default_factory=Aliases)

    __pydantic_config__ = ConfigDict(extra="forbid")

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the file and the variables that start with ``QUARTET_``; ``SettingsError`` names all bad ones."""
        values, sources = reading.read(environ)
        try:
            settings = TypeAdapter(cls).validate_python(values)
        except ValidationError as error:
            raise reading.refusal(faults_of(error), sources) from None
        if faults := list(settings._faults()) or list(faults_of_aliases(settings.served)):
            raise reading.refusal(faults, sources)
        return settings

    def _faults(self) -> Iterator[tuple[str, str]]:
        """What types and bounds do not show: the setting, and what is wrong with it."""
        for name in ("jwt_secret", "admin_key"):
            if 0 < len(getattr(self, name).encode()) < _SECRET_BYTES:
                yield name, f"must have at least {_SECRET_BYTES} bytes"
        for name, schemes in _SCHEMES.items():
            if (address := getattr(self, name)) and not address.startswith(schemes):
                yield name, f"must begin with {' or '.join(schemes)}"
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
            "models": lambda: Served.of(self.models),
            "voices": lambda: Served.of(voices=self.voices),
        }
        for name, read in reads.items():
            try:
                read()
            except ValueError as error:
                yield name, str(error)

    @cached_property
    def served(self) -> Served:
        """What of the catalogue this deployment serves."""
        return Served.of(self.models, self.voices, self.aliases)

    @cached_property
    def operations(self) -> tuple[str, ...]:
        """The operations that there are endpoints for, each once."""
        found = [model.operation for model in self.served.models] + [CHAT] * bool(self.chat_upstream)
        return tuple(dict.fromkeys(found))

    @cached_property
    def allowed_origins(self) -> frozenset[str]:
        """The origins whose pages may call; ``*`` is every one."""
        return frozenset(origin for each in self.cors_origins.split(",") if (origin := each.strip()))

    @cached_property
    def tritons(self) -> Sequence[PoolSetting]:
        """Every pool of Tritons that calls can go to."""
        addresses = tuple(address.strip() for address in self.triton.split(","))
        return self.pools or [PoolSetting("triton", addresses)]

    @cached_property
    def proxies(self) -> Networks:
        """Those whose word on who calls is taken."""
        return Networks(self.trusted_proxies)

    @property
    def longest_drain_seconds(self) -> float:
        """What requests under way have at a stop: what is set, or a body, a deadline and one who reads no more."""
        deadline = self.request_seconds + self.audio_second_seconds * self.max_audio_seconds
        return self.drain_seconds or self.body_seconds + deadline + self.write_seconds

    @property
    def stop_seconds(self) -> float:
        """What a stop takes at most: whoever kills what does not end waits for longer."""
        return self.stop_delay_seconds + self.longest_drain_seconds + _FLUSH_SECONDS

    @cached_property
    def floor_owners(self) -> frozenset[str]:
        """The names of the keys and organisations that have slots of their own."""
        return frozenset(name for owners in self.floors.values() for name in owners)

    def for_one_worker(self) -> "Settings":
        """The same with this worker's share of what all workers may do at once, at least one of each."""
        shares = {name: -(-getattr(self, name) // self.workers) for name in _SHARED}
        return dataclasses.replace(self, **shares)
