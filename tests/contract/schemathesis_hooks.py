"""Loaded by schemathesis: real recordings wherever the document wants a file, and what it leaves out of JSON bodies."""

import io
import wave
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.transport.serialization import Binary

from tests.speech import encode, say


def _silence() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8000)
        writer.writeframes(bytes(1600))
    return file.getvalue()


_SPEECH = say("Hello.")
_FILES = st.sampled_from([_silence(), *(encode(_SPEECH, kind) for kind in ("wav", "mp3", "flac", "webm"))])
schemathesis.openapi.format("binary", st.one_of(st.binary(), _FILES).map(Binary))


def _allow_absent(body: dict[str, Any]) -> None:
    for name, value in body.get("properties", {}).items():
        _allow_absent(value)
        if name not in body.get("required", ()):
            body["properties"][name] = {"anyOf": [value, {"enum": ["", None]}]}


@schemathesis.hook  # type: ignore[untyped-decorator]
def before_load_schema(context: schemathesis.HookContext, raw_schema: dict[str, Any]) -> None:
    """In a JSON body, null is the same as absent, and so is an empty string where a parameter may be absent.

    The schema of events is that of the whole text, and schemathesis would compare each event with it.
    """
    for path in raw_schema["paths"].values():
        answers = path.get("post", {}).get("responses", {}).get("200", {}).get("content", {})
        answers.get("text/event-stream", {}).pop("schema", None)
        content = path.get("post", {}).get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        for body in schema.get("anyOf", [schema]):
            _allow_absent(body)
            if body.get("additionalProperties") is False:
                body["additionalProperties"] = {"type": "null"}
