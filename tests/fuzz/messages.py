"""HTTP as bytes: requests that are right, or that break the grammar in one or a few places."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.conftest import KEY
from tests.frontends import MOBILE_TOKEN
from tests.fuzz.bodies import JSON_PATHS, MOBILE, TRANSCRIBE, Body, changed, form_body, json_body
from tests.fuzz.containers import damaged, seeds
from tests.fuzz.words import CHUNKS, GETS, HARMLESS, METHODS, TARGETS, VERSIONS, WRONG_LINES

_HOST, _CLOSE = b"Host: 127.0.0.1\r\n", b"Connection: close\r\n"


@dataclass
class Message:
    """What is sent over one connection, in ``pieces``; ``wrong`` names what was done to it.

    ``statuses`` are those of its answers if nothing is wrong. ``most`` is how many requests it may be taken for.
    """

    pieces: list[bytes]
    wrong: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=lambda: [200])
    most: int = 2


def file_upload(rng: random.Random) -> Message:
    """A form whose only fault may be in its file."""
    path = rng.choice((TRANSCRIBE, TRANSCRIBE, MOBILE))
    whole = rng.random() < 0.02
    file = rng.choice([*seeds().values()]) if whole else damaged(rng)
    body = form_body(rng, path, file=file)
    lines = [_line("Content-Type", body.content_type), _length(body)]
    return Message([_head("POST", path, lines) + body.content], [] if whole else ["the file"])


def request(rng: random.Random) -> Message:
    """A request to any path, with faults in its head, its framing or its body."""
    message, head, lines, body = _base(rng)
    lines.append(_length(body) if rng.random() < 0.6 or not body.content else b"Transfer-Encoding: chunked\r\n")
    if lines[-1].startswith(b"Transfer"):
        body.content = _chunked(rng, body.content)
    message.wrong += body.wrong
    if rng.random() < 0.5:
        rng.choice(_FAULTS)(rng, message, head, lines, body)
    if _CLOSE in lines and rng.random() < 0.1:
        # Behind a request that ends its connection there must be none.
        lines.remove(_CLOSE)
        message.statuses.append(200)
    rng.shuffle(lines)
    data = b" ".join(head) + b"\r\n" + b"".join(lines) + b"\r\n" + body.content
    if rng.random() < 0.1:
        message.wrong.append("bytes")
        data = changed(rng, data)
        message.most = 2 + data.count(b"HTTP/1")
    if len(message.statuses) > 1:
        data += _head("GET", "/v1/models", [])
    message.pieces = _pieces(rng, data)
    return message


def _base(rng: random.Random) -> tuple[Message, list[bytes], list[bytes], Body]:
    """A request without a fault in its head: its first line in three parts, its headers, its body."""
    message = Message([])
    if rng.random() < 0.25:
        path, body = rng.choice(GETS), Body()
        method = "GET"
        message.statuses = [404 if path == "/v1/nothing" else 200]
    elif rng.random() < 0.4:
        path = rng.choice((TRANSCRIBE, MOBILE))
        method, body = "POST", form_body(rng, path)
    else:
        path = rng.choice(JSON_PATHS)
        method, body = "POST", json_body(rng, path)
    lines = [_HOST, _CLOSE, _line("Authorization", f"Bearer {_key(path)}")]
    if body.content_type:
        lines.append(_line("Content-Type", body.content_type))
    for name, values in HARMLESS.items():
        if rng.random() < 0.15:
            lines.append(_line(name, rng.choice(values)))
    return message, [method.encode(), path.encode(), b"HTTP/1.1"], lines, body


def _key(path: str) -> str:
    return MOBILE_TOKEN if path.startswith("/api/") else KEY


def _line(name: str, value: str) -> bytes:
    return f"{name}: {value}\r\n".encode("utf-8", "surrogatepass")


def _length(body: Body) -> bytes:
    return b"Content-Length: %d\r\n" % len(body.content)


def _head(method: str, path: str, lines: Sequence[bytes]) -> bytes:
    own = [_HOST, _CLOSE, _line("Authorization", f"Bearer {_key(path)}")]
    return f"{method} {path} HTTP/1.1\r\n".encode() + b"".join([*own, *lines]) + b"\r\n"


def _chunked(rng: random.Random, content: bytes) -> bytes:
    chunks, place = list[bytes](), 0
    while place < len(content):
        size = rng.choice((1, 7, 1000, len(content)))
        part = content[place : place + size] if len(chunks) < 50 else content[place:]
        chunks.append(b"%x\r\n%b\r\n" % (len(part), part))
        place += len(part)
    return b"".join(chunks) + b"0\r\n\r\n"


def _pieces(rng: random.Random, data: bytes) -> list[bytes]:
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 0, 0, 1, 5))))
    return [part for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if (part := data[start:end])]


_Fault = Callable[[random.Random, Message, list[bytes], list[bytes], Body], None]


def _first_line(
    part: int, others: Sequence[bytes], rng: random.Random, message: Message, head: list[bytes], *rest: object
) -> None:
    message.wrong.append(("the method", "the target", "the version")[part])
    head[part] = rng.choice(others)


def _a_line(rng: random.Random, message: Message, head: list[bytes], lines: list[bytes], body: Body) -> None:
    message.wrong.append("a header")
    lines.append(rng.choice(WRONG_LINES))


def _no_line(rng: random.Random, message: Message, head: list[bytes], lines: list[bytes], body: Body) -> None:
    message.wrong.append("no header")
    lines.remove(rng.choice(lines))


def _framing(rng: random.Random, message: Message, head: list[bytes], lines: list[bytes], body: Body) -> None:
    """A body in chunks that are wrong, or one that is shorter or longer than it says."""
    message.wrong.append("the framing")
    if lines[-1].startswith(b"Transfer"):
        place = rng.randrange(len(body.content) + 1)
        body.content = body.content[:place] + rng.choice(CHUNKS) + body.content[place:]
    else:
        lines[-1] = b"Content-Length: %d\r\n" % max(0, len(body.content) + rng.choice((-1, 1, -10, 1000)))


def _key_of(rng: random.Random, message: Message, head: list[bytes], lines: list[bytes], body: Body) -> None:
    message.wrong.append("the key")
    values = (
        "Bearer",
        "Bearer  ",
        f"bearer {KEY}",
        f"Bearer {KEY} ",
        "Basic YTpi",
        "Bearer " + "k" * 15_000,
        "Bearer \u00e9",
        "Bearer a.b.c",
    )
    lines[2] = _line("Authorization", rng.choice(values))


_FAULTS: tuple[_Fault, ...] = (
    partial(_first_line, 0, METHODS),
    partial(_first_line, 1, TARGETS),
    partial(_first_line, 1, TARGETS),
    partial(_first_line, 2, VERSIONS),
    _a_line,
    _a_line,
    _a_line,
    _no_line,
    _framing,
    _framing,
    _key_of,
)
