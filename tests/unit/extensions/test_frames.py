"""Frames of a WebSocket, in any pieces: those without a mask are refused, and many small ones wait."""

import asyncio

import pytest
from aiohttp import WSMsgType
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import WebSocketError, WebSocketReader

from frontend.extensions.realtime import frames
from frontend.extensions.realtime.frames import FrameReader


def _frame(first: int, size: int, *, masked: bool = True) -> bytes:
    length = (
        bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2) if size < 65_536 else b"\x7f" + size.to_bytes(8)
    )
    mask = bytes(4) if masked else b""
    return bytes([first, length[0] | (128 if masked else 0)]) + length[1:] + mask + b"a" * size


def _reader() -> tuple[FrameReader, WebSocketDataQueue, list[float]]:
    """A reader, what it has read, and the seconds for which it wanted a rest."""
    loop = asyncio.get_running_loop()
    queue = WebSocketDataQueue(BaseProtocol(loop), 2**20, loop=loop)
    rests: list[float] = []
    return FrameReader(WebSocketReader(queue, 2**20, compress=False, decode_text=True), rests.append), queue, rests


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1000, 10**6])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536])
async def test_frames_are_read_in_any_pieces(size: int, piece: int) -> None:
    reader, queue, rests = _reader()
    data = _frame(0x81, size) * 3 + _frame(0x89, 3) + _frame(0x81, 5, masked=False)
    for place in range(0, len(data), piece):
        reader.feed_data(data[place : place + piece])
        while rests and not queue.exception():
            rests.clear()
            reader.go_on()
    found = queue.exception()
    assert isinstance(found, WebSocketError)
    assert found.code == 1002


async def test_nothing_is_read_behind_a_frame_without_a_mask() -> None:
    reader, queue, _ = _reader()
    reader.feed_data(_frame(0x81, 5, masked=False))
    reader.feed_data(_frame(0x81, 5))
    with pytest.raises(WebSocketError):
        await queue.read()


@pytest.mark.parametrize("first", [0x81, 0x89, 0x8A, 0x00], ids=["texts", "pings", "pongs", "parts"])
async def test_many_small_frames_at_once_are_too_early(first: int) -> None:
    reader, _, rests = _reader()
    if not first:
        reader.feed_data(_frame(0x01, 0))
    reader.feed_data(_frame(first, 0) * (frames._FRAMES_AT_ONCE - 10))
    assert rests == []
    reader.feed_data(_frame(first, 0) * 500)
    assert rests == [pytest.approx(490 / frames._FRAMES_A_SECOND, rel=0.1)]


async def test_large_frames_are_never_too_early() -> None:
    reader, queue, rests = _reader()
    for _ in range(5 * frames._FRAMES_AT_ONCE):
        reader.feed_data(_frame(0x82, 1024))
        assert (await queue.read()).type is WSMsgType.BINARY
    assert rests == []


async def test_many_frames_at_once_are_read_in_turns_and_those_behind_wait() -> None:
    reader, queue, rests = _reader()
    reader.feed_data(_frame(0x81, 0) * (4 * frames._PIECE_BYTES // 6))
    reader.feed_data(_frame(0x81, 1))
    turns, longest = 1, len(queue._buffer)
    while reader._unread:
        before = len(queue._buffer)
        reader.go_on()
        turns, longest = turns + 1, max(longest, len(queue._buffer) - before)
    assert (turns, len(queue._buffer)) == (5, 4 * frames._PIECE_BYTES // 6 + 1)
    assert len(rests) == turns
    assert longest <= frames._PIECE_BYTES // 6 + 1


@pytest.mark.parametrize("piece", [1, 1000, 10**6])
async def test_messages_are_counted_until_they_are_taken(piece: int) -> None:
    reader, _, rests = _reader()
    grown: list[int] = []
    reader.grown = lambda: grown.append(reader.held)
    data = _frame(0x01, 70_000) + _frame(0x89, 100) + _frame(0x80, 70_000) + _frame(0x82, 500) + _frame(0x01, 900)
    for place in range(0, len(data), piece):
        reader.feed_data(data[place : place + piece])
        while rests:
            rests.clear()
            reader.go_on()
    first, second, third = 2 * 70_004, 504, 904
    assert reader.held == first + second + third
    assert len(grown) == 2
    reader.taken()
    assert reader.held == second + third
    reader.taken()
    assert reader.held == third
