"""Ogg files whose pages have no times, which FFmpeg does not read (RFC 3533, section 6)."""

import os
import zlib
from bisect import bisect_left
from typing import BinaryIO

_MAGIC, _OPUS, _NO_TIME = b"OggS", b"OpusHead", b"\xff" * 8
_HEADER = 27
# Places in the header of a page: its time and its checksum, and how many sizes follow.
_TIME, _SUM, _SIZES = slice(6, 14), slice(22, 26), 26
# Samples from a page to the next one, whose times need only grow.
_STEP = 48_000
# A page has about a second. A file with more pages is read as it is.
_MOST_PAGES = 20_000
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class Timed:
    """An Ogg file in which the headers of some pages, by their position, are other ones."""

    def __init__(self, file: BinaryIO, headers: dict[int, bytes]) -> None:
        self._file, self._headers, self._positions = file, headers, list(headers)
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        start = self._file.tell()
        data = bytearray(self._file.read(size))
        end = start + len(data)
        for position in self._positions[
            bisect_left(self._positions, start - _HEADER) : bisect_left(self._positions, end)
        ]:
            header = self._headers[position]
            first, last = max(position, start), min(position + _HEADER, end)
            if first < last:
                data[first - start : last - start] = header[first - position : last - position]
        return bytes(data)


def timed(file: BinaryIO) -> Timed | BinaryIO:
    """The file, with times if it is Opus and no page behind the headers has one."""
    headers: dict[int, bytes] = {}
    position, end = 0, file.seek(0, os.SEEK_END)
    pages = 0
    while position + _HEADER <= end:
        pages += 1
        if pages > _MOST_PAGES:
            headers.clear()
            break
        file.seek(position)
        header = file.read(_HEADER)
        if header[:4] != _MAGIC:
            break
        sizes = file.read(header[_SIZES])
        body = file.read(sum(sizes))
        has_time = header[_TIME] not in (_NO_TIME, bytes(8))
        if has_time or not position and not body.startswith(_OPUS):
            headers.clear()
            break
        if header[_TIME] == _NO_TIME:
            headers[position] = _with_time(header, sizes + body, _STEP * (len(headers) + 1))
        position += _HEADER + len(sizes) + len(body)
    file.seek(0)
    return Timed(file, headers) if headers else file


def _with_time(header: bytes, rest: bytes, samples: int) -> bytes:
    changed = bytearray(header)
    changed[_TIME], changed[_SUM] = samples.to_bytes(8, "little"), bytes(4)
    changed[_SUM] = _checksum(bytes(changed) + rest).to_bytes(4, "little")
    return bytes(changed)


def _checksum(data: bytes) -> int:
    """Ogg's CRC: zlib's with the bits of each byte, and of the sum, in the other order, without its inversions."""
    reflected = zlib.crc32(data.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)
