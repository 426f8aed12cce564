"""Malformed HTTP and JSON, wrong keys and tokens, beside what ``tests/http`` and ``tests/unit`` send.

Each case has a name, the bytes of a request, and the status of its answer.
"""

import base64
import json
import time
import zlib
from typing import Any

import jwt

from frontend.access import api_key
from tests.conftest import JWT_SECRET, KEY
from tests.raw import head, post

EMBED, RERANK, SPEECH = "/v1/embeddings", "/v1/rerank", "/v1/audio/speech"
TRANSCRIBE = "/v1/audio/transcriptions"
Cases = dict[str, tuple[bytes, int]]


def http() -> Cases:
    """Framing, methods, headers."""
    body = b'{"input": "a"}'
    return {
        "no HTTP at all": (b"\x00\x01\x02\x03\r\n\r\n", 400),
        "a header of 20 kB": (head("GET", "/v1/models", "X-A: " + "a" * 20_000), 400),
        "500 headers": (head("GET", "/v1/models", *(f"X-{n}: 1" for n in range(500))), 400),
        "a header without a name": (head("GET", "/v1/models", ": a"), 400),
        "a folded header": (head("GET", "/v1/models", "X-A: a\r\n b"), 400),
        "two lengths": (head("POST", EMBED, "Content-Length: 14", "Content-Length: 15") + body, 400),
        "a length with a sign": (head("POST", EMBED, "Content-Length: +14") + body, 400),
        "a length in hexadecimal": (head("POST", EMBED, "Content-Length: 0x0e") + body, 400),
        "a length of 10^30": (head("POST", EMBED, f"Content-Length: 1{'0' * 30}"), 400),
        "an unknown coding": (head("POST", EMBED, "Transfer-Encoding: xchunked") + body, 400),
        "a bad chunk size": (head("POST", EMBED, "Transfer-Encoding: chunked") + b"zz\r\nabc\r\n0\r\n\r\n", 400),
        "a negative chunk": (head("POST", EMBED, "Transfer-Encoding: chunked") + b"-5\r\nabc\r\n0\r\n\r\n", 400),
        "a chunk without its end": (head("POST", EMBED, "Transfer-Encoding: chunked") + b"1\r\n{XX", 400),
        "a path that climbs": (head("GET", "/v1/models/..%2f..%2fetc%2fpasswd"), 404),
        "a path with a NUL": (head("GET", "/v1/models/%00"), 404),
        "a path that is no UTF-8": (head("GET", "/v1/models/%ff%fe"), 404),
        "a trailing slash": (post(EMBED + "/", body), 404),
        "DELETE of a model": (head("DELETE", "/v1/models/stt-1"), 405),
        "a key in the address": (head("GET", f"/v1/models?key={KEY}", key="x"), 401),
        "a deflate bomb": (post(EMBED, zlib.compress(bytes(30_000_000)), "Content-Encoding: deflate"), 415),
        "500 trailers": (
            head("POST", EMBED, "Transfer-Encoding: chunked")
            + b"e\r\n"
            + body
            + b"\r\n0\r\n"
            + b"X: y\r\n" * 500
            + b"\r\n",
            400,
        ),
        "two hosts": (head("GET", "/v1/models", "Host: y"), 400),
        "no host": (head("GET", "/v1/models").replace(b"Host: x\r\n", b""), 400),
        "an upload that stops": (
            head("POST", TRANSCRIBE, "Content-Type: multipart/form-data; boundary=x", "Content-Length: 900") + b"--x",
            408,
        ),
    }


def odd() -> dict[str, bytes]:
    """What few send and all may: it is answered."""
    body = b'{"input": "a"}'
    chunked = head("POST", EMBED, "Transfer-Encoding: chunked")
    return {
        "an extension of 30 kB to a chunk": chunked + b"e;x=" + b"a" * 30_000 + b"\r\n" + body + b"\r\n0\r\n\r\n",
        "trailers": chunked + b"e\r\n" + body + b"\r\n0\r\n" + b"X: y\r\n" * 3 + b"\r\n",
        "1 MB of text": post(EMBED, b'{"input": "' + b"word " * 200_000 + b'"}'),
        "a NUL in a text to speak": post(SPEECH, b'{"input": "a\\u0000b", "voice": "amy"}'),
        "markup in a text to speak": post(SPEECH, b'{"input": "<speak>hi</speak>", "voice": "amy"}'),
        "Hebrew for an English voice": post(SPEECH, '{"input": "שלום", "voice": "amy"}'.encode()),
    }


def json_bodies() -> Cases:
    """What is no JSON, or not the JSON that an endpoint takes."""
    raw: dict[str, bytes] = {
        "a blank": b" ",
        "a string": b'"a"',
        "a number": b"1",
        "null": b"null",
        "two objects": b'{"input": "a"}{"input": "a"}',
        "a trailing comma": b'{"input": "a",}',
        "single quotes": b"{'input': 'a'}",
        "a comment": b'{"input": "a"} // b',
        "UTF-16": '{"input": "a"}'.encode("utf-16"),
        "two byte order marks": b"\xef\xbb\xbf" * 2 + b'{"input": "a"}',
        "an overlong UTF-8": b'{"input": "\xc0\xaf"}',
        "a lone surrogate": b'{"input": "\\ud800"}',
        "a lone surrogate as a name": b'{"\\ud800": 1, "input": "a"}',
        "a name of 1000 characters": b'{"' + b"n" * 1000 + b'": 1, "input": "a"}',
        "a name with a line's end": b'{"a\\nb": 1, "input": "a"}',
        "a control character": b'{"input": "a\x01"}',
        "minus Infinity": b'{"input": "a", "dimensions": -Infinity}',
        "an exponent out of range": b'{"input": "a", "dimensions": 1e999}',
        "200,000 braces": b'{"a":' * 200_000,
        "a parameter twice, deeper": b'{"input": [{"a": 1, "a": 2}]}',
        "100,000 parameters": json.dumps({f"a{n}": 1 for n in range(100_000)}).encode(),
        "a form's words": b"input=a",
    }
    cases: Cases = {f"body: {name}": (post(EMBED, body), 400) for name, body in raw.items()}
    values: list[tuple[str, str, Any]] = [
        (EMBED, "input null", {"input": None}),
        (EMBED, "input true", {"input": True}),
        (EMBED, "null among texts", {"input": ["a", None]}),
        (EMBED, "a model that is a number", {"input": "a", "model": 5}),
        (EMBED, "a model of 10 kB", {"input": "a", "model": "m" * 10_000}),
        (EMBED, "a model that climbs", {"input": "a", "model": "../../m3"}),
        (EMBED, "another endpoint's model", {"input": "a", "model": "stt-1"}),
        (EMBED, "a broken dimension", {"input": "a", "dimensions": 1.5}),
        (EMBED, "stream", {"input": "a", "stream": False}),
        (EMBED, "a huge unknown parameter", {"input": "a", "metadata": "x" * 1_000_000}),
        (EMBED, "a prototype", {"input": "a", "__proto__": {}}),
        (RERANK, "no query", {"documents": ["a"]}),
        (RERANK, "top_n negative", {"query": "a", "documents": ["a"], "top_n": -1}),
        (RERANK, "top_n true", {"query": "a", "documents": ["a"], "top_n": True}),
        (RERANK, "return_documents as text", {"query": "a", "documents": ["a"], "return_documents": "true"}),
        (SPEECH, "no input", {"voice": "amy"}),
        (SPEECH, "only control characters", {"input": "\u0000\u0001\u0002", "voice": "amy"}),
        (SPEECH, "a voice that climbs", {"input": "a", "voice": "../amy"}),
        (SPEECH, "a voice as an object", {"input": "a", "voice": {"id": "amy"}}),
        (SPEECH, "speed 0", {"input": "a", "voice": "amy", "speed": 0}),
        (SPEECH, "speed 100", {"input": "a", "voice": "amy", "speed": 100}),
    ]
    for path, name, value in values:
        cases[f"{path}: {name}"] = (post(path, json.dumps(value).encode()), 400)
    return cases


def keys() -> Cases:
    """API keys that are none."""
    cases: Cases = {}
    wrong = {
        "unknown": api_key.new_key(),
        "of spaces": "   ",
        "in Cyrillic": "ключ",
        "with a quote": "' OR 1=1 --",
        "of 8 kB less the header": "k" * 8000,
    }
    for name, key in wrong.items():
        cases[f"a key {name}"] = (head("GET", "/v1/models", key=key), 401)
    raw = {
        "two headers": f"Authorization: Bearer {KEY}\r\nAuthorization: Bearer {KEY}\r\n".encode(),
        "another header": f"X-Api-Key: {KEY}\r\n".encode(),
        "a cookie": f"Cookie: key={KEY}\r\n".encode(),
    }
    for name, line in raw.items():
        cases[f"a key in {name}"] = (b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n", 401)
    cases["an unknown key with 25 MB announced"] = (head("POST", EMBED, "Content-Length: 26214400", key="x"), 401)
    return cases


def tokens() -> Cases:
    """Mobile tokens that are none."""
    now = int(time.time())
    claims: dict[str, Any] = {"sub": "a", "iat": now, "exp": now + 3600, "aud": "quartet-mobile", "iss": "quartet"}

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    def signed(secret: str = JWT_SECRET, **changes: Any) -> str:
        return jwt.encode({**claims, **changes}, secret, algorithm="HS256")

    wrong = {
        "an API key": KEY,
        "of another secret": signed("t" * 32),
        "alg none": f"{part({'alg': 'none'})}.{part(claims)}.",
        "jku": f"{part({'alg': 'RS256', 'jku': 'http://127.0.0.1:1/'})}.{part(claims)}.x",
        "another payload": ".".join([signed().split(".")[0], part({**claims, "sub": "b"}), signed().split(".")[2]]),
        "expired": signed(iat=now - 100, exp=now - 1),
        "two tokens": f"{signed()} {signed()}",
    }
    cases: Cases = {f"a token {name}": (_voices(token), 401) for name, token in wrong.items()}
    return {**cases, "a token of 100 kB": (_voices(signed(more="x" * 75_000)), 400)}


def _voices(token: str) -> bytes:
    return head("GET", "/api/v1/audio/voices", key=token)
