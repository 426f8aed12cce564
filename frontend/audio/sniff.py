"""The kind of a file, from its first bytes: its content type, and whether the contract lists it.

FFmpeg reads more kinds than the contract lists: QuickTime, Matroska that is no WebM, WAV around any codec. Kinds that
the first bytes distinguish are refused here; the decoder judges the rest. puremagic names other kinds for the error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import puremagic

HEAD_BYTES = 4096
ACCEPTED, MORE = "WAV, MP3, M4A, MP4, Ogg, WebM, FLAC, 3GPP", "QuickTime, AAC"
_MORE = ("video/quicktime", "audio/aac")
_UNKNOWN = "application/octet-stream"
_SIGNATURES = {b"OggS": "application/ogg", b"fLaC": "audio/flac", b"#!AMR": "audio/amr"}
_WAVES = (b"RIFF", b"RIFX", b"RF64", b"BW64")
# Codec numbers of RFC 2361: PCM, Microsoft's ADPCM, float, A-law, mu-law, IMA's ADPCM and MP3.
_WAVE_CODECS = frozenset([0x01, 0x02, 0x03, 0x06, 0x07, 0x11, 0x55])
_EXTENSIBLE = 0xFFFE
_EBML = b"\x1a\x45\xdf\xa3"
_DOC_TYPE = b"\x42\x82"
# Relatives of MP4 that are not accepted, by the beginning of their brand.
_FOREIGN_BRANDS = {
    b"qt  ": "video/quicktime",
    b"3g2": "video/3gpp2",
    b"mj": "video/mj2",
    b"hei": "image/heic",
    b"mif1": "image/heif",
    b"avi": "image/avif",
}
_PADDING = (b"free", b"skip", b"wide")
# First boxes of files without a brand, which are old QuickTime files.
_UNBRANDED = (b"moov", b"mdat", b"pnot")
_SURE = 0.2  # puremagic's confidence
# puremagic's matches for runs of equal bytes and for raw samples.
_NOISE = {".xxx", ".sub", ".sndr", ""}


@dataclass(frozen=True)
class Kind:
    """A content type. ``accepted`` is None if the decoder must decide."""

    content_type: str
    accepted: bool | None = None


_MP3 = Kind("audio/mpeg")
_WAV = Kind("audio/wav", True)


def recognise(read: Callable[[int, int], bytes], *, more: bool = False) -> Kind:
    """The kind of a file; ``read(count, start)`` returns its bytes. With ``more``, those of ``MORE`` are accepted."""
    kind = _recognise(read)
    return Kind(kind.content_type, True) if more and kind.content_type in _MORE else kind


def _recognise(read: Callable[[int, int], bytes]) -> Kind:
    head = read(HEAD_BYTES, 0)
    if tag := tag_bytes(head):
        # A tag belongs to MPEG audio, but other kinds may have one too.
        tagged = _of_audio(read(HEAD_BYTES, tag))
        return tagged if tagged and tagged != _MP3 else Kind(_MP3.content_type, True)
    return _of_audio(head) or Kind(_foreign(head))


def tag_bytes(head: bytes) -> int:
    """Length of the ID3 tag at the start, in bytes; 0 without one."""
    if len(head) < 10 or not head.startswith(b"ID3"):
        return 0
    has_footer = head[5] & 0x10
    return 10 + _synchsafe(head[6:10]) + (10 if has_footer else 0)


def is_wave(head: bytes) -> bool:
    """Whether a file with this start is WAV."""
    return head[:4] in _WAVES and head[8:12] == b"WAVE"


def is_ogg(head: bytes) -> bool:
    """Whether a file with this start is Ogg."""
    return head.startswith(b"OggS")


def _of_audio(head: bytes) -> Kind | None:
    for signature, content_type in _SIGNATURES.items():
        if head.startswith(signature):
            return Kind(content_type, True)
    if is_wave(head):
        return _of_wave(head)
    if head.startswith(_EBML):
        return _of_matroska(head)
    return _of_boxes(head) or _of_frames(head)


def _of_wave(head: bytes) -> Kind:
    order: Literal["big", "little"] = "big" if head.startswith(b"RIFX") else "little"
    offset = 12
    while offset + 8 <= len(head):
        chunk, size = head[offset : offset + 4], int.from_bytes(head[offset + 4 : offset + 8], order)
        if chunk == b"fmt ":
            codec = int.from_bytes(head[offset + 8 : offset + 10], order)
            if codec == _EXTENSIBLE:
                codec = int.from_bytes(head[offset + 32 : offset + 34], order)
            foreign = codec and codec not in _WAVE_CODECS
            return Kind(f"audio/vnd.wave; codec={codec:X}", False) if foreign else _WAV
        offset += 8 + size + size % 2
    return _WAV


def _of_matroska(head: bytes) -> Kind:
    offset = head.find(_DOC_TYPE) + len(_DOC_TYPE)
    # The length has one to eight bytes: one more than the first byte has leading zeros.
    offset += 9 - head[offset : offset + 1].ljust(1, b"\1")[0].bit_length()
    is_webm = head[offset : offset + 4] == b"webm"
    return Kind("video/webm", True) if is_webm else Kind("video/x-matroska", False)


def _of_boxes(head: bytes) -> Kind | None:
    offset = 0
    while head[offset + 4 : offset + 8] in _PADDING and (size := int.from_bytes(head[offset : offset + 4], "big")) >= 8:
        offset += size
    box, brand = head[offset + 4 : offset + 8], head[offset + 8 : offset + 12]
    if box == b"ftyp":
        for beginning, content_type in _FOREIGN_BRANDS.items():
            if brand.startswith(beginning):
                return Kind(content_type, False)
        return Kind("video/3gpp" if brand.startswith(b"3gp") else "video/mp4", True)
    return Kind("video/quicktime", False) if box in _UNBRANDED else None


def _of_frames(head: bytes) -> Kind | None:
    """The kind by the start of an MPEG audio frame. Other bytes may look like one too."""
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0 or head[2] >= 0xF0:
        return None
    return {0: Kind("audio/aac"), 1: _MP3, 2: Kind("audio/mp2")}.get(head[1] >> 1 & 3)


def _synchsafe(number: bytes) -> int:
    """An ID3 number with seven bits per byte."""
    return sum((byte & 0x7F) << shift for byte, shift in zip(number, (21, 14, 7, 0), strict=True))


def _foreign(head: bytes) -> str:
    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return _UNKNOWN
    sure = (match.mime_type for match in matches if match.extension not in _NOISE and match.confidence > _SURE)
    return next((str(mime_type) for mime_type in sure if mime_type), _UNKNOWN)
