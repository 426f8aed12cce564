"""Audio files of any accepted kind to 16 kHz mono samples. Runs in a worker process: the input is not trusted.

FFmpeg is held to a list of formats and codecs and to no protocol at all, since left to itself it opens local files
and sockets that a file names. Lengths count decoded samples, because headers lie.
"""

from collections.abc import Iterator
from itertools import chain
from mmap import mmap
from typing import Any, BinaryIO

import av
import av.error
import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000
_PCM = ("pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le", "pcm_f32be")
_MP3 = ("mp3float", "mp3")
_AMR = ("amrnb", "amrwb", "libopencore_amrnb", "libopencore_amrwb")
_XIPH = ("vorbis", "opus", "libopus")
# What the contract lists, by FFmpeg's names: containers, and what may be inside of each.
_CODECS = {
    "wav": {*_PCM, "pcm_u8", "pcm_f64le", "pcm_f64be", "pcm_alaw", "pcm_mulaw", "adpcm_ima_wav", "adpcm_ms", *_MP3},
    "mp3": {*_MP3},
    "mov,mp4,m4a,3gp,3g2,mj2": {"aac", "alac", *_MP3, "opus", "libopus", "flac", *_PCM, *_AMR},
    "ogg": {*_XIPH, "flac", "speex"},
    "matroska,webm": {*_XIPH, *_PCM},
    "flac": {"flac"},
    "amr": {*_AMR},
}
_OPTIONS = {
    "format_whitelist": ",".join(_CODECS),
    "codec_whitelist": ",".join(sorted(set().union(*_CODECS.values()))),
    "protocol_whitelist": "none",
    "max_streams": "16",
    "probesize": "5000000",
    "analyzeduration": "5000000",
}
_RATES = range(4_000, 192_001)
_MOST_CHANNELS = 8
_BAD_PACKET_SHARE = 0.01
_BAD_PACKETS_FREE = 2


class UnknownFormatError(Exception):
    """No accepted container, or no audio in it."""


class UnknownCodecError(Exception):
    """An accepted container around something else."""


class DamagedAudioError(Exception):
    """An accepted kind of file that does not decode."""


class TooLongError(Exception):
    """More decoded audio than allowed."""


def _audio_stream(container: Any) -> Any:
    if not container.streams.audio:
        raise UnknownFormatError
    stream = container.streams.audio[0]
    context = stream.codec_context
    # PyAV leaves the context out when a file breaks off before the codec's parameters.
    if context is None:
        raise DamagedAudioError
    if context.name not in _CODECS[container.format.name]:
        raise UnknownCodecError
    if context.sample_rate not in _RATES or not 1 <= context.channels <= _MOST_CHANNELS:
        raise DamagedAudioError
    return stream


def _frames(container: Any, stream: Any) -> Iterator[Any]:
    """Decoded frames; a few broken packets are passed over, as players do."""
    bad = 0
    for packets, packet in enumerate(container.demux(stream), start=1):
        try:
            yield from packet.decode()
        except av.error.EOFError:
            return
        except av.error.FFmpegError:
            bad += 1
            if bad > _BAD_PACKETS_FREE + _BAD_PACKET_SHARE * packets:
                raise DamagedAudioError from None


def _resampled(container: Any, stream: Any) -> Iterator[NDArray[np.int16]]:
    resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE)
    # At the end it gives what it has kept back.
    for frame in chain(_frames(container, stream), [None]):
        for part in resampler.resample(frame):
            yield part.to_ndarray().reshape(-1)


def _collect(container: Any, into: NDArray[np.int16]) -> int:
    total = 0
    for part in _resampled(container, _audio_stream(container)):
        if total + len(part) > len(into):
            raise TooLongError
        into[total : total + len(part)] = part
        total += len(part)
    if not total:
        raise DamagedAudioError
    return total


def decode(file: BinaryIO | mmap, into: NDArray[np.int16]) -> int:
    """Write the first audio stream of a file to ``into``, at 16 kHz and mono; answers how many samples it has.

    Raises ``UnknownFormatError``, ``UnknownCodecError``, ``DamagedAudioError``, or ``TooLongError`` where they do not
    fit, never FFmpeg's own.
    """
    try:
        with av.open(file, options=_OPTIONS, metadata_errors="ignore") as container:
            return _collect(container, into)
    except (av.error.InvalidDataError, av.error.ArgumentError, av.error.DemuxerNotFoundError):
        raise UnknownFormatError from None
    except (av.error.FFmpegError, ValueError, OSError):
        raise DamagedAudioError from None
