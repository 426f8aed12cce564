"""Settings, read once from a TOML file and the environment; a bad one ends the start with its name."""

import dataclasses
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import CHAT, PRICES, Served
from frontend.catalogue.prices import Price
from frontend.config.tables import SettingsError, TritonSetting, tables_of

PREFIX = "QUARTET_"
CONFIG_FILE = f"{PREFIX}CONFIG"
# The file is read first; and what build/demo.env holds for clients may stand in the same environment.
_CLIENTS = ("URL", "API_KEY", "MOBILE_JWT", "TRITON_HTTP", "TRITON_METRICS")
_NO_SETTINGS = (CONFIG_FILE, *(f"{PREFIX}{name}" for name in _CLIENTS))


def _setting(
    default: Any,
    help: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    choices: Sequence[str] = (),
    secret: bool = False,
) -> Any:
    metadata = {"help": help, "least": least, "most": most, "choices": choices}
    return field(default=default, repr=not secret, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """Everything that can be set. The name of a variable is ``QUARTET_`` and the field in capitals.

    The file that ``QUARTET_CONFIG`` names has the fields as they are called here; variables go before it. Only the
    file has the tables ``[limits]`` (name = requests a minute), ``[tiers.<tier>]`` (the same for one tier),
    ``[backends.<name>]`` (a Triton, in the place of ``triton``), ``[floors.<model>]`` (an organisation, or
    "key:<id>" = slots) and ``[prices.<model>]`` (unit = CHF).
    """

    host: str = _setting("127.0.0.1", "address to listen on")
    workers: int = _setting(1, "processes that accept requests; more than one need redis for limits", least=1, most=256)
    port: int = _setting(8080, "port to listen on; 0 takes a free one", least=0, most=65535)
    triton: str = _setting("127.0.0.1:8001", "host:port of Triton's gRPC service; several with commas between")
    model_repository: Path = _setting(Path("model_repository"), "where the exported models lie")
    database: str = _setting(
        "sqlite:///data/quartet.sqlite3", "where keys are kept: sqlite:///file or postgresql://...", secret=True
    )
    usage_folder: Path = _setting(Path("data/usage"), "where charges lie until the database has them; on a disk")
    repeat_seconds: int = _setting(600, "time in which a charge pays for repeats of its request", least=0)
    repeat_answers: int = _setting(3, "answers to one request that a charge pays for", least=1)
    redis: str = _setting("", "redis://... where several frontends share limits; else memory", secret=True)
    redis_outage: str = _setting("local", "while Redis is away: local count, or refuse", choices=("local", "refuse"))
    jwt_secret: str = _setting("", "the HS256 secret of mobile tokens, 32 bytes or more", secret=True)
    jwt_jwks: str = _setting("", "file or https:// address of the keys that sign mobile tokens")
    jwt_jwks_seconds: float = _setting(300.0, "time between two readings of that address", least=1)
    jwt_leeway_seconds: float = _setting(0.0, "how far clocks may differ when a token's times are checked", least=0)
    jwt_audience: str = _setting("quartet-mobile", "the aud of mobile tokens")
    jwt_issuer: str = _setting("quartet", "the iss of mobile tokens")
    audio_workers: int = _setting(2, "processes that decode audio", least=1, most=256)
    text_workers: int = _setting(2, "processes that parse long JSON and turn text into phonemes", least=1, most=64)
    threads: int = _setting(2, "threads that tokenize, encode speech and put transcripts together", least=1, most=256)
    max_audio_seconds: float = _setting(7200.0, "longest decoded audio", least=1)
    silence_dbfs: float = _setting(-50.0, "audio whose peak lies below is silent", least=-120, most=0)
    speech_probability: float = _setting(0.5, "what the voice detector must reach for speech", least=0, most=1)
    max_body_bytes: int = _setting(4 * 1024 * 1024, "largest JSON body", least=1024)
    connections: int = _setting(8192, "connections that are open at once", least=1)
    connections_per_address: int = _setting(1024, "of these, from one address; 0, behind a proxy, is no bound", least=0)
    header_seconds: float = _setting(10.0, "time a new connection has to send its first headers", least=0.1)
    keepalive_seconds: float = _setting(75.0, "time an idle connection is kept; longer than a proxy keeps it", least=1)
    body_seconds: float = _setting(300.0, "time a client has to send its body", least=1)
    min_body_rate: int = _setting(8192, "bytes a second below which a body is refused", least=0)
    write_seconds: float = _setting(30.0, "a connection ends when its answer makes no way for so long", least=1)
    min_answer_rate: int = _setting(1024, "bytes a second below which an answer is broken off in the end", least=1)
    held_bytes: int = _setting(
        1024**3, "bytes of bodies, samples and answers held at once, half of them for one key", least=64 * 1024**2
    )
    wrong_keys_a_minute: int = _setting(
        300, "wrong keys from one address before their refusals wait; 0 is no bound", least=0
    )
    unpaid_seconds: float = _setting(
        30.0, "processor time that a key's audio may take for nothing, such as silence, before it is slowed", least=0.1
    )
    request_seconds: float = _setting(300.0, "time a request has from the end of its body, and a call at most", least=1)
    audio_second_seconds: float = _setting(1.0, "time a request has besides for each second of its audio", least=0)
    token_budget: int = _setting(16384, "tokens in one request to Triton", least=8192)
    concurrency: int = _setting(0, "calls of a model at once on one Triton; 0 is what fills two batches", least=0)
    calls_at_once: int = _setting(8, "calls that one request may have under way at once", least=1)
    windows_at_once: int = _setting(1, "windows of one recording under way at once; more on a GPU", least=1)
    models: str = _setting("all", "models that are served: all, or names with commas, such as stt-1,embed-m3")
    voices: str = _setting("all", "voices that are served: all, or names with commas")
    ready_models: str = _setting("any", "models that /health/ready waits for: any, all, none, or names with commas")
    frontends: int = _setting(1, "frontends over the same Tritons, where no redis tells", least=1)
    queue_per_key: int = _setting(256, "calls of a key that may wait for a model", least=1)
    queue_per_tier: int = _setting(4096, "calls of a tier that may wait for a model", least=1)
    queue_age_seconds: float = _setting(4.0, "a call that has waited so long may go before its turn", least=0)
    queue_hold_seconds: float = _setting(5.0, "time an idle owner's floor is not lent to others", least=0)
    sentence_pause_seconds: float = _setting(0.2, "silence between two spoken sentences", least=0, most=5)
    mp3_kbps: int = _setting(64, "bit rate of MP3 answers", least=32, most=160)
    admin_key: str = _setting("", "opens /admin/v1, 32 bytes or more; without it there is no such path", secret=True)
    chat_upstream: str = _setting("", "base address, with /v1, of an OpenAI-compatible server for chat and responses")
    chat_concurrency: int = _setting(16, "requests to chat_upstream under way at once", least=1)
    chat_output_tokens: int = _setting(4096, "tokens reserved for an answer of chat that asks for no number", least=1)
    chat_upstream_key: str = _setting("", "the key that server wants", secret=True)
    log_level: str = _setting("INFO", "least level that is logged", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    limits: Mapping[str, int] = field(default_factory=lambda: LIMITS)
    tiers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    backends: Sequence[TritonSetting] = ()
    floors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=lambda: PRICES)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the file and the variables that start with ``QUARTET_``; ``SettingsError`` names the first bad one."""
        fields = {item.name: item for item in dataclasses.fields(cls)}
        values = _from_file(Path(path), fields) if (path := environ.get(CONFIG_FILE)) else {}
        for name, text in environ.items():
            if not name.startswith(PREFIX) or name in _NO_SETTINGS:
                continue
            item = fields.get(name.removeprefix(PREFIX).lower())
            if item is None or not item.metadata or name != name.upper():
                raise SettingsError(f"{name}: there is no such setting")
            values[item.name] = _parse(name, text, item)
        settings = cls(**values)
        if settings.jwt_secret and len(settings.jwt_secret.encode()) < 32:
            raise SettingsError(f"{PREFIX}JWT_SECRET: must have at least 32 bytes")
        if settings.admin_key and len(settings.admin_key.encode()) < 32:
            raise SettingsError(f"{PREFIX}ADMIN_KEY: must have at least 32 bytes")
        if settings.redis and not settings.redis.startswith(("redis://", "rediss://")):
            raise SettingsError(f"{PREFIX}REDIS: must begin with redis:// or rediss://")
        if settings.workers > 1 and not settings.redis:
            raise SettingsError(f"{PREFIX}WORKERS: more than one need {PREFIX}REDIS, or each would count for itself")
        if settings.chat_upstream and not settings.chat_upstream.startswith(("http://", "https://")):
            raise SettingsError(f"{PREFIX}CHAT_UPSTREAM: must begin with http:// or https://")
        for name, text in (("models", settings.models), ("voices", settings.voices)):
            try:
                Served.of(**{name: text})
            except ValueError as error:
                raise SettingsError(f"{PREFIX}{name.upper()}: {error}") from None
        return settings

    @cached_property
    def served(self) -> Served:
        """What of the catalogue this deployment serves."""
        return Served.of(self.models, self.voices)

    @cached_property
    def operations(self) -> frozenset[str]:
        """The operations that there are endpoints for."""
        return frozenset({model.operation for model in self.served.models} | ({CHAT} if self.chat_upstream else set()))

    @property
    def tritons(self) -> Sequence[TritonSetting]:
        """Every Triton that calls can go to."""
        addresses = [address.strip() for address in self.triton.split(",")]
        return self.backends or [TritonSetting(address, address) for address in addresses]

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
    names = {name.removeprefix(PREFIX).lower() for name in environ if name.startswith(PREFIX)}
    return names | _content(Path(path)).keys() if (path := environ.get(CONFIG_FILE)) else names


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{CONFIG_FILE}: {path}: {error}") from None


def _from_file(path: Path, fields: Mapping[str, "dataclasses.Field[Any]"]) -> dict[str, Any]:
    content = _content(path)
    values = tables_of(content)
    for name, value in content.items():
        if name not in fields or isinstance(value, dict | list):
            raise SettingsError(f"{name}: there is no such setting")
        values[name] = _parse(name, str(value), fields[name])
    return values


def _parse(name: str, text: str, item: "dataclasses.Field[Any]") -> Any:
    kind: type[Any] = item.type if isinstance(item.type, type) else str
    try:
        value = kind(text)
    except ValueError:
        raise SettingsError(f"{name}: {text!r} is not a {kind.__name__}") from None
    least, most, choices = item.metadata["least"], item.metadata["most"], item.metadata["choices"]
    # A NaN compares false with everything, so the test asks for what is allowed.
    if isinstance(value, int | float) and not least <= value <= most:
        raise SettingsError(f"{name}: {text} is not between {least:g} and {most:g}")
    if choices and value not in choices:
        raise SettingsError(f"{name}: must be one of {', '.join(choices)}")
    return value
