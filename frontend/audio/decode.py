"""Audio files of any accepted kind to 16 kHz mono samples. Runs in a worker process: the input is not trusted.

FFmpeg is restricted to a list of formats and codecs and to no protocols, because it would open local files and sockets
that a file names. Lengths count decoded samples, because headers lie.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain, groupby
from typing import Any, BinaryIO

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from frontend.audio.ogg import timed
from frontend.audio.packets import DamagedAudioError, frames
from frontend.audio.sniff import is_ogg, is_wave, tag_bytes

SAMPLE_RATE = 16_000
_PCM = ("pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le", "pcm_f32be")
_MP3 = ("mp3float", "mp3")
_AMR = ("amrnb", "amrwb", "libopencore_amrnb", "libopencore_amrwb")
_XIPH = ("vorbis", "opus", "libopus")
# The accepted containers and the codecs inside each, by FFmpeg's names.
_CODECS = {
    "wav": {*_PCM, "pcm_u8", "pcm_f64le", "pcm_f64be", "pcm_alaw", "pcm_mulaw", "adpcm_ima_wav", "adpcm_ms", *_MP3},
    "mp3": {*_MP3},
    "mov,mp4,m4a,3gp,3g2,mj2": {"aac", "alac", *_MP3, "opus", "libopus", "flac", *_PCM, *_AMR},
    "ogg": {*_XIPH, "flac", "speex"},
    "matroska,webm": {*_XIPH, *_PCM},
    "flac": {"flac"},
    "amr": {*_AMR},
}
# What files of the extension more_audio have in addition.
_MORE_CODECS = {"aac": {"aac"}, "mov,mp4,m4a,3gp,3g2,mj2": {"pcm_alaw", "pcm_mulaw", "pcm_u8", "adpcm_ima_qt"}}
_RATES = range(4_000, 192_001)  # samples per second
_MOST_CHANNELS = 8
_MOST_TRACKS = 16
# Smallest share of a channel's energy in the mix. Below it, the two channels cancel each other.
_LEAST_MIXED = 0.01


class UnknownFormatError(Exception):
    """The container is not accepted."""


class UnknownCodecError(Exception):
    """The container is accepted, its codec is not."""


class BeyondLimitsError(Exception):
    """The file exceeds a limit or has no audio. Callers may see the message."""


class TooLongError(Exception):
    """The decoded audio is longer than allowed."""


class TooShortError(Exception):
    """The audio is shorter than asked for."""


_Codecs = Mapping[str, Set[str]]


def _codecs(*, more: bool) -> _Codecs:
    return (
        {name: _CODECS.get(name, set()) | _MORE_CODECS.get(name, set()) for name in _CODECS | _MORE_CODECS}
        if more
        else _CODECS
    )


def _options(codecs: _Codecs) -> dict[str, str]:
    return {
        "format_whitelist": ",".join(codecs),
        "codec_whitelist": ",".join(sorted(set().union(*codecs.values()))),
        "protocol_whitelist": "none",
        "max_streams": "1000",
        "probesize": "5000000",
        "analyzeduration": "5000000",
    }


def _audio_stream(container: Any, codecs: _Codecs) -> Any:
    if len(container.streams) > _MOST_TRACKS:
        raise BeyondLimitsError(f"the file has {len(container.streams)} tracks; at most {_MOST_TRACKS} are read")
    if not container.streams.audio:
        raise BeyondLimitsError("the file has no audio track")
    stream = container.streams.audio[0]
    context = stream.codec_context
    # PyAV has no context if a file ends before the codec's parameters.
    if context is None:
        raise DamagedAudioError
    if context.name not in codecs[container.format.name]:
        raise UnknownCodecError
    return stream


def _shape(frame: Any) -> tuple[int, int, str, str]:
    rate, channels = frame.sample_rate, frame.layout.nb_channels
    if rate not in _RATES:
        raise BeyondLimitsError(f"the sample rate is {rate} Hz; {_RATES[0]} to {_RATES[-1]} Hz are read")
    if channels > _MOST_CHANNELS:
        raise BeyondLimitsError(f"the audio has {channels} channels; at most {_MOST_CHANNELS} are read")
    return rate, channels, frame.layout.name, frame.format.name


def _mono(found: Iterable[Any]) -> Iterator[NDArray[np.int16]]:
    """Samples at 16 kHz, mono. The rate and the channels may change within a file."""
    for (_, several, *_), alike in groupby(found, _shape):
        channels = 2 if several > 1 else 1
        resampler = av.AudioResampler("s16", "mono" if channels == 1 else "stereo", SAMPLE_RATE)
        # The final None flushes the resampler.
        for frame in chain(alike, [None]):
            for part in resampler.resample(frame):
                samples = part.to_ndarray().reshape(-1, channels)
                yield samples[:, 0] if channels == 1 else _mixed(samples)


def _mixed(samples: NDArray[np.int16]) -> NDArray[np.int16]:
    """Mix two channels [samples, 2] into one; keep the first if they cancel each other."""
    first, second = samples.astype(np.float32).T
    mix = (first + second) / 2
    chosen: NDArray[np.float32] = first if mix @ mix < _LEAST_MIXED * (first @ first) else mix
    return chosen.astype(np.int16)


def _said_seconds(container: Any, size: int) -> float:
    """The length as the head of a file of ``size`` bytes says it; infinite if it does not."""
    if container.duration is not None:
        return float(container.duration / av.time_base)
    # A WAV that is read without seeking.
    return 8 * size / container.bit_rate if container.bit_rate else math.inf


def _collect(container: Any, codecs: _Codecs, into: NDArray[np.int16]) -> int:
    total = 0
    for part in _mono(frames(container, _audio_stream(container, codecs))):
        if total + len(part) > len(into):
            raise TooLongError
        into[total : total + len(part)] = part
        total += len(part)
    return total


class _Forward:
    """A file without seeking. With it, FFmpeg first reads the chunks after a WAV's samples, and may fail there."""

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read


def decode(file: BinaryIO, into: NDArray[np.int16], *, more: bool = False, least_seconds: float = -math.inf) -> int:
    """Write the first audio stream of a file to ``into``, int16 at 16 kHz, mono; return the number of samples.

    ``more`` is whether kinds of the extension more_audio are read. A file that says that it has less than
    ``least_seconds`` is not decoded.

    Raises one of the errors above, never FFmpeg's own.
    """
    # Not every demuxer of FFmpeg skips a tag at the start.
    tag = tag_bytes(file.read(10))
    codecs = _codecs(more=more)
    options = {**_options(codecs), "skip_initial_bytes": str(tag)}
    size = file.seek(0, os.SEEK_END)
    file.seek(tag)
    head = file.read(12)
    file.seek(0)
    source = _Forward(file) if is_wave(head) else timed(file) if is_ogg(head) else file
    try:
        with av.open(source, options=options, metadata_errors="ignore") as container:
            # A file that says less than it has harms itself alone.
            if _said_seconds(container, size) < least_seconds:
                raise TooShortError
            count = _collect(container, codecs, into)
    except (av.error.InvalidDataError, av.error.ArgumentError, av.error.DemuxerNotFoundError):
        raise UnknownFormatError from None
    except (av.error.FFmpegError, ValueError, OSError):
        raise DamagedAudioError from None
    if count < least_seconds * SAMPLE_RATE:
        raise TooShortError
    return count
