"""The client's events of a live session."""

import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from frontend.catalogue.models import Served
from frontend.errors import InvalidRequest
from frontend.extensions.realtime.turns import FORMATS
from frontend.parameters.kinds import Choice, Text
from frontend.parameters.table import check_name
from frontend.parameters.transcription import LANGUAGE, LONGEST_PROMPT, MODEL

# The parameters of the path.
QUERY = (Choice("intent", names=("transcription",), default="transcription"), MODEL)
# The least and the most of each number of a detection.
_BOUNDS = {"threshold": (0, 1), "prefix_padding_ms": (0, 2_000), "silence_duration_ms": (64, 10_000)}
_LONGEST_ID = 512  # characters
_MOST_PARTS = 2_000  # values of an event, and lists and objects
_BASE64_CODE, _NO_BASE64 = "invalid_audio", "audio must be base64"
# Characters of base64 that are decoded at once.
_PIECE = 256 * 1024
# Detection by the model's judgement of a sentence's end is detection by pauses here.
_DETECTIONS = ("server_vad", "semantic_vad")
# Samples per second of PCM that clients may send.
_PCM, _PCM_RATES = "audio/pcm", (8_000, 16_000, 24_000, 48_000)
# Fields that clients send and that have no effect here, by the object that has them.
_INPUT = ("noise_reduction",)
_DETECTION = ("create_response", "interrupt_response", "idle_timeout_ms", "eagerness")
_TRANSCRIPTION = ("delay", "keywords", "languages")
_SESSION = ("id", "object", "type", "expires_at", "include")


@dataclass(frozen=True)
class Detection:
    """How turns are found: a probability and milliseconds."""

    threshold: float = 0.5
    prefix_padding_ms: float = 300
    silence_duration_ms: float = 500


@dataclass(frozen=True)
class SessionConfig:
    """A session's options. Without ``detection``, the client commits. Empty ``language`` and ``prompt`` mean none."""

    model: str
    language: str = ""
    prompt: str = ""
    audio_format: str = _PCM
    rate: int = 24_000
    detection: Detection | None = Detection()


@dataclass(frozen=True)
class Update:
    """New options."""

    config: SessionConfig


@dataclass(frozen=True)
class Append:
    """Audio in the session's format."""

    audio: bytes


@dataclass(frozen=True)
class Commit:
    """The end of an item."""


@dataclass(frozen=True)
class Clear:
    """Discard the audio of the item that has begun."""


Event = Update | Append | Commit | Clear


def read(text: bytes) -> Mapping[str, Any]:
    """The JSON object of a message."""
    # Many small values take longer to make than the event loop may wait, and much memory. Base64 has none of these.
    if sum(text.count(mark) for mark in b"[{,:") > _MOST_PARTS:
        raise InvalidRequest("the event has too many values", code="invalid_json")
    try:
        value = orjson.loads(text)
    except ValueError:
        raise InvalidRequest("the event is not valid JSON", code="invalid_json") from None
    if not isinstance(value, dict):
        raise InvalidRequest("an event must be a JSON object", code="invalid_json")
    return value


def id_of(event: Mapping[str, Any]) -> str | None:
    """The client's own id of an event, for errors."""
    value = event.get("event_id")
    return value if isinstance(value, str) and len(value) <= _LONGEST_ID else None


def parse(event: Mapping[str, Any], config: SessionConfig, served: Served) -> Event:
    """Parse an event; options that it does not name stay as they are in ``config``."""
    match event.get("type"):
        case "input_audio_buffer.append":
            return Append(_audio(event.get("audio")))
        case "input_audio_buffer.commit":
            return Commit()
        case "input_audio_buffer.clear":
            return Clear()
        case "session.update":
            return Update(_updated(_object(event, "session", "session"), config, served))
        case str() as name:
            raise InvalidRequest(f"unknown event: {name[:64]}", param="type", code="invalid_event")
    raise InvalidRequest("missing parameter: type", param="type", code="invalid_event")


def _audio(value: Any) -> bytes:
    """Audio from base64, which may have line breaks, as MIME has. In pieces, so that other threads have their turn."""
    if not isinstance(value, str):
        raise InvalidRequest(_NO_BASE64, param="audio", code=_BASE64_CODE)
    audio, rest = bytearray(), ""
    try:
        for start in range(0, len(value), _PIECE):
            piece = rest + value[start : start + _PIECE].replace("\n", "").replace("\r", "")
            whole = len(piece) // 4 * 4
            audio += base64.b64decode(piece[:whole], validate=True)
            rest = piece[whole:]
        # Without all of its padding, this is no base64.
        audio += base64.b64decode(rest, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest(_NO_BASE64, param="audio", code=_BASE64_CODE) from None
    return bytes(audio)


def _object(values: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    value = values.get(name)
    if not isinstance(value, dict):
        raise InvalidRequest(f"{path} must be an object", param=path)
    return value


def _refuse_unknown(values: Mapping[str, Any], path: str, *known: Collection[str]) -> None:
    for name in values:
        check_name(name)
        if not any(name in names for names in known):
            raise InvalidRequest(f"unknown parameter: {path}.{name}", param=f"{path}.{name}")


def _updated(session: Mapping[str, Any], config: SessionConfig, served: Served) -> SessionConfig:
    if session.get("type") != "transcription":
        raise InvalidRequest("session.type must be transcription", param="session.type")
    _refuse_unknown(session, "session", ("audio",), _SESSION)
    if session.get("audio") is None:
        return config
    audio = _object(session, "audio", "session.audio")
    _refuse_unknown(audio, "session.audio", ("input",))
    if audio.get("input") is None:
        return config
    path = "session.audio.input"
    given = _object(audio, "input", path)
    _refuse_unknown(given, path, ("format", "transcription", "turn_detection"), _INPUT)
    if given.get("format") is not None:
        audio_format, rate = _format(_object(given, "format", f"{path}.format"), f"{path}.format")
        config = replace(config, audio_format=audio_format, rate=rate)
    if given.get("transcription") is not None:
        value = _object(given, "transcription", f"{path}.transcription")
        config = _transcription(value, f"{path}.transcription", config, served)
    if "turn_detection" not in given:
        return config
    if given["turn_detection"] is None:
        return replace(config, detection=None)
    path = f"{path}.turn_detection"
    return replace(config, detection=_detection(_object(given, "turn_detection", path), path, config.detection))


def _format(value: Mapping[str, Any], path: str) -> tuple[str, int]:
    """The name of a format, and its samples per second."""
    name, rate = value.get("type"), value.get("rate")
    if not isinstance(name, str) or name not in FORMATS:
        raise InvalidRequest(f"{path}.type must be one of {', '.join(FORMATS)}", param=f"{path}.type")
    usual = FORMATS[name][1]
    rates = _PCM_RATES if name == _PCM else (usual,)
    if rate is not None and (isinstance(rate, bool) or rate not in rates):
        raise InvalidRequest(f"{path}.rate must be {' or '.join(map(str, rates))}", param=f"{path}.rate")
    return name, usual if rate is None else int(rate)


def _transcription(values: Mapping[str, Any], path: str, config: SessionConfig, served: Served) -> SessionConfig:
    _refuse_unknown(values, path, ("model", "language", "prompt"), _TRANSCRIPTION)
    if values.get("model") is not None:
        config = replace(config, model=MODEL.read(values, served))
    if "language" in values:
        config = replace(config, language=LANGUAGE.read(values, served) or "")
    if "prompt" in values:
        prompt = Text("prompt").read(values, served) or ""
        if len(prompt) > LONGEST_PROMPT:
            raise InvalidRequest(f"prompt is longer than {LONGEST_PROMPT} characters", param=f"{path}.prompt")
        config = replace(config, prompt=prompt)
    return config


def _detection(values: Mapping[str, Any], path: str, before: Detection | None) -> Detection:
    _refuse_unknown(values, path, ("type", *_BOUNDS), _DETECTION)
    if values.get("type", _DETECTIONS[0]) not in _DETECTIONS:
        raise InvalidRequest(f"{path}.type must be {' or '.join(_DETECTIONS)}", param=f"{path}.type")
    numbers = {name: _number(values[name], name, path) for name in _BOUNDS if values.get(name) is not None}
    return replace(before or Detection(), **numbers)


def _number(value: Any, name: str, path: str) -> float:
    least, most = _BOUNDS[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidRequest(f"{path}.{name} must be a number from {least} to {most}", param=f"{path}.{name}")
    return value
