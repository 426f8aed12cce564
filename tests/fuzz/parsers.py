"""What any bytes do to the parsers that need no server: each target reads some, and raises where that is a fault.

A refusal is one of the contract's errors. What is read must not depend on the pieces in which it arrives.
"""

import asyncio
import io
import random
import re
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, cast

import jwt
import orjson
from aiohttp import StreamReader
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import WebSocketReader
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from frontend.access import api_key
from frontend.access.caller import bearer_token
from frontend.access.jwt import Tokens
from frontend.audio import ogg, sniff
from frontend.billing.bill import CONTENT
from frontend.catalogue.extensions import EXTENSIONS
from frontend.catalogue.models import Served
from frontend.config.networks import Networks, network_of
from frontend.config.settings import Settings
from frontend.errors import ApiError, Unauthorized
from frontend.extensions.chat import bounds, metering, models
from frontend.extensions.chat import protocol as chat
from frontend.extensions.dialects import embeddings as other_embeddings
from frontend.extensions.dialects import rerank as other_rerank
from frontend.extensions.realtime.frames import FrameReader
from frontend.extensions.realtime.protocol import SessionConfig, id_of
from frontend.extensions.realtime.protocol import parse as parse_event
from frontend.extensions.realtime.protocol import read as read_event
from frontend.http.arrival import refuse_encoding, refuse_faulty
from frontend.http.form import Shape, read_form
from frontend.http.json import Converts, parse_json
from frontend.http.memory import MemoryBudget, MemoryReservation
from frontend.operations.embeddings import protocol as embeddings
from frontend.operations.rerank import protocol as rerank
from frontend.operations.speech import protocol as speech
from frontend.operations.transcription import protocol as transcription
from frontend.parameters.transcription import PARAMETERS as FIELDS
from frontend.text.sentences import split
from tests.conftest import JWT_SECRET

_SERVED = (Served.of(), Served.of(extensions=frozenset(EXTENSIONS)))
_LONGEST_MESSAGE = 4_000
_JSON: Mapping[str, Converts[object]] = {
    "embeddings": embeddings.parse_openai,
    "rerank": rerank.parse,
    "speech": speech.parse_openai,
    "synthesize": speech.parse_mobile,
    "embed": other_embeddings.parse_embed,
    "similarity": other_embeddings.parse_similarity,
    "rerank of Cohere": other_rerank.parse_cohere,
    "rerank of others": other_rerank.parse_plain,
}
_TOKENS = Tokens("quartet-mobile", "quartet", JWT_SECRET)
_LOOP = asyncio.new_event_loop()
Target = Callable[[bytes], None]


def _check(refusal: ApiError) -> None:
    """A refusal of what a caller sent can be sent, and blames the caller."""
    assert 400 <= refusal.status < 500, refusal.status
    assert len(orjson.dumps(refusal.body())) < _LONGEST_MESSAGE


def _pieces(data: bytes) -> list[bytes]:
    rng = random.Random(zlib.crc32(data))
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((1, 3, 20))))
    return [part for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if (part := data[start:end])]


def json_bodies(data: bytes) -> None:
    """The bodies of every endpoint that takes JSON."""
    try:
        values = parse_json(data)
    except ApiError as refusal:
        return _check(refusal)
    assert None not in values.values()
    for served in _SERVED:
        for converts in _JSON.values():
            try:
                converts(values, served)
            except ApiError as refusal:
                _check(refusal)
        for path in bounds.MAXIMA:
            for prepaid in (True, False):
                _chat(data, values, served, path, prepaid=prepaid)


def _chat(data: bytes, values: Mapping[str, Any], served: Served, path: str, *, prepaid: bool) -> None:
    try:
        options = chat.parse(values, served, path=path, prepaid=prepaid)
        assert 0 < options.most_tokens(len(data), 4096, 1000) <= 2**31
        body = data.removeprefix(b"\xef\xbb\xbf")
        if chat.adds_usage(path, options, prepaid=prepaid):
            body = chat.with_usage(body)
        chat.with_maximum(path, 7, body)
    except ApiError as refusal:
        _check(refusal)


class _Body:
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces, self.total_bytes = pieces, 0

    async def iter_any(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.total_bytes += len(piece)
            yield piece

    def at_eof(self) -> bool:
        return self.total_bytes == sum(map(len, self._pieces))


def _form(pieces: Sequence[bytes]) -> object:
    """What a form comes to: its fields, its file and its identity, or the status of its refusal."""
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    request = make_mocked_request("POST", "/", headers=headers, payload=cast(StreamReader, _Body(pieces)))
    with MemoryReservation(MemoryBudget(1 << 30), "a") as memory:
        try:
            form = _LOOP.run_until_complete(read_form(request, Settings(), memory, Shape.of(FIELDS, _SERVED[0])))
            content = form.file.read(form.file.size) if form.file else b""
            for parse in (transcription.parse_openai, transcription.parse_mobile):
                try:
                    parse(form, _SERVED[0])
                except ApiError as refusal:
                    _check(refusal)
        except ApiError as refusal:
            _check(refusal)
            return refusal.status
        return form.fields, content, request[CONTENT]


def forms(data: bytes) -> None:
    """A form with the boundary x."""
    assert _form([data]) == _form(_pieces(data))


def heads(data: bytes) -> None:
    """Headers, a line each, that middlewares read."""
    lines = [line.partition(b":") for line in data.split(b"\n")]
    headers = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, _, value in lines)
    request = make_mocked_request("POST", "/", headers=headers)
    for refuses in (refuse_faulty, refuse_encoding):
        try:
            refuses(request)
        except ApiError as refusal:
            _check(refusal)
    texts = [value.decode("utf-8", "surrogateescape") for _, _, value in lines]
    assert "\n" not in bearer_token(texts[:1])
    for text in texts:
        network_of(text)
        assert not api_key.well_formed(text) or len(text) < 100
    Networks("127.0.0.0/8, ::1").caller("127.0.0.1", texts)


def tokens(data: bytes) -> None:
    """A mobile token: these bytes, and a token with this JSON as its header, or as its claims with our signature."""
    candidates = [data.decode("utf-8", "surrogateescape")]
    header, claims = (jwt.utils.base64url_encode(part).decode() for part in (b'{"alg":"HS256","typ":"JWT"}', data))
    for first, second in ((header, claims), (claims, header)):
        signed = f"{first}.{second}".encode()
        signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(signed, JWT_SECRET.encode())
        candidates.append(f"{first}.{second}.{jwt.utils.base64url_encode(signature).decode()}")
    for token in candidates:
        try:
            caller = _LOOP.run_until_complete(_TOKENS.identify(token))
        except Unauthorized:
            pass
        else:
            assert re.fullmatch(r"sub-[0-9a-f]{32}", caller.id)


def kinds_of_files(data: bytes) -> None:
    """The first bytes of a file."""
    for more in (True, False):
        kind = sniff.recognise(lambda count, start: data[start : start + count], more=more)
        assert kind.content_type.isprintable()
        assert kind.content_type.isascii()


def ogg_pages(data: bytes) -> None:
    """An Ogg file: times change, lengths do not, and reading in pieces gives the same."""
    changed = ogg.timed(io.BytesIO(data))
    whole = changed.read()
    assert len(whole) == len(data)
    changed.seek(0)
    assert b"".join(changed.read(len(piece)) for piece in _pieces(data)) == whole


def streams(data: bytes) -> None:
    """The events that a chat server streams: they pass as they are, and count the same in any pieces."""
    whole, cut = (metering.StreamMeter(0, hides_usage=False) for _ in range(2))
    assert whole.feed(data) + whole.rest() == data
    assert b"".join([*map(cut.feed, _pieces(data)), cut.rest()]) == data
    assert whole.usage == cut.usage
    assert whole.tokens >= 0
    hiding = metering.StreamMeter(0, hides_usage=True)
    assert len(hiding.feed(data) + hiding.rest()) <= len(data)


def upstreams(data: bytes) -> None:
    """What a chat server answers instead of a chat: its first line is the ``Retry-After``."""
    retry_after, _, body = data.partition(b"\n")
    for status in (200, 302, 400, 401, 404, 408, 413, 422, 429, 500, 503):
        refusal = chat.refusal(status, body, retry_after.decode("latin-1"))
        assert refusal.status in (400, 404, 413, 429, 502)
        assert 1 <= int(refusal.headers.get("Retry-After", 1)) <= 60
        orjson.dumps(refusal.body())
    assert metering.usage_of(body).text_bytes >= 0
    try:
        models.parse(body)
    except ValueError:
        return


def live_events(data: bytes) -> None:
    """The events of a live session, a line each."""
    config = SessionConfig("stt-1")
    for line in data.splitlines():
        try:
            event = read_event(line)
            id_of(event)
            parsed = parse_event(event, config, _SERVED[1])
            config = getattr(parsed, "config", config)
        except ApiError as refusal:
            _check(refusal)


async def _frames(pieces: Sequence[bytes]) -> list[object]:
    """The messages of frames, and the error that ends them."""
    queue = WebSocketDataQueue(BaseProtocol(_LOOP), 2**20, loop=_LOOP)
    rests: list[float] = []
    reader = FrameReader(WebSocketReader(queue, 2**20, compress=False, decode_text=True), rests.append)
    for piece in pieces:
        reader.feed_data(piece)
        while rests and queue.exception() is None:
            rests.clear()
            reader.go_on()
    messages: list[object] = [*queue._buffer]
    error = queue.exception()
    return [*messages, error and (type(error), getattr(error, "code", None))]


def frames(data: bytes) -> None:
    """The frames of a WebSocket."""
    whole, cut = (_LOOP.run_until_complete(_frames(pieces)) for pieces in ([data], _pieces(data)))
    assert whole == cut


def spoken(data: bytes) -> None:
    """A text to speak."""
    text = data.decode("utf-8", "replace")[:5000]
    for language in ("en", "de", "fr", "it"):
        assert all(sentence.strip() for sentence in split(text, language))


TARGETS: Mapping[str, Target] = {
    each.__name__: each
    for each in (
        *(json_bodies, forms, heads, tokens, kinds_of_files, ogg_pages, streams, upstreams, live_events, frames),
        spoken,
    )
}
