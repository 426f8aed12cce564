"""Loaded by schemathesis: real recordings beside random bytes wherever the document wants a file."""

import io
import wave

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
