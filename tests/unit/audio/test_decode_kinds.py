"""Files as other encoders write them, and files that would have the decoder do more than decode."""

import io
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from frontend.audio.decode import BeyondLimitsError, TooShortError, UnknownFormatError
from frontend.audio.packets import DamagedAudioError
from tests.speech import SAMPLE_RATE, decoded, encode, encode_as

TONE = (np.sin(2 * np.pi * 300 * np.arange(2 * SAMPLE_RATE) / SAMPLE_RATE) * 0.3).astype(np.float32)
_BARE = {"id3v2_version": "0", "write_xing": "0"}
_PIECES = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
_KEY = {"encryption_scheme": "cenc-aes-ctr", "encryption_key": "a7" * 16, "encryption_kid": "76" * 16}


def _made(container: str, codec: str, rate: int, **options: str) -> Callable[[], bytes]:
    return lambda: encode_as(TONE, container, codec, rate, **options)


def _wave(subtype: str, container: str = "WAV", endian: str | None = None) -> Callable[[], bytes]:
    def made() -> bytes:
        buffer = io.BytesIO()
        soundfile.write(buffer, TONE, SAMPLE_RATE, format=container, subtype=subtype, endian=endian)
        return buffer.getvalue()

    return made


def _tag(size: int) -> bytes:
    return b"ID3\4\0\0" + bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0)) + bytes(size)


def _with_junk() -> bytes:
    wave = _wave("PCM_16")()
    return wave[:12] + b"JUNK" + struct.pack("<I", 28) + bytes(28) + wave[12:]


KINDS: dict[str, Callable[[], bytes]] = {
    **{
        f"MP3 of {rate} Hz without a tag": _made("mp3", "libmp3lame", rate, **_BARE) for rate in (8_000, 16_000, 48_000)
    },
    "MP3 after zeros": lambda: bytes(500) + _made("mp3", "libmp3lame", 44_100, **_BARE)(),
    "MP3 after a foreign byte": lambda: b"\x17" + _made("mp3", "libmp3lame", 44_100, **_BARE)(),
    "MP3 after a picture of 5 MB": lambda: _tag(5_000_000) + _made("mp3", "libmp3lame", 44_100, **_BARE)(),
    **{f"WAV of {kind}": _wave(kind) for kind in ("PCM_U8", "PCM_24", "PCM_32", "DOUBLE", "ALAW", "ULAW")},
    **{f"WAV of {kind}": _wave(kind) for kind in ("IMA_ADPCM", "MS_ADPCM")},
    "WAV of 64 bits": _wave("PCM_16", "RF64"),
    "extensible WAV": _wave("PCM_16", "WAVEX"),
    "big-endian WAV": _wave("PCM_16", endian="BIG"),
    "WAV with a chunk before its format": _with_junk,
    "a browser's WebM, without a length": _made("webm", "libopus", 48_000, live="1"),
    "MP4 in pieces": _made("mp4", "aac", 48_000, **_PIECES),
    "Apple's lossless": _made("ipod", "alac", 44_100),
    "FLAC in Ogg": _made("ogg", "flac", 44_100),
    "MP3 in MP4": _made("mp4", "libmp3lame", 44_100),
    "Opus in MP4": _made("mp4", "libopus", 48_000),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_any_encoder_is_heard_whole(kind: str) -> None:
    samples = decoded(KINDS[kind]())
    assert abs(len(samples) - len(TONE)) < 0.2 * SAMPLE_RATE
    assert np.abs(samples[SAMPLE_RATE // 2 : SAMPLE_RATE]).max() > 3_000


def test_an_encrypted_file_is_refused() -> None:
    # Its samples are random, and so is the number of channels that they seem to have.
    with pytest.raises((DamagedAudioError, BeyondLimitsError)):
        decoded(_made("mp4", "aac", 48_000, **_KEY)())


def _png(side: int) -> bytes:
    """A black picture."""
    pixels = zlib.compress(bytes((side + 1) * side), 9)
    chunks = {b"IHDR": struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0), b"IDAT": pixels, b"IEND": b""}
    sums = {kind: struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks.items()}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + sums[kind] for kind, data in chunks.items()
    )


def _element(name: str, *parts: bytes | int) -> bytes:
    """An element of Matroska, whose name is given in hexadecimal digits."""
    data = b"".join(part.to_bytes(8, "big") if isinstance(part, int) else part for part in parts)
    return bytes.fromhex(name) + (1 << 56 | len(data)).to_bytes(8, "big") + data


def _webm_with_picture(side: int) -> bytes:
    """A track of pictures, which FFmpeg's own muxer does not write, before one of sound."""
    size = struct.pack("<IiiHH4sIiiII", 40, side, side, 1, 8, b"MPNG", side * side, 0, 0, 0, 0)
    shape = _element("e0", _element("b0", side), _element("ba", side))
    pictures = (_element("d7", 1), _element("83", 1), _element("86", b"V_MS/VFW/FOURCC"), _element("63a2", size), shape)
    rate = _element("e1", _element("b5", struct.pack(">d", SAMPLE_RATE)), _element("9f", 1), _element("6264", 16))
    sound = (_element("d7", 2), _element("83", 2), _element("86", b"A_PCM/INT/LIT"), rate)
    tracks = _element("1654ae6b", _element("ae", *pictures), _element("ae", *sound))
    blocks = [b"\x81\0\0\x80" + _png(side), b"\x82\0\0\x80" + (TONE * 32_767).astype("<i2").tobytes()]
    cluster = _element("1f43b675", _element("e7", 0), *(_element("a3", block) for block in blocks))
    return _element("1a45dfa3", _element("4282", b"webm")) + _element("18538067", tracks, cluster)


def test_a_huge_picture_beside_the_sound_is_not_decoded() -> None:
    """It would take 0.2 s of processor and 200 MB."""
    file = _webm_with_picture(8192)
    began = time.process_time()
    assert len(decoded(file)) == len(TONE)
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize(
    "list_of_files",
    [
        "ffconcat version 1.0\nfile '{}'\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{}\n#EXT-X-ENDLIST\n",
    ],
    ids=["ffconcat", "m3u8"],
)
def test_a_list_of_files_opens_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, list_of_files: str) -> None:
    """Though they are there and would be heard."""
    (tmp_path / "secret.wav").write_bytes(_wave("PCM_16")())
    monkeypatch.chdir(tmp_path)
    for name in ("secret.wav", str(tmp_path / "secret.wav")):
        with pytest.raises(UnknownFormatError):
            decoded(list_of_files.format(name).encode())


@pytest.mark.parametrize("kind", ["wav", "mp3", "m4a", "webm", "flac", "3gp"])
def test_a_file_that_says_that_it_is_too_short_is_not_decoded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontend.audio.decode.frames", pytest.fail)
    with pytest.raises(TooShortError):
        decoded(encode(TONE, kind), least_seconds=3.0)


def test_a_short_file_that_says_no_length_is_too_short_once_it_is_decoded() -> None:
    with pytest.raises(TooShortError):
        decoded(_made("webm", "libopus", 48_000, live="1")(), least_seconds=3.0)


@pytest.mark.parametrize("kind", ["wav", "mp3", "m4a", "webm", "flac", "3gp"])
def test_a_file_that_is_long_enough_is_decoded(kind: str) -> None:
    assert len(decoded(encode(TONE, kind), least_seconds=1.9)) >= 1.9 * SAMPLE_RATE
