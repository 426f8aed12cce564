"""Encodes samples as an audio file that is sent while it grows."""

import io
from collections.abc import Mapping
from typing import IO, Any, cast

from frontend.audio.encode import LIBAV, Coding, Samples, encoder

# libsndfile corrects the sizes of a WAV file at its end; FFmpeg begins with 0xFFFFFFFF, for a file that has no end yet.
_STREAMED_LIBAV: Mapping[str, Coding] = {**LIBAV, "wav": ("wav", "pcm_s16le", 0, 0)}


class AudioStream:
    """The same file in pieces, which a player plays as they come. Its header has no length."""

    def __init__(self, audio_format: str, sample_rate: int, kbps: int) -> None:
        self._buffer = _AppendOnly()
        file = cast(IO[bytes], self._buffer)
        self._encoder = encoder(file, _STREAMED_LIBAV, audio_format, sample_rate, kbps)

    def add(self, samples: Samples) -> bytes:
        """Append samples, and return the new bytes of the file."""
        self._encoder.add(samples)
        return self._buffer.take()

    def finish(self) -> bytes:
        """The last bytes; nothing can be added afterwards."""
        self._encoder.close()
        return self._buffer.take()


class _AppendOnly:
    """A file whose bytes are taken while it grows. What is written before its end is ignored."""

    def __init__(self) -> None:
        self._new = bytearray()
        self._length = self._at = 0

    def take(self) -> bytes:
        """The bytes since the last time."""
        new = bytes(self._new)
        self._new.clear()
        return new

    def write(self, data: Any) -> int:
        if self._at == self._length:
            self._new += data
            self._length += len(data)
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = (0, self._at, self._length)[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at
