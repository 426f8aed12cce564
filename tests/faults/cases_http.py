"""Requests that are wrong as HTTP, as JSON or in their key: name to bytes and the status they must get."""

import base64
import gzip
import json
import time
import zlib
from typing import Any

import jwt

from frontend.access import api_key
from tests.conftest import JWT_SECRET, KEY
from tests.raw import head

EMBED, RERANK, SPEECH = "/v1/embeddings", "/v1/rerank", "/v1/audio/speech"
TRANSCRIBE = "/v1/audio/transcriptions"
Cases = dict[str, tuple[bytes, int]]


def post(path: str, body: bytes, *lines: str, key: str = KEY) -> bytes:
    return head("POST", path, f"Content-Length: {len(body)}", *lines, key=key) + body


def http() -> Cases:
    """Framing, methods, headers."""
    body = b'{"input": "a"}'
    return {
        "no HTTP at all": (b"\x00\x01\x02\x03\r\n\r\n", 400),
        "TLS on the plain port": (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + bytes(90) + b"\r\n\r\n", 400),
        "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        "a line of 20 kB": (head("GET", "/" + "a" * 20_000), 400),
        "a header of 20 kB": (head("GET", "/v1/models", "X-A: " + "a" * 20_000), 400),
        "a key of 10 kB": (head("GET", "/v1/models", key="k" * 10_000), 401),
        "500 headers": (head("GET", "/v1/models", *(f"X-{n}: 1" for n in range(500))), 400),
        "a NUL in a header": (head("GET", "/v1/models", "X-A: a\0b"), 400),
        "a header without a name": (head("GET", "/v1/models", ": a"), 400),
        "a folded header": (head("GET", "/v1/models", "X-A: a\r\n b"), 400),
        "two lengths": (head("POST", EMBED, "Content-Length: 14", "Content-Length: 15") + body, 400),
        "a length and chunks": (head("POST", EMBED, "Content-Length: 14", "Transfer-Encoding: chunked") + body, 400),
        "a negative length": (head("POST", EMBED, "Content-Length: -1"), 400),
        "a length with a sign": (head("POST", EMBED, "Content-Length: +14") + body, 400),
        "a length in hexadecimal": (head("POST", EMBED, "Content-Length: 0x0e") + body, 400),
        "a length of 10^18": (head("POST", EMBED, "Content-Length: 1000000000000000000"), 413),
        "a length of 10^30": (head("POST", EMBED, f"Content-Length: 1{'0' * 30}"), 400),
        "an unknown coding": (head("POST", EMBED, "Transfer-Encoding: xchunked") + body, 400),
        "a bad chunk size": (head("POST", EMBED, "Transfer-Encoding: chunked") + b"zz\r\nabc\r\n0\r\n\r\n", 400),
        "a negative chunk": (head("POST", EMBED, "Transfer-Encoding: chunked") + b"-5\r\nabc\r\n0\r\n\r\n", 400),
        "a chunk without its end": (head("POST", EMBED, "Transfer-Encoding: chunked") + b"1\r\n{XX", 400),
        "an unknown path": (head("GET", "/v1/nothing"), 404),
        "a path that climbs": (head("GET", "/v1/models/..%2f..%2fetc%2fpasswd"), 404),
        "a path with a NUL": (head("GET", "/v1/models/%00"), 404),
        "a path that is no UTF-8": (head("GET", "/v1/models/%ff%fe"), 404),
        "a trailing slash": (post(EMBED + "/", body), 404),
        "a wrong method": (head("GET", EMBED), 405),
        "a method of its own": (head("BREW", EMBED), 405),
        "a method in small letters": (head("post", EMBED), 405),
        "a method of 100 letters": (head("A" * 100, EMBED), 400),
        "a method that is none": (head("BR(EW", EMBED), 400),
        "TRACE": (head("TRACE", EMBED), 405),
        "DELETE of a model": (head("DELETE", "/v1/models/stt-1"), 405),
        "a key in the address": (head("GET", f"/v1/models?key={KEY}", key="x"), 401),
        "gzip": (post(EMBED, gzip.compress(body), "Content-Encoding: gzip"), 415),
        "no gzip at all": (post(EMBED, b"\x00\x01", "Content-Encoding: gzip"), 415),
        "a deflate bomb": (post(EMBED, zlib.compress(bytes(30_000_000)), "Content-Encoding: deflate"), 415),
        "an unknown encoding": (post(EMBED, body, "Content-Encoding: br, gzip"), 415),
        "a body too large by its length": (head("POST", EMBED, "Content-Length: 5000000"), 413),
        "a body that stops": (head("POST", EMBED, "Content-Length: 100") + body, 408),
        "chunks that stop": (head("POST", EMBED, "Transfer-Encoding: chunked") + b'5\r\n{"inp\r\n', 408),
        "an upload that stops": (
            head("POST", TRANSCRIBE, "Content-Type: multipart/form-data; boundary=x", "Content-Length: 900") + b"--x",
            408,
        ),
    }


def json_bodies() -> Cases:
    """What is no JSON, or not the JSON that an endpoint takes."""
    deep = b'{"input":' + b"[" * 200_000
    raw: dict[str, bytes] = {
        "nothing": b"",
        "a blank": b" ",
        "a list": b"[]",
        "a string": b'"a"',
        "a number": b"1",
        "null": b"null",
        "half an object": b'{"input": "a"',
        "two objects": b'{"input": "a"}{"input": "a"}',
        "a trailing comma": b'{"input": "a",}',
        "single quotes": b"{'input': 'a'}",
        "a comment": b'{"input": "a"} // b',
        "UTF-16": '{"input": "a"}'.encode("utf-16"),
        "a byte order mark": b"\xef\xbb\xbf" + b'{"input": "a"}',
        "no UTF-8": b'{"input": "\xff"}',
        "an overlong UTF-8": b'{"input": "\xc0\xaf"}',
        "a lone surrogate": b'{"input": "\\ud800"}',
        "a lone surrogate as a name": b'{"\\ud800": 1, "input": "a"}',
        "a name of 1000 characters": b'{"' + b"n" * 1000 + b'": 1, "input": "a"}',
        "a name with a line's end": b'{"a\\nb": 1, "input": "a"}',
        "a control character": b'{"input": "a\x01"}',
        "NaN": b'{"input": "a", "dimensions": NaN}',
        "Infinity": b'{"input": "a", "dimensions": Infinity}',
        "minus Infinity": b'{"input": "a", "dimensions": -Infinity}',
        "a number of 5000 digits": b'{"input": "a", "dimensions": ' + b"9" * 5000 + b"}",
        "an exponent out of range": b'{"input": "a", "dimensions": 1e999}',
        "200,000 brackets": deep,
        "200,000 braces": b'{"a":' * 200_000,
        "33 levels": b'{"input":' + b"[" * 33 + b"]" * 33 + b"}",
        "a parameter twice": b'{"input": "a", "input": "b"}',
        "a parameter twice, deeper": b'{"input": [{"a": 1, "a": 2}]}',
        "100,000 parameters": json.dumps({f"a{n}": 1 for n in range(100_000)}).encode(),
        "a form's words": b"input=a",
    }
    cases: Cases = {f"body: {name}": (post(EMBED, body), 400) for name, body in raw.items()}
    values: list[tuple[str, str, Any]] = [
        (EMBED, "no input", {}),
        (EMBED, "input null", {"input": None}),
        (EMBED, "input true", {"input": True}),
        (EMBED, "input empty", {"input": ""}),
        (EMBED, "input an empty list", {"input": []}),
        (EMBED, "an empty text among others", {"input": ["a", ""]}),
        (EMBED, "33 inputs", {"input": ["a"] * 33}),
        (EMBED, "tokens", {"input": [1, 2, 3]}),
        (EMBED, "lists of tokens", {"input": [[1], [-1]]}),
        (EMBED, "texts and numbers", {"input": ["a", 1]}),
        (EMBED, "null among texts", {"input": ["a", None]}),
        (EMBED, "a model that is a number", {"input": "a", "model": 5}),
        (EMBED, "a model of 10 kB", {"input": "a", "model": "m" * 10_000}),
        (EMBED, "a model that climbs", {"input": "a", "model": "../../m3"}),
        (EMBED, "another endpoint's model", {"input": "a", "model": "stt-1"}),
        (EMBED, "no dimensions", {"input": "a", "dimensions": 0}),
        (EMBED, "dimensions as text", {"input": "a", "dimensions": "5"}),
        (EMBED, "a broken dimension", {"input": "a", "dimensions": 1.5}),
        (EMBED, "an unknown encoding", {"input": "a", "encoding_format": "hex"}),
        (EMBED, "user", {"input": "a", "user": "me"}),
        (EMBED, "stream", {"input": "a", "stream": False}),
        (EMBED, "a huge unknown parameter", {"input": "a", "metadata": "x" * 1_000_000}),
        (EMBED, "a prototype", {"input": "a", "__proto__": {}}),
        (RERANK, "no query", {"documents": ["a"]}),
        (RERANK, "an empty query", {"query": "", "documents": ["a"]}),
        (RERANK, "no documents", {"query": "a"}),
        (RERANK, "empty documents", {"query": "a", "documents": []}),
        (RERANK, "33 documents", {"query": "a", "documents": ["a"] * 33}),
        (RERANK, "documents as objects", {"query": "a", "documents": [{"text": "a"}]}),
        (RERANK, "top_n 0", {"query": "a", "documents": ["a"], "top_n": 0}),
        (RERANK, "top_n negative", {"query": "a", "documents": ["a"], "top_n": -1}),
        (RERANK, "top_n true", {"query": "a", "documents": ["a"], "top_n": True}),
        (RERANK, "return_documents as text", {"query": "a", "documents": ["a"], "return_documents": "true"}),
        (SPEECH, "no input", {"voice": "amy"}),
        (SPEECH, "blank input", {"input": " \t\n\u3000", "voice": "amy"}),
        (SPEECH, "only marks", {"input": "?!...", "voice": "amy"}),
        (SPEECH, "only control characters", {"input": "\u0000\u0001\u0002", "voice": "amy"}),
        (SPEECH, "no voice", {"input": "a"}),
        (SPEECH, "a voice in capitals", {"input": "a", "voice": "AMY"}),
        (SPEECH, "a voice that climbs", {"input": "a", "voice": "../amy"}),
        (SPEECH, "a voice as an object", {"input": "a", "voice": {"id": "amy"}}),
        (SPEECH, "speed 0", {"input": "a", "voice": "amy", "speed": 0}),
        (SPEECH, "speed 100", {"input": "a", "voice": "amy", "speed": 100}),
        (SPEECH, "speed true", {"input": "a", "voice": "amy", "speed": True}),
        (SPEECH, "opus", {"input": "a", "voice": "amy", "response_format": "opus"}),
        (SPEECH, "a language without a voice", {"input": "a", "language": "xx"}),
    ]
    for path, name, value in values:
        cases[f"{path}: {name}"] = (post(path, json.dumps(value).encode()), 400)
    cases[f"{SPEECH}: 5001 characters"] = (
        post(SPEECH, json.dumps({"input": "a" * 5001, "voice": "amy"}).encode()),
        413,
    )
    cases["JSON: a form"] = (
        post(EMBED, b"--x--\r\n", "Content-Type: multipart/form-data; boundary=x"),
        400,
    )
    return cases


def keys() -> Cases:
    """API keys that are none."""
    cases: Cases = {}
    wrong = {
        "unknown": api_key.new_key(),
        "with another checksum": KEY[:-1] + ("A" if KEY[-1] != "A" else "B"),
        "cut": KEY[:-1],
        "with more": KEY + "A",
        "of OpenAI": "sk-proj-" + "a" * 40,
        "of spaces": "   ",
        "in Cyrillic": "ключ",
        "with a quote": "' OR 1=1 --",
        "of 8 kB less the header": "k" * 8000,
    }
    for name, key in wrong.items():
        cases[f"a key {name}"] = (head("GET", "/v1/models", key=key), 401)
    raw = {
        "no header": b"",
        "an empty header": b"Authorization:\r\n",
        "Bearer alone": b"Authorization: Bearer\r\n",
        "Basic": b"Authorization: Basic " + base64.b64encode(f"user:{KEY}".encode()) + b"\r\n",
        "the key alone": f"Authorization: {KEY}\r\n".encode(),
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

    def signed(secret: str = JWT_SECRET, algorithm: str = "HS256", **changes: Any) -> str:
        given = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        return jwt.encode(given, secret, algorithm=algorithm)

    wrong = {
        "an API key": KEY,
        "nothing": "",
        "words": "not.a.token",
        "of another secret": signed("t" * 32),
        "of HS512": signed(JWT_SECRET * 2, "HS512"),
        "alg none": f"{part({'alg': 'none'})}.{part(claims)}.",
        "alg nOnE": f"{part({'alg': 'nOnE'})}.{part(claims)}.",
        "alg missing": f"{part({})}.{part(claims)}.x",
        "alg a number": f"{part({'alg': 5})}.{part(claims)}.x",
        "a header that is a list": f"{part(['HS256'])}.{part(claims)}.x",
        "claims that are a list": f"{part({'alg': 'HS256'})}.{part([1])}.x",
        "crit": f"{part({'alg': 'HS256', 'crit': ['b64'], 'b64': False})}.{part(claims)}.x",
        "kid a number": f"{part({'alg': 'HS256', 'kid': 5})}.{part(claims)}.x",
        "kid a path": f"{part({'alg': 'HS256', 'kid': '../../dev/null'})}.{part(claims)}.x",
        "jku": f"{part({'alg': 'RS256', 'jku': 'http://127.0.0.1:1/'})}.{part(claims)}.x",
        "a cut signature": signed()[:-3],
        "another payload": ".".join([signed().split(".")[0], part({**claims, "sub": "b"}), signed().split(".")[2]]),
        "deep JSON": base64.urlsafe_b64encode(b"[" * 5000).decode() + ".e30.x",
        "no UTF-8": base64.urlsafe_b64encode(b"\xff\xfe").decode() + ".e30.x",
        "expired": signed(iat=now - 100, exp=now - 1),
        "without exp": signed(exp=None),
        "without iat": signed(iat=None),
        "without sub": signed(sub=None),
        "without aud": signed(aud=None),
        "without iss": signed(iss=None),
        "of another audience": signed(aud="others"),
        "of another issuer": signed(iss="others"),
        "issued in an hour": signed(iat=now + 3600),
        "valid in an hour": signed(nbf=now + 3600),
        "an empty subject": signed(sub=""),
        "a subject of 129 characters": signed(sub="x" * 129),
        "two tokens": f"{signed()} {signed()}",
        "of 9 kB": signed(more="x" * 6_000),
        "of 1 MB": signed(more="x" * 750_000),
    }
    return {f"a token {name}": (head("GET", "/api/v1/audio/voices", key=token), 401) for name, token in wrong.items()}
