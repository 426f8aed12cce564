"""Transcripts as the bodies of answers."""

from typing import Any

from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest


def render_openai(answer: Transcription, request: TranscriptionRequest) -> dict[str, Any] | str:
    """A JSON value, or the plain text for ``response_format=text``."""
    if request.response_format == "text":
        return f"{answer.text}\n"
    usage = {"usage": _usage(answer)} if request.usage else {}
    if request.response_format == "json":
        return {"text": answer.text, **usage}
    verbose: dict[str, Any] = {
        "task": "translate" if request.translate else "transcribe",
        "language": answer.language,
        "duration": round(answer.duration, 3),
        "text": answer.text,
        "segments": answer.segments,
        **usage,
    }
    if answer.words is not None:
        verbose["words"] = answer.words
    return verbose


def _usage(answer: Transcription) -> dict[str, Any]:
    """The seconds that are charged: none without a word."""
    return {"type": "duration", "seconds": round(answer.duration, 3) if answer.text else 0.0}


def render_mobile(answer: Transcription, request: TranscriptionRequest) -> dict[str, Any]:
    """The mobile endpoint's JSON. The list of segments is empty unless requested."""
    return {
        "text": answer.text,
        "language": answer.language,
        "duration_seconds": round(answer.duration, 3),
        "model": request.model,
        "segments": answer.segments if request.segments else [],
    }
