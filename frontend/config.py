"""Settings, read once from the environment; a bad one ends the start with its name."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PREFIX = "QUARTET_"


class SettingsError(ValueError):
    """A setting is missing, unknown or out of range; the message names it."""


def _setting(default: Any, help: str, *, least: float = -math.inf, most: float = math.inf, secret: bool = False) -> Any:
    return field(default=default, repr=not secret, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True)
class Settings:
    """Everything that can be set. The name of a variable is ``QUARTET_`` and the field in capitals."""

    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8080, "port to listen on; 0 takes a free one", least=0, most=65535)
    triton: str = _setting("127.0.0.1:8001", "host:port of Triton's gRPC service")
    model_repository: Path = _setting(Path("model_repository"), "where the exported models lie")
    api_key: str = _setting("", "the key that developer endpoints accept", secret=True)
    jwt_secret: str = _setting("", "the HS256 secret of mobile tokens, 32 bytes or more", secret=True)
    jwt_audience: str = _setting("quartet-mobile", "the aud of mobile tokens")
    jwt_issuer: str = _setting("quartet", "the iss of mobile tokens")
    audio_workers: int = _setting(2, "processes that decode audio", least=1, most=256)
    phoneme_workers: int = _setting(1, "processes that turn text into phonemes", least=1, most=64)
    max_audio_seconds: float = _setting(7200.0, "longest decoded audio", least=1)
    silence_dbfs: float = _setting(-50.0, "audio whose peak lies below is silent", least=-120, most=0)
    speech_probability: float = _setting(0.5, "what the voice detector must reach for speech", least=0, most=1)
    max_body_bytes: int = _setting(4 * 1024 * 1024, "largest JSON body", least=1024)
    header_seconds: float = _setting(10.0, "time a new connection has to send its first headers", least=0.1)
    keepalive_seconds: float = _setting(75.0, "time an idle connection is kept; longer than a proxy keeps it", least=1)
    body_seconds: float = _setting(300.0, "time a client has to send its body", least=1)
    min_body_rate: int = _setting(8192, "bytes a second below which a body is refused", least=0)
    request_seconds: float = _setting(300.0, "time a call to Triton may take", least=1)
    token_budget: int = _setting(16384, "tokens in one request to Triton", least=8192)
    concurrency: int = _setting(16, "calls of a model under way at once", least=1)
    sentence_pause_seconds: float = _setting(0.2, "silence between two spoken sentences", least=0, most=5)
    mp3_kbps: int = _setting(64, "bit rate of MP3 answers", least=32, most=160)
    log_level: str = _setting("INFO", "least level that is logged")

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the variables that start with ``QUARTET_``; ``SettingsError`` names the first bad one."""
        fields = {f"{PREFIX}{item.name.upper()}": item for item in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for name, text in environ.items():
            if not name.startswith(PREFIX):
                continue
            if name not in fields:
                raise SettingsError(f"{name}: there is no such setting")
            values[fields[name].name] = _parse(name, text, fields[name])
        settings = cls(**values)
        if settings.jwt_secret and len(settings.jwt_secret.encode()) < 32:
            raise SettingsError(f"{PREFIX}JWT_SECRET: must have at least 32 bytes")
        return settings


def _parse(name: str, text: str, item: "dataclasses.Field[Any]") -> Any:
    kind: type[Any] = item.type if isinstance(item.type, type) else str
    try:
        value = kind(text)
    except ValueError:
        raise SettingsError(f"{name}: {text!r} is not a {kind.__name__}") from None
    least, most = item.metadata["least"], item.metadata["most"]
    # A NaN compares false with everything, so the test asks for what is allowed.
    if isinstance(value, int | float) and not least <= value <= most:
        raise SettingsError(f"{name}: {text} is not between {least:g} and {most:g}")
    return value
