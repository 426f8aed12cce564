"""Bytes with which fuzzing of the parsers begins: what is right, and what once was read wrongly."""

import random
from collections.abc import Mapping, Sequence

from tests.frontends import MOBILE_TOKEN
from tests.fuzz.bodies import JSON_PATHS, TRANSCRIBE, form_body, json_body
from tests.fuzz.containers import seeds

_CHAT = (
    b'{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "file"}]}]}',
    b'{"input": [{"type": "message", "role": "user", "content": "a"}], "max_output_tokens": 5, "stream": true}',
    b'{"messages": [], "n": 3, "max_tokens": 7, "stream": true, "stream_options": {"include_usage": false}}',
)
_EVENTS = (
    b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
    b'data: {"choices": [], "usage": {"total_tokens": 7}}\r\n\r\ndata: [DONE]\n\n',
    b'event: x\rdata: {"response": {"usage": {"input_tokens": 3, "output_tokens": "4"}}}\n',
    b'data: {"delta": "\xc3\xa9", "usage": {"prompt_tokens": 1.0, "completion_tokens": 2, "total_tokens": null}}\n\n',
)
_LIVE = (
    b'{"type": "input_audio_buffer.append", "audio": "AAAA\\nAA==", "event_id": "e"}\n'
    b'{"type": "input_audio_buffer.commit"}\n{"type": "input_audio_buffer.clear"}',
    b'{"type": "session.update", "session": {"type": "transcription", "audio": {"input": '
    b'{"format": {"type": "audio/pcm", "rate": 16000}, "transcription": {"model": "stt-1", "language": "de"}, '
    b'"turn_detection": {"type": "server_vad", "threshold": 0.5}}}}}',
)
_TEXTS = (
    "On 3 May, Dr. Smith paid $1,000.50 (10:30 a.m.) at https://a.example/b?c=d, tel. +41 44 123 45 67.\n\n- **one**",
    "Am 3. Okt. z.B. 1'000 Fr. \u2014 5 \u00b0C, 3\u00bd km\u00b2. M. Dupont: \u00ab aujourd'hui \u00bb."
    " e\u0301 \u597d \U0001f600",
)
_HEADS = (
    b"Authorization: Bearer qk_x\nX-Forwarded-For: 1.2.3.4:5, [::1]:6, ::ffff:1.2.3.4\nContent-Encoding: identity, ",
    b"Transfer-Encoding: gzip, chunked\nContent-Encoding: gzip\nauthorization: bearer  a\nX-Forwarded-For: fe80::1%a",
)
_CLAIMS = (
    b'{"sub": "a", "iat": 1, "exp": 4102444800, "aud": "quartet-mobile", "iss": "quartet"}',
    b'{"sub": 1, "iat": 1e400, "exp": "x", "aud": ["quartet-mobile", 1], "iss": null, "nbf": -1, "b64": false}',
    b'{"alg": "HS256", "typ": "JWT", "kid": 5, "crit": [], "jwk": {}, "x5c": []}',
    MOBILE_TOKEN.encode(),
)
_FRAMES = (
    b"\x81\x85abcd\x09\x07\x0f\x08\x0e\x89\x80abcd\x88\x82abcd\x62\x8a",
    b"\x01\x80abcd\x80\xfe\x00\x7eabcd" + b"x" * 126 + b"\x82\xff" + (70_000).to_bytes(8) + b"abcd" + b"x" * 100,
)
_FORMS = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename=""\nX: y\r\n\r\na\r\n--x--\r\n',
    b'--x\r\nContent-Disposition\n: form-data; name="file"; filename="' + b"x" * 1000 + b'"\r\n\r\na\r\n--x--\r\n',
)
_UPSTREAM = (
    b'7\n{"error": {"message": "m", "type": "t", "param": null, "code": "insufficient_quota"}}',
    b'Wed, 21 Oct 2026 07:28:00 GMT\n{"detail": [{"msg": "m"}]}',
    b"Mon, 01 Jan 99999999999999999999 00:00:00 GMT\n{}",
    b'-1\n{"data": [{"id": "a", "created": 1, "owned_by": "b"}], "usage": {"total_tokens": 5}}',
)


def _bodies(count: int) -> list[bytes]:
    rng = random.Random("bodies")
    return [json_body(rng, path).content for path in JSON_PATHS for _ in range(count)]


def _forms(count: int) -> list[bytes]:
    rng, found = random.Random("forms"), list[bytes]()
    while len(found) < count:
        body = form_body(rng, TRANSCRIBE, file=b"RIFF")
        if body.content_type.endswith("=x"):
            found.append(body.content)
    return found


def corpus() -> Mapping[str, Sequence[bytes]]:
    """Examples by target."""
    files = [data[:4096] for data in seeds().values()]
    return {
        "json_bodies": [*_CHAT, *(body for body in _bodies(3) if len(body) < 4096)],
        "forms": [*_forms(4), *_FORMS],
        "heads": _HEADS,
        "tokens": _CLAIMS,
        "kinds_of_files": files,
        "ogg_pages": [data for data in seeds().values() if data.startswith(b"OggS")],
        "streams": _EVENTS,
        "upstreams": _UPSTREAM,
        "live_events": _LIVE,
        "frames": _FRAMES,
        "spoken": [text.encode() for text in _TEXTS],
    }
