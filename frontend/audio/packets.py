"""Packets of an audio stream to frames. What is damaged is left out, and silence takes its time."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import av
import av.error

# Containers with a time for each packet, so that what is missing can be told. Parts of MP4 are anywhere in the file.
_TIMED = ("flac", "ogg", "matroska,webm")
# Containers that count packets instead, and the most bytes of one, beyond which it holds damage.
_COUNTING = {"mp3": 1_500, "aac": 8_191}
# Tags that stand between MP3 files which were joined.
_TAGS = (b"ID3", b"APETAGEX", b"TAG")
# Packets after which the time of a page in Ogg jumps; and the least share of the bytes that a hole would take.
_LATE, _LEAST_LOST = 4, 0.3
# Seconds. A longer hole is a wrong time.
_SHORTEST_HOLE, _LONGEST_HOLE = 0.05, 60.0
# Seconds of the longest frame of silence.
_LONGEST_SILENCE = 1.0
# FFmpeg keeps the planes of more channels elsewhere, and PyAV does not find them. Such files are refused.
_MOST_PLANES = 8


class DamagedAudioError(Exception):
    """The file is of an accepted kind but cannot be decoded."""


def frames(container: Any, stream: Any) -> Iterator[Any]:
    """Decoded frames, with frames of silence where damage is as long.

    Raises ``DamagedAudioError`` if more packets are broken than whole, or if a file that has sound gives none.
    """
    good = bad = 0
    hole = 0.0
    holes = _Holes(container.format.name)
    for packet in _packets(container, stream):
        hole += holes.before(packet)
        try:
            decoded = packet.decode()
        except av.error.EOFError:
            break
        except av.error.FFmpegError:
            bad += 1
            hole += float((packet.duration or 0) * packet.time_base)
            continue
        for frame in decoded:
            yield from _silence(frame, hole)
            hole = 0.0
            good += 1
            yield frame
    if bad > good or not good and (holes.packets or _claims_sound(container, stream)):
        raise DamagedAudioError


def _packets(container: Any, stream: Any) -> Iterator[Any]:
    try:
        yield from container.demux(stream)
    except av.error.FFmpegError:
        # FFmpeg stops at the end of an Ogg stream if the next one has another shape.
        if container.format.name != "ogg":
            raise


def _claims_sound(container: Any, stream: Any) -> bool:
    return bool(stream.duration or container.duration)


class _Holes:
    """Finds holes between the packets of a container."""

    def __init__(self, container: str) -> None:
        self._timed, self._longest = container in _TIMED, _COUNTING.get(container)
        # Bytes and duration of the packets so far, and the end of the last one, in the container's units of time.
        self._bytes = self._duration = 0
        self._end: int | None = None
        # Where the last packet began, and how many bytes lie between one and the next.
        self._position: int | None = None
        self._steps: deque[int] = deque(maxlen=_LATE)
        self.packets = 0

    def before(self, packet: Any) -> float:
        """Seconds that are missing before a packet."""
        if not packet.size:
            return 0.0
        self.packets += 1
        missing = 0.0
        self._note_position(packet)
        if self._longest is not None and packet.size > self._longest and self._bytes:
            # Files that were joined have tags inside, which are no damage.
            data = bytes(packet)
            missing = 0.0 if any(tag in data for tag in _TAGS) else packet.size / self._bytes * self._duration
        elif self._timed and packet.pts is not None and self._end is not None:
            missing = packet.pts - self._end if self._lacks(packet.pts - self._end) else 0
        duration = packet.duration or 0
        if missing <= 0:
            self._bytes, self._duration = self._bytes + packet.size, self._duration + duration
        if packet.pts is not None:
            self._end = packet.pts + duration
        seconds = float(missing * packet.time_base)
        return seconds if _SHORTEST_HOLE <= seconds <= _LONGEST_HOLE else 0.0

    def _note_position(self, packet: Any) -> None:
        if packet.pos is not None:
            self._steps.append(packet.pos - self._position if self._position is not None else 0)
            self._position = packet.pos

    def _lacks(self, duration: float) -> bool:
        """Whether as many bytes are missing as that takes. Otherwise the time jumps, as where files were joined."""
        if duration <= 0 or not self._duration or not self._steps:
            return duration > 0 and not self._steps
        return max(self._steps) >= _LEAST_LOST * self._bytes / self._duration * duration


def _silence(frame: Any, seconds: float) -> Iterator[Any]:
    """Silent frames of the shape of another one."""
    left = int(seconds * frame.sample_rate) if frame.layout.nb_channels <= _MOST_PLANES else 0
    while left > 0:
        count = min(left, int(_LONGEST_SILENCE * frame.sample_rate))
        silent: Any = av.AudioFrame(format=frame.format.name, layout=frame.layout.name, samples=count)
        silent.sample_rate, silent.time_base = frame.sample_rate, frame.time_base
        for plane in silent.planes:
            plane.update(bytes(plane.buffer_size))
        left -= count
        yield silent
