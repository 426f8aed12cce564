"""Requests that are wrong as HTTP, as JSON or in their key: name to bytes and the status they must get."""

import gzip
import json
import zlib
from typing import Any

from tests.conftest import KEY
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
        "two byte order marks": b"\xef\xbb\xbf" * 2 + b'{"input": "a"}',
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
        "200,000 brackets": b'{"input":' + b"[" * 200_000,
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
    long = json.dumps({"input": "a" * 5001, "voice": "amy"}).encode()
    cases[f"{SPEECH}: 5001 characters"] = (post(SPEECH, long), 413)
    cases["JSON: a form"] = (post(EMBED, b"--x--\r\n", "Content-Type: multipart/form-data; boundary=x"), 400)
    return cases
