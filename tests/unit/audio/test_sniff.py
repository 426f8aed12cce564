import struct

import numpy as np
import pytest

from frontend.audio.sniff import Kind, recognise
from tests.speech import CONTAINERS, amr, encode, wave_of

QUIET = np.zeros(16_000, np.float32)
TYPES = {
    "wav": "audio/wav",
    "wav-float": "audio/wav",
    "mp3": "audio/mpeg",
    "m4a": "video/mp4",
    "mp4": "video/mp4",
    "ogg-vorbis": "application/ogg",
    "ogg-opus": "application/ogg",
    "webm": "video/webm",
    "flac": "audio/flac",
    "3gp": "video/3gpp",
}
MP4 = b"\0\0\0\x1cftypisom\0\0\2\0" + bytes(12) + b"\0\0\0\x08moov"
EBML = b"\x1a\x45\xdf\xa3\x93\x42\x86\x81\x01\x42\x82"


def _of(data: bytes) -> Kind:
    return recognise(lambda count, start: data[start : start + count])


def _tagged(data: bytes, padding: int = 10_000) -> bytes:
    """The data after an ID3 tag, which may be longer than the first read."""
    size = bytes(padding >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\4\0\0" + size + bytes(padding) + data


@pytest.mark.parametrize("kind", CONTAINERS)
def test_accepted_kinds_are_recognised(kind: str) -> None:
    assert _of(encode(QUIET, kind)) == Kind(TYPES[kind], True)


@pytest.mark.parametrize(
    ("kind", "content_type", "accepted"),
    [
        # Of one family.
        ("mkv", "video/x-matroska", False),
        ("mov", "video/quicktime", False),
        ("3g2", "video/3gpp2", False),
        # What the decoder refuses.
        ("aac", "audio/aac", None),
        ("mp2", "audio/mp2", None),
        ("aiff", "audio/x-aiff", None),
    ],
)
def test_kinds_that_are_not_accepted_are_named(kind: str, content_type: str, accepted: bool | None) -> None:
    assert _of(encode(QUIET, kind)) == Kind(content_type, accepted)


def test_an_mp3_without_a_tag_is_named_and_left_to_the_decoder() -> None:
    data = encode(QUIET, "mp3")
    assert _of(data[data.index(b"\xff\xfb") :]) == Kind("audio/mpeg")


@pytest.mark.parametrize("codec", [0x01, 0x02, 0x03, 0x06, 0x07, 0x11, 0x55])
def test_a_wav_of_a_codec_that_is_read_is_accepted(codec: int) -> None:
    assert _of(wave_of(codec)) == Kind("audio/wav", True)


@pytest.mark.parametrize("codec", [0x31, 0x28F, 0x9999])
def test_a_wav_is_judged_by_its_codec(codec: int) -> None:
    assert _of(wave_of(codec)) == Kind(f"audio/vnd.wave; codec={codec:X}", False)


@pytest.mark.parametrize(("codec", "accepted"), [(0x01, True), (0x31, False)])
def test_the_codec_of_an_extensible_wav_stands_further_on(codec: int, accepted: bool) -> None:
    head = struct.pack("<4sIHHIIHHHHIH", b"fmt ", 40, 0xFFFE, 1, 8000, 16_000, 2, 16, 22, 16, 4, codec) + bytes(14)
    assert _of(b"RIFF\xff\0\0\0WAVE" + head).accepted is accepted


def test_chunks_before_the_codec_are_passed_over() -> None:
    data = wave_of(0x31)
    assert _of(data[:12] + b"JUNK\x03\0\0\0abc\0" + data[12:]).accepted is False


@pytest.mark.parametrize("name", [b"RF64", b"BW64"])
def test_a_wav_of_64_bits_is_a_wav(name: bytes) -> None:
    assert _of(name + encode(QUIET, "wav")[4:]) == Kind("audio/wav", True)


@pytest.mark.parametrize(("word", "accepted"), [(b"webm", True), (b"matroska", False), (b"", False)])
def test_webm_is_matroska_that_says_so(word: bytes, accepted: bool) -> None:
    assert _of(EBML + bytes([0x80 + len(word)]) + word).accepted is accepted


@pytest.mark.parametrize("bytes_of_length", range(1, 9))
def test_the_length_of_the_word_may_be_long(bytes_of_length: int) -> None:
    length = (4 | 1 << 7 * bytes_of_length).to_bytes(bytes_of_length, "big")
    assert _of(EBML + length + b"webm").accepted


@pytest.mark.parametrize("padding", [b"free", b"skip", b"wide"])
def test_a_brand_may_stand_behind_padding(padding: bytes) -> None:
    assert _of(b"\0\0\0\x0a" + padding + b"\0\0" + MP4) == Kind("video/mp4", True)


@pytest.mark.parametrize("boxes", [b"moov", b"mdat", b"wide\0\0\0\x08mdat"])
def test_without_a_brand_it_is_quicktime(boxes: bytes) -> None:
    assert _of(b"\0\0\0\x08" + boxes + bytes(100)) == Kind("video/quicktime", False)


@pytest.mark.parametrize(
    ("kind", "content_type"), [("flac", "audio/flac"), ("aac", "audio/aac"), ("mp3", "audio/mpeg")]
)
def test_a_tag_is_passed_over(kind: str, content_type: str) -> None:
    assert _of(_tagged(encode(QUIET, kind))).content_type == content_type


def test_a_tag_that_nothing_follows_is_an_mp3s() -> None:
    assert _of(_tagged(b"")) == Kind("audio/mpeg", True)


@pytest.mark.parametrize("kind", [b"AVI LIST", b"WEBPVP8 "])
def test_another_riff_file_is_no_wav(kind: bytes) -> None:
    assert not _of(b"RIFF\x40\0\0\0" + kind + bytes(100)).accepted


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", Kind("application/octet-stream")),
        (b"plain words", Kind("application/octet-stream")),
        # Half of an MPEG frame's start.
        (b"\xff\x1b\x90", Kind("application/octet-stream")),
        (b"\0\xfb\x90", Kind("application/octet-stream")),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 100, Kind("image/png")),
        (amr(1.0), Kind("audio/amr", True)),
    ],
)
def test_other_data_is_named_by_its_signature_if_it_has_one(data: bytes, kind: Kind) -> None:
    assert _of(data) == kind


@pytest.mark.parametrize("data", [b"\xff" * 4096, b"ID3", b"RIFF", b"\xff\xfb", b"\0\0\0\x09free"])
def test_a_partial_signature_is_left_to_the_decoder(data: bytes) -> None:
    assert _of(data).accepted is None
