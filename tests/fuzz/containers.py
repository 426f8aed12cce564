"""Audio files that are almost right: small ones of every accepted kind, changed at random. The seed decides all."""

import io
import random
import re
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import av
import numpy as np

from tests.speech import SAMPLE_RATE, amr, encode, encode_tracks, say

# The kinds that FFmpeg encodes here, and what else the contract or the extension more_audio lists.
_ENCODED = ("wav", "wav-float", "mp3", "m4a", "mp4", "ogg-vorbis", "ogg-opus", "webm", "flac", "3gp", "aac", "mov")
_NUMBERS = (
    0,
    1,
    2,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    2**63,
    2**64 - 1,
)
# Names of chunks and boxes, which have a size before or behind them, and ids of EBML.
_NAMES = re.compile(rb"[A-Za-z][A-Za-z0-9]{2}[A-Za-z0-9 ]|\x1a\x45\xdf\xa3|\x42\x82|\x18\x53\x80\x67|\x16\x54\xae\x6b")
# Damage to the first bytes gets further than damage to the sound.
_HEAD_BYTES, _HEAD_SHARE = 600, 0.6
_LARGEST = 400_000
_OGG_HEADER = 27


def _fragmented(kind: str) -> bytes:
    """MP4 as it is streamed: a head without a length, and fragments."""
    buffer = io.BytesIO()
    options = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    with av.open(buffer, "w", format=kind, options=options) as container:
        stream: Any = container.add_stream("aac", rate=SAMPLE_RATE)
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        frame.pts = 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()


@cache
def seeds() -> Mapping[str, bytes]:
    """A file of half a second of each kind, 0.5 to 50 kB."""
    speech = say("One two.")
    files = {kind: encode(speech, kind) for kind in _ENCODED}
    files |= {f"{kind}-video": encode_tracks([speech], kind, video=True) for kind in ("mp4", "webm")}
    files["mp4-tracks"] = encode_tracks([speech[:4000]] * 2, "mp4")
    return files | {"mp4-fragments": _fragmented("mp4"), "amr": amr(0.5)}


def _place(rng: random.Random, data: bytearray) -> int:
    most = len(data) if rng.random() > _HEAD_SHARE else min(len(data), _HEAD_BYTES)
    return rng.randrange(max(1, most))


def _flip(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 100))):
        if data:
            data[_place(rng, data)] ^= 1 << rng.randrange(8)


def _number(rng: random.Random, data: bytearray) -> None:
    size = rng.choice((1, 2, 3, 4, 8))
    start = _place(rng, data)
    value = rng.choice(_NUMBERS) if rng.random() < 0.7 else rng.getrandbits(64)
    data[start : start + size] = (value % 256**size).to_bytes(size, rng.choice(("little", "big")))


def _field(rng: random.Random, data: bytearray) -> None:
    """Change the size of a chunk or a box, or what it begins with, or its name."""
    names = [found.start() for found in _NAMES.finditer(data[:20_000])]
    if not names:
        return
    start = rng.choice(names) + rng.choice((-4, 0, 4, 8, 12, 16, 20, 24))
    value = (
        rng.choice(_NUMBERS)
        if rng.random() < 0.6
        else rng.choice((len(data), rng.getrandbits(16), rng.getrandbits(32)))
    )
    data[max(0, start) : max(0, start) + 4] = (value % 2**32).to_bytes(4, rng.choice(("little", "big")))


def _cut(rng: random.Random, data: bytearray) -> None:
    del data[_place(rng, data) + 1 :]


def _drop(rng: random.Random, data: bytearray) -> None:
    start = _place(rng, data)
    del data[start : start + rng.choice((1, 2, 4, 16, 100, 2000))]


def _repeat(rng: random.Random, data: bytearray) -> None:
    start = _place(rng, data)
    part = data[start : start + rng.choice((1, 4, 8, 64, 1000))]
    data[start:start] = part * rng.choice((1, 2, 10, 300))


def _swap(rng: random.Random, data: bytearray) -> None:
    first, second, size = _place(rng, data), _place(rng, data), rng.choice((4, 16, 200))
    data[first : first + size], data[second : second + size] = data[second : second + size], data[first : first + size]


def _noise(rng: random.Random, data: bytearray) -> None:
    start, size = _place(rng, data), rng.choice((4, 40, 1000))
    filled = rng.choice((rng.randbytes(size), bytes(size), b"\xff" * size))
    data[start : start + size] = filled


def _splice(rng: random.Random, data: bytearray) -> None:
    """Go on with another file, of any kind, or put one before, behind or into this."""
    other = rng.choice(list(seeds().values()))
    start = _place(rng, data)
    if rng.random() < 0.5:
        data[start:] = other[min(start, len(other)) :]
    else:
        place = rng.choice((0, start, len(data)))
        data[place:place] = other[: rng.choice((len(other), 100, 5000))]


def _tag(rng: random.Random, data: bytearray) -> None:
    """An ID3 tag in front, which may lie about its size."""
    size = rng.choice((0, 10, 200, 5000))
    told = size if rng.random() < 0.5 else rng.getrandbits(28)
    packed = bytes(told >> shift & 0x7F for shift in (21, 14, 7, 0))
    data[:0] = b"ID3" + bytes([rng.choice((2, 3, 4)), 0, rng.choice((0, 0, 0x10, 0x80))]) + packed + bytes(size)


_CHANGES: tuple[Callable[[random.Random, bytearray], None], ...] = (
    _flip,
    _flip,
    _number,
    _number,
    _field,
    _field,
    _field,
    _field,
    _cut,
    _drop,
    _repeat,
    _swap,
    _noise,
    _splice,
    _tag,
)


def _summed(data: bytearray) -> None:
    """Give the pages of an Ogg file their checksums again, without which FFmpeg reads no page."""
    position = 0
    while position + _OGG_HEADER <= len(data) and data[position : position + 4] == b"OggS":
        count = data[position + 26]
        body = sum(data[position + _OGG_HEADER : position + _OGG_HEADER + count])
        end = min(len(data), position + _OGG_HEADER + count + body)
        data[position + 22 : position + 26] = bytes(4)
        data[position + 22 : position + 26] = _checksum(bytes(data[position:end])).to_bytes(4, "little")
        position = end


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _checksum(data: bytes) -> int:
    reflected = zlib.crc32(data.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)


def damaged(rng: random.Random) -> bytes:
    """A file with one to six changes."""
    data = bytearray(rng.choice(list(seeds().values())))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        rng.choice(_CHANGES)(rng, data)
    if data.startswith(b"OggS") and rng.random() < 0.8:
        _summed(data)
    return bytes(data[:_LARGEST])
