"""Settings, read once from a TOML file and the environment; a bad one ends the start with its name."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import CHAT, PRICES, Served
from frontend.catalogue.prices import Price
from frontend.config import reading
from frontend.config.groups import Access, Chat, Observing, Requests, Server, Stores, Tritons, Work
from frontend.config.networks import Networks
from frontend.config.pools import PoolSetting
from frontend.config.reading import PREFIX
from frontend.config.tables import SettingsError, check_aliases, check_models, checked

_SECRET_BYTES = 32
# As browsers write it: in small letters, with a port only where that is not the scheme's own.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?")
# What it takes at most to write the last charges down and to end what is reserved.
_FLUSH_SECONDS = 15.0
GROUPS = (Server, Stores, Access, Tritons, Requests, Work, Chat, Observing)


@dataclass(frozen=True)
class Settings(Server, Stores, Access, Tritons, Requests, Work, Chat, Observing):
    """Everything that can be set. The name of a variable is ``QUARTET_`` and the field in capitals.

    The file that ``QUARTET_CONFIG`` names has the fields as they are called here; variables go before it. Only the
    file has the tables ``[limits]`` (name = requests a minute), ``[tiers.<tier>]`` (the same for one tier),
    ``[pools.<name>]`` (Tritons, in the place of ``triton``), ``[floors.<model>]`` (an organisation, or
    "key:<id>" = slots), ``[prices.<model>]`` (unit = CHF) and ``[aliases]`` (what apps say that know OpenAI alone).
    """

    limits: Mapping[str, int] = field(default_factory=lambda: LIMITS)
    tiers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pools: Sequence[PoolSetting] = ()
    floors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=lambda: PRICES)
    aliases: Aliases = field(default_factory=Aliases)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the file and the variables that start with ``QUARTET_``; ``SettingsError`` names the first bad one."""
        settings = cls(**reading.read(environ, _fields()))
        settings._check()
        return settings

    def _check(self) -> None:
        """What a value alone does not show."""
        for name in ("jwt_secret", "admin_key"):
            if 0 < len(getattr(self, name).encode()) < _SECRET_BYTES:
                raise SettingsError(f"{PREFIX}{name.upper()}: must have at least {_SECRET_BYTES} bytes")
        if self.redis and not self.redis.startswith(("redis://", "rediss://")):
            raise SettingsError(f"{PREFIX}REDIS: must begin with redis:// or rediss://")
        if self.workers > 1 and not self.redis:
            raise SettingsError(f"{PREFIX}WORKERS: more than one need {PREFIX}REDIS, or each would count for itself")
        if self.admin_port and self.admin_port == self.port:
            raise SettingsError(f"{PREFIX}ADMIN_PORT: must be another than {PREFIX}PORT")
        for name in ("chat_upstream", "otlp_endpoint"):
            if getattr(self, name) and not getattr(self, name).startswith(("http://", "https://")):
                raise SettingsError(f"{PREFIX}{name.upper()}: must begin with http:// or https://")
        for origin in self.allowed_origins - {"*"}:
            if not _ORIGIN.fullmatch(origin):
                message = f"{origin!r} is not an origin, which is a scheme and a host, such as https://app.example.com"
                raise SettingsError(f"{PREFIX}CORS_ORIGINS: {message}")
        _ = self.tritons, self.proxies
        for name in ("models", "voices"):
            try:
                Served.of(**{name: getattr(self, name)})
            except ValueError as error:
                raise SettingsError(f"{PREFIX}{name.upper()}: {error}") from None
        check_aliases(self.served)
        for place, models in [(f"floors.{model}", [model]) for model in self.floors] + [
            (f"pools.{pool.name}", [*pool.models, *pool.concurrency]) for pool in self.pools
        ]:
            check_models(place, models)

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
        return self.pools or [checked(f"{PREFIX}TRITON", PoolSetting("triton", addresses))]

    @cached_property
    def proxies(self) -> Networks:
        """Those whose word on who calls is taken."""
        try:
            return Networks(self.trusted_proxies)
        except ValueError as error:
            raise SettingsError(f"{PREFIX}TRUSTED_PROXIES: {error}") from None

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
        shared = ("audio_workers", "text_workers", "threads", "connections", "held_bytes")
        shares = {name: -(-getattr(self, name) // self.workers) for name in shared}
        return dataclasses.replace(self, **shares)


def names_set(environ: Mapping[str, str]) -> set[str]:
    """The fields that the file or the environment say something about, right or wrong."""
    return reading.names_set(environ, _fields())


def _fields() -> reading.Fields:
    return {item.name: item for item in dataclasses.fields(Settings)}
