"""The OpenAPI description of transcription."""

from collections.abc import Sequence

from frontend.catalogue import parameters
from frontend.catalogue.extensions import SUBTITLES, TRANSCRIPT_STREAMING, TRANSCRIPT_USAGE
from frontend.catalogue.models import TRANSCRIPTIONS, Served
from frontend.http.schemas import (
    OpenApiFragment,
    Schema,
    answer_object,
    ignored,
    json_content,
    one_of,
    post,
    reference,
    request_object,
)
from frontend.operations.transcription import protocol
from frontend.operations.transcription.languages import CODES

FILE = {
    "type": "string",
    "format": "binary",
    "description": "WAV, MP3, M4A, MP4, Ogg, WebM, FLAC, 3GPP or AMR, detected by content; at most 25 MB.",
}
_LANGUAGE = one_of(sorted(CODES), description="ISO-639-1 code, case does not matter; detected if absent.")
_MOBILE_FORM = request_object(
    {"audio": FILE, "language": _LANGUAGE, "with_segments": {"type": "boolean", "default": False}}, "audio"
)
_SECONDS = {"type": "number", "description": "Seconds from the start of the audio."}
_PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
_SEGMENTS = {"type": "array", "items": reference("Segment")}
_STREAM = {
    "type": "boolean",
    "default": False,
    "description": "Send the text in parts, as server-sent events; needs `response_format` json or text.",
}


_USAGE = answer_object(
    {
        "type": one_of(["duration"]),
        "seconds": {"type": "number", "minimum": 0, "description": "What is charged; 0 for a text without words."},
    }
)


def _schemas(tasks: Sequence[str], served: Served) -> Schema:
    return {
        # One schema for json and verbose_json: of alternatives, generated clients drop fields or fail.
        "Transcription": answer_object(
            {
                "text": {"type": "string"},
                **({"usage": _USAGE} if TRANSCRIPT_USAGE in served.extensions else {}),
                "task": one_of(tasks, description="With verbose_json, as all below; `words` on request."),
                "language": {"type": "string"},
                "duration": {"type": "number", "minimum": 0, "description": "Seconds of audio."},
                "segments": _SEGMENTS,
                "words": {"type": "array", "items": reference("Word")},
            },
            "usage",
            "task",
            "language",
            "duration",
            "segments",
            "words",
        ),
        "Segment": answer_object(
            {
                "id": {"type": "integer", "minimum": 0},
                "start": _SECONDS,
                "end": _SECONDS,
                "text": {"type": "string"},
                "avg_logprob": {"type": "number"},
                "no_speech_prob": _PROBABILITY,
            }
        ),
        "Word": answer_object(
            {"start": _SECONDS, "end": _SECONDS, "word": {"type": "string"}, "probability": _PROBABILITY}
        ),
        "MobileTranscription": answer_object(
            {
                "text": {"type": "string"},
                "language": {"type": "string"},
                "duration_seconds": {"type": "number", "minimum": 0},
                "model": {"type": "string"},
                "segments": _SEGMENTS,
            }
        ),
    }


def multipart(schema: Schema) -> Schema:
    return {"content": {"multipart/form-data": {"schema": schema}}}


def answer_in(served: Served, *, streams: bool) -> Schema:
    kinds = ["text/plain"]
    if streams:
        kinds.append("text/event-stream")
    if SUBTITLES in served.extensions:
        kinds += ["application/x-subrip", "text/vtt"]
    text = {kind: {"schema": {"type": "string"}} for kind in kinds}
    return {"content": {"application/json": {"schema": reference("Transcription")}, **text}}


def options_of(served: Served) -> Schema:
    """The parameters that translations have too."""
    return {
        "prompt": {
            "type": "string",
            "maxLength": protocol.LONGEST_PROMPT,
            "description": "Text that helps with names and special words.",
        },
        "response_format": one_of(protocol.formats(served), default="json"),
        "temperature": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
    }


def _form(served: Served) -> Schema:
    models = list(served.model_names(TRANSCRIPTIONS))
    return request_object(
        {
            "file": FILE,
            "model": one_of(models, default=models[0]),
            "language": _LANGUAGE,
            **options_of(served),
            "timestamp_granularities[]": {
                "type": "array",
                "items": one_of(protocol.GRANULARITIES),
                "description": "Needs response_format=verbose_json. Brackets are optional.",
            },
            **({"stream": _STREAM} if TRANSCRIPT_STREAMING in served.extensions else {}),
            **ignored(parameters.ignored(TRANSCRIPTIONS, served)),
        },
        "file",
    )


def describe(served: Served) -> OpenApiFragment:
    streams = TRANSCRIPT_STREAMING in served.extensions
    return OpenApiFragment(
        {
            "/v1/audio/transcriptions": post(
                "createTranscription", "Speech to text", multipart(_form(served)), answer_in(served, streams=streams)
            ),
            "/api/v1/audio/transcribe": post(
                "transcribe",
                "Speech to text, for mobile apps",
                multipart(_MOBILE_FORM),
                json_content(reference("MobileTranscription")),
            ),
        },
        _schemas(["transcribe", "translate"] if served.translators() else ["transcribe"], served),
    )
