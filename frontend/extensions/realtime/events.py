"""The server's events of a live session."""

import uuid
from typing import Any

from frontend.errors import ApiError
from frontend.extensions.realtime.items import Item, milliseconds
from frontend.extensions.realtime.protocol import SessionConfig

_TRANSCRIPTION = "conversation.item.input_audio_transcription"
Fields = dict[str, Any]


def new_id(kind: str) -> str:
    """An id such as ``item_`` and 21 letters."""
    return f"{kind}_{uuid.uuid4().hex[:21]}"


def event(kind: str, **fields: Any) -> Fields:
    return {"type": kind, "event_id": new_id("event"), **fields}


def session(kind: str, name: str, config: SessionConfig, expires_at: int) -> Fields:
    """A session that was ``created`` or ``updated``."""
    detection = {"type": "server_vad", **vars(config.detection)} if config.detection is not None else None
    audio = {
        "format": {"type": config.audio_format, "rate": config.rate},
        "noise_reduction": None,
        "transcription": {"model": config.model, "language": config.language or None, "prompt": config.prompt},
        "turn_detection": detection,
    }
    payload = {"id": name, "object": "realtime.transcription_session", "expires_at": expires_at}
    payload |= {"type": "transcription", "audio": {"input": audio}, "include": None}
    return event(f"session.{kind}", session=payload)


def error(failure: ApiError, client_event: str | None) -> Fields:
    return event("error", error={**_failure(failure), "event_id": client_event})


def _failure(failure: ApiError) -> Fields:
    body: Fields = failure.body()["error"]
    return body


def speech_started(item: Item) -> Fields:
    return event("input_audio_buffer.speech_started", audio_start_ms=milliseconds(item.start), item_id=item.id)


def speech_stopped(item: Item) -> Fields:
    end = milliseconds(item.start + item.samples)
    return event("input_audio_buffer.speech_stopped", audio_end_ms=end, item_id=item.id)


def committed(item: Item) -> list[Fields]:
    """The events of an item whose audio is complete."""
    content = [{"type": "input_audio", "transcript": None}]
    payload = {"id": item.id, "object": "realtime.item", "type": "message", "status": "completed", "role": "user"}
    added = {"previous_item_id": item.previous, "item": {**payload, "content": content}}
    first = event("input_audio_buffer.committed", item_id=item.id, previous_item_id=item.previous)
    return [first, *(event(f"conversation.item.{kind}", **added) for kind in ("added", "done"))]


def delta(item: Item, text: str) -> Fields:
    return event(f"{_TRANSCRIPTION}.delta", item_id=item.id, content_index=0, delta=text)


def completed(item: Item, charged_ms: int) -> Fields:
    usage = {"type": "duration", "seconds": charged_ms / 1000}
    text = item.agreement.text
    return event(f"{_TRANSCRIPTION}.completed", item_id=item.id, content_index=0, transcript=text, usage=usage)


def failed(item: Item, failure: ApiError) -> Fields:
    return event(f"{_TRANSCRIPTION}.failed", item_id=item.id, content_index=0, error=_failure(failure))
