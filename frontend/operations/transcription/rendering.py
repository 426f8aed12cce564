"""Transcripts as the bodies of answers."""

from frontend.operations.transcription import answers
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest


def render_openai(answer: Transcription, request: TranscriptionRequest) -> answers.Transcription | str:
    """A JSON value, or the plain text for ``response_format=text``."""
    if request.response_format == "text":
        return f"{answer.text}\n"
    if request.response_format == "json":
        rendered: answers.Transcription = {"text": answer.text}
    else:
        rendered = {
            "task": "translate" if request.translate else "transcribe",
            "language": answer.language,
            "duration": round(answer.duration, 3),
            "text": answer.text,
            "segments": answer.segments,
        }
    if request.usage:
        rendered["usage"] = _usage(answer)
    if answer.words is not None and "segments" in rendered:
        rendered["words"] = answer.words
    return rendered


def _usage(answer: Transcription) -> answers.Usage:
    """The seconds that are charged: none without a word."""
    return {"type": "duration", "seconds": round(answer.duration, 3) if answer.text else 0.0}


def render_mobile(answer: Transcription, request: TranscriptionRequest) -> answers.MobileTranscription:
    """The mobile endpoint's JSON. The list of segments is empty unless requested."""
    return {
        "text": answer.text,
        "language": answer.language,
        "duration_seconds": round(answer.duration, 3),
        "model": request.model,
        "segments": answer.segments if request.segments else [],
    }
