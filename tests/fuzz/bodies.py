"""Bodies of requests: JSON and forms that are right, or wrong in one or a few places."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.containers import damaged, seeds

EMBED, RERANK, SPEECH = "/v1/embeddings", "/v1/rerank", "/v1/audio/speech"
SYNTHESIZE, TRANSCRIBE, MOBILE = "/api/v1/audio/synthesize", "/v1/audio/transcriptions", "/api/v1/audio/transcribe"
# Values that each parameter takes, and the parameters that a request needs.
_RIGHT: Mapping[str, Mapping[str, Sequence[Any]]] = {
    EMBED: {
        "input": ("one", ["one", "two words", "three"], "\u597d \U0001f600 e\u0301", ["x" * 3000] * 3),
        "model": ("embed-m3", None, ""),
        "encoding_format": ("float", "base64", None, ""),
        "dimensions": (1024, 1, None),
    },
    RERANK: {
        "query": ("one", "\u597d"),
        "documents": (["a", "b"], ["", "c"], ["word " * 400] * 5),
        "top_n": (1, 99, None),
        "return_documents": (True, False, None),
        "model": ("rerank-v2-m3", None),
    },
    SPEECH: {
        "input": ("Good morning.", "1,000 at 10:30 (Dr. No).", "Gr\u00fcezi! " * 20),
        "voice": ("amy", "thorsten", "siwis"),
        "model": ("tts-1", None, ""),
        "response_format": ("wav", "mp3", None),
        "speed": (1.0, 0.5, 2, None),
    },
    SYNTHESIZE: {"text": ("Good morning.", "Zwei."), "voice": ("amy", "ryan"), "format": ("mp3", "wav", None)},
}
_NEEDED = {EMBED: {"input"}, RERANK: {"query", "documents"}, SPEECH: {"input", "voice"}, SYNTHESIZE: {"text", "voice"}}
_WRONG: Sequence[Any] = (
    True,
    False,
    0,
    -1,
    1.5,
    2**63,
    -(10**30),
    float("nan"),
    float("inf"),
    1e308,
    [],
    {},
    [[]],
    [None],
    [1],
    [{}],
    "\ud800",
    "a\0b",
    "x" * 70_000,
    "../amy",
    "' or 1=1",
    "\u202e",
    "[object Object]",
    ["\udfff"],
    [""] * 33,
    {"a": {"b": [1, None, "c"]}},
    {"__proto__": 1},
    [["a"] * 5] * 5,
    ["a", 1],
    [True],
    "%s%n",
    "<script>",
    "null",
)
_NAMES = ("n\u0000", "", "x" * 300, "\ud800", "__class__", "a\nb", "input ", "Input", "stream", "user", "metadata")
JSON_PATHS = tuple(_RIGHT)


@dataclass
class Body:
    """The bytes of a body and its content type; ``wrong`` names what was done to it, so that it may be refused."""

    content: bytes = b""
    content_type: str = "application/json"
    wrong: list[str] = field(default_factory=list)


def json_body(rng: random.Random, path: str) -> Body:
    """A JSON body for one of ``JSON_PATHS``."""
    values = {
        name: rng.choice(choices)
        for name, choices in _RIGHT[path].items()
        if name in _NEEDED[path] or rng.random() < 0.5
    }
    body = Body()
    if rng.random() < 0.7:
        name = rng.choice([*_RIGHT[path], *_NAMES])
        values[name] = rng.choice(_WRONG)
        body.wrong.append("a value")
    if rng.random() < 0.1:
        values.pop(rng.choice([*_NEEDED[path]]), None)
        body.wrong.append("a parameter is missing")
    text = json.dumps(values, ensure_ascii=rng.random() < 0.7).encode("utf-8", "surrogatepass")
    if rng.random() < 0.4:
        name, change = rng.choice([*_TEXT_CHANGES.items()])
        body.wrong.append(name)
        text = change(rng, text)
    body.content = text
    return body


def _repeated(rng: random.Random, text: bytes) -> bytes:
    return text[:-1] + b", " + text[1:]


_TEXT_CHANGES: Mapping[str, Callable[[random.Random, bytes], bytes]] = {
    "cut": lambda rng, text: text[: rng.randrange(len(text))],
    "a byte": lambda rng, text: changed(rng, text),
    "a byte order mark": lambda rng, text: b"\xef\xbb\xbf" + text,
    "UTF-16": lambda rng, text: text.decode("utf-8", "replace").encode("utf-16"),
    "twice": lambda rng, text: text + text,
    "names twice": _repeated,
    "no object": lambda rng, text: rng.choice((b"[%b]" % text, b'"a"', b"1", b"null", b"", b" ", b"\0", b"{}", b"[]")),
    "nested": lambda rng, text: (
        b'{"input":' + b"[" * (depth := rng.choice((31, 33, 2000, 100_000))) + b"]" * depth + b"}"
    ),
    "not closed": lambda rng, text: rng.choice((b"[", b'{"a":', b'{"input":"')) * rng.choice((1, 1000, 100_000)),
    "digits": lambda rng, text: b'{"dimensions":' + b"9" * rng.choice((20, 400, 5000)) + b',"input":"a"}',
    "comments": lambda rng, text: b"/* */" + text,
    "a comma": lambda rng, text: text[:-1] + b",}",
    "blanks": lambda rng, text: b" \t\r\n" * rng.choice((1, 20_000)) + text,
    "escapes": lambda rng, text: text.replace(b"a", rng.choice((b"\\u0061", b"\\x61", b"\\uD83D", b"\\", b"\\u00"))),
    "many": lambda rng, text: b'{"input":[' + b",".join([b'"a"'] * rng.choice((32, 33, 20_000))) + b"]}",
}


def changed(rng: random.Random, data: bytes) -> bytes:
    """Bytes with a few changes, with no regard to what they mean."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(result) + 1)
        kind = rng.random()
        if kind < 0.4 and result:
            result[place % len(result)] = rng.choice((0, 9, 10, 13, 32, 34, 44, 58, 127, 128, 255, rng.getrandbits(8)))
        elif kind < 0.6:
            del result[place : place + rng.choice((1, 2, 8, 40))]
        elif kind < 0.8:
            result[place:place] = result[place : place + rng.choice((1, 4, 30))] * rng.choice((1, 2, 50))
        else:
            result[place:place] = rng.choice((b"\r\n", b"\n", b"\0", b'"', b":", b";", b"--", b"\xff\xfe", b" ", b"\r"))
    return bytes(result)


_FIELDS: Mapping[str, Sequence[str]] = {
    "model": ("stt-1", "stt-1-hd", ""),
    "language": ("en", "DE", "jw", ""),
    "prompt": ("names: Zo\u00eb", ""),
    "response_format": ("json", "verbose_json", "text", ""),
    "temperature": ("0", "0.5", "1e-3", ""),
}
_WRONG_FIELDS = {
    **dict.fromkeys(_FIELDS, ("x", "\x00", "-1", "9" * 70000, "\u202e", " ", "1e999", "nan", "../..")),
    "timestamp_granularities[]": ("word", "sentence"),
    "include[]": ("logprobs",),
    "nothing": ("a",),
    "": ("a",),
}


def form_body(rng: random.Random, path: str, *, file: bytes | None = None) -> Body:
    """A form for ``TRANSCRIBE`` or ``MOBILE``. With ``file``, only its content may be wrong."""
    boundary = rng.choice(("x", "----WebKitFormBoundary7MA4YWxkTrZu0gW", "=_a'b(c)+d", "b" * 70))
    body = Body(content_type=f"multipart/form-data; boundary={_quoted(rng, boundary)}")
    name = "file" if path == TRANSCRIBE else "audio"
    sound = file if file is not None else _sound(rng, body)
    head = f'Content-Disposition: form-data; name="{name}"; filename="{rng.choice(_FILE_NAMES)}"'
    parts = [(f"{head}\r\nContent-Type: {rng.choice(('audio/wav', 'text/plain', 'application/octet-stream'))}", sound)]
    if path == TRANSCRIBE:
        for field_name, choices in _FIELDS.items():
            if rng.random() < 0.3:
                parts.append((_field(field_name), rng.choice(choices).encode()))
    if file is None and rng.random() < 0.3:
        field_name = rng.choice([*_WRONG_FIELDS])
        parts.append((_field(field_name), rng.choice(_WRONG_FIELDS[field_name]).encode()))
        body.wrong.append("a field")
    rng.shuffle(parts)
    mark = b"--" + boundary.encode()
    pieces = [mark + b"\r\n" + _encoded(head) + b"\r\n\r\n" + content + b"\r\n" for head, content in parts]
    body.content = b"".join(pieces) + mark + b"--\r\n"
    if file is None and rng.random() < 0.6:
        kind, change = rng.choice([*_FORM_CHANGES.items()])
        body.wrong.append(kind)
        body.content = change(rng, body.content, pieces, mark)
    if file is None and rng.random() < 0.1:
        body.content_type = rng.choice(_WRONG_TYPES)
        body.wrong.append("the content type")
    return body


_FILE_NAMES = (
    "a.wav",
    "a b \u00e9%22.wav",
    "../../etc/passwd",
    "a;b=c.wav",
    "\U0001f600" * 50,
    "",
    "C:\\a.wav",
    "x" * 2000,
)
_WRONG_TYPES = (
    "multipart/form-data",
    "multipart/form-data; boundary=",
    "multipart/form-data; boundary=y",
    "multipart/mixed; boundary=x",
    "application/json",
    "",
    ";",
    "multipart/form-data; boundary=" + "b" * 71,
    'multipart/form-data; boundary="x',
    "a" * 3000,
    "multipart/form-data; boundary=\u00e9",
    "multipart/form-data; boundary=x; boundary=y",
    "multipart/form-data;" * 200,
)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _quoted(rng: random.Random, text: str) -> str:
    needs = not text.replace("-", "").replace("_", "").isalnum()
    return f'"{text}"' if needs or rng.random() < 0.3 else text


def _field(name: str) -> str:
    return f'Content-Disposition: form-data; name="{name}"'


def _sound(rng: random.Random, body: Body) -> bytes:
    if rng.random() < 0.8:
        return seeds()[rng.choice(("ogg-opus", "mp3", "flac", "amr"))]
    body.wrong.append("the file")
    return damaged(rng)


_HEADS = (
    b"Content-Disposition: form-data",
    b'Content-Disposition: form-data; name=""',
    b'Content-Disposition: attachment; name="file"',
    b"Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%ff%00",
    b"Content-Disposition: ;;;",
    b"no colon",
    b"",
    b'Content-Disposition: form-data; name="model"; filename="a"',
    b'Content-Disposition: form-data; name="_charset_"',
    b'Content-Disposition: form-data; name="prompt"\r\nContent-Type: text/plain; charset=utf-7',
    b": a",
    b"\xff: \xfe",
    b'Content-Disposition: form-data; name="prompt"\r\nContent-Transfer-Encoding: base64',
    b"A" * 10_000,
    b"A: " + b"b" * 70_000,
    b'Content-Disposition: form-data; name="prompt"\r\nContent-Encoding: gzip',
    b"\r\n".join([b"A: b"] * 300),
    b"A:\r\n b",
    b'Content-Disposition: form-data; name="a\\"b"; x="' + b";a=" * 500 + b'"',
    b"Content-Type: multipart/mixed; boundary=y",
    b'Content-Disposition: form-data; name="file',
    b'Content-Disposition: form-data; name="file"; name="model"',
    b'Content-Disposition: form-data; name="prompt"\r\nContent-Length: -5',
)
_FormChange = Callable[[random.Random, bytes, list[bytes], bytes], bytes]
_FORM_CHANGES: Mapping[str, _FormChange] = {
    "bytes": lambda rng, whole, parts, mark: changed(rng, whole),
    "cut": lambda rng, whole, parts, mark: whole[: rng.randrange(len(whole))],
    "line ends": lambda rng, whole, parts, mark: whole.replace(b"\r\n", rng.choice((b"\n", b"\r"))),
    "no end": lambda rng, whole, parts, mark: b"".join(parts),
    "an end that is cut": lambda rng, whole, parts, mark: (
        b"".join(parts) + mark + rng.choice((b"", b"-", b"--", b"\r\n"))
    ),
    "a preamble": lambda rng, whole, parts, mark: rng.choice((b"\r\n", b"a" * 100_000, b"--", b"\n" * 70_000)) + whole,
    "something behind": lambda rng, whole, parts, mark: whole + rng.choice((b"a", b"\r\n" * 5, whole, b"-" * 100_000)),
    "parts twice": lambda rng, whole, parts, mark: b"".join(parts * rng.choice((2, 30))) + mark + b"--\r\n",
    "no parts": lambda rng, whole, parts, mark: mark + b"--\r\n",
    "nothing": lambda rng, whole, parts, mark: b"",
    "a head": lambda rng, whole, parts, mark: mark + b"\r\n" + rng.choice(_HEADS) + b"\r\n\r\na\r\n" + whole,
    "a boundary within": lambda rng, whole, parts, mark: whole.replace(b"\r\n\r\n", b"\r\n\r\n" + mark + b"\r\n", 1),
    "many small parts": lambda rng, whole, parts, mark: (mark + b"\r\n\r\n\r\n") * rng.choice((2, 70)) + whole,
    "half boundaries": lambda rng, whole, parts, mark: (b"\r\n" + mark[:-1]) * rng.choice((5, 5000)) + whole,
}
