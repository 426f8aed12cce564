"""Speech of people for tests, and audio files of every container, encoded by PyAV."""

import io
import struct
import zlib
from fractions import Fraction
from functools import cache
from typing import Any

import av
import numpy as np
import soundfile
import soxr
from aiohttp import FormData
from aiohttp.test_utils import TestClient
from numpy.typing import NDArray

from client.recordings import recordings
from frontend.audio.decode import decode

TRANSCRIBE = "/v1/audio/transcriptions"
SAMPLE_RATE = 16_000
# Container, codec, sample rate and sample format of every accepted kind of file that PyAV can write.
CONTAINERS = {
    "wav": ("wav", "pcm_s16le", 16_000),
    "wav-float": ("wav", "pcm_f32le", 48_000),
    "mp3": ("mp3", "libmp3lame", 44_100),
    "m4a": ("ipod", "aac", 44_100),
    "mp4": ("mp4", "aac", 48_000),
    "ogg-vorbis": ("ogg", "libvorbis", 44_100),
    "ogg-opus": ("ogg", "libopus", 48_000),
    "webm": ("webm", "libopus", 48_000),
    "flac": ("flac", "flac", 16_000),
    "3gp": ("3gp", "aac", 16_000),
}
# Kinds that FFmpeg reads too, and that the contract does not list.
FOREIGN = {
    "mkv": ("matroska", "libopus", 48_000),
    "mov": ("mov", "aac", 44_100),
    "3g2": ("3g2", "aac", 16_000),
    "aac": ("adts", "aac", 44_100),
    "w64": ("w64", "pcm_s16le", 16_000),
    "mp2": ("mp2", "mp2", 44_100),
    "wav-g722": ("wav", "g722", 16_000),
    "wav-mp2": ("wav", "mp2", 44_100),
    "wav-aac": ("wav", "aac", 44_100),
    "wav-flac": ("wav", "flac", 16_000),
    "mp4-ac3": ("mp4", "ac3", 48_000),
    "aiff": ("aiff", "pcm_s16be", 16_000),
    "caf": ("caf", "pcm_s16le", 16_000),
    "mpegts": ("mpegts", "aac", 44_100),
    "avi": ("avi", "libmp3lame", 44_100),
    "au": ("au", "pcm_s16be", 16_000),
}


class AlwaysSure:
    """A voice detector that finds speech in every frame, and counts the frames."""

    def __init__(self) -> None:
        self.frames = 0

    def run(self, outputs: None, inputs: dict[str, NDArray[np.float32]]) -> tuple[NDArray[np.float32], ...]:
        self.frames += len(inputs["input"])
        return np.ones(len(inputs["input"]), np.float32), inputs["h"], inputs["c"]


# How fast people speak.
_CHARACTERS_PER_SECOND = 15


# Frames of 10 ms that are quieter than this are pauses.
_FRAME, _QUIET = 160, 0.01


@cache
def _people() -> NDArray[np.float32]:
    """People who speak for most of a minute, without a pause."""
    frames = [each.samples()[: -(len(each.samples()) % _FRAME) or None] for each in recordings("en")]
    cut = np.concatenate(frames).reshape(-1, _FRAME)
    loud = np.sqrt((cut**2).mean(axis=1)) > _QUIET
    return np.asarray(cut[loud].reshape(-1), np.float32)


def say(text: str) -> NDArray[np.float32]:
    """Speech as long as ``text`` takes, float32 [samples] at 16 kHz: others for other texts, but not these words."""
    people = np.roll(_people(), -SAMPLE_RATE * (zlib.crc32(text.encode()) % 40))
    return np.resize(people, len(text) * SAMPLE_RATE // _CHARACTERS_PER_SECOND)


def _frame(audio: NDArray[np.float32]) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray((audio[None] * 32767).astype(np.int16), format="s16", layout="mono")
    frame.sample_rate = SAMPLE_RATE
    # Without a time, the muxer uses uninitialised memory.
    frame.pts, frame.time_base = 0, Fraction(1, SAMPLE_RATE)
    return frame


def _put(container: Any, stream: Any, audio: NDArray[np.float32]) -> None:
    resampler = av.AudioResampler(stream.format.name, "mono", stream.rate, stream.codec_context.frame_size or None)
    for part in [*resampler.resample(_frame(audio)), *resampler.resample(None)]:
        container.mux(stream.encode(part))
    container.mux(stream.encode(None))


def encode(audio: NDArray[np.float32], kind: str) -> bytes:
    """A file of one of ``CONTAINERS`` or ``FOREIGN``."""
    container_format, codec, rate = (CONTAINERS | FOREIGN)[kind]
    if codec == "libvorbis":
        # PyAV's wheel has no Vorbis encoder.
        buffer = io.BytesIO()
        soundfile.write(buffer, soxr.resample(audio, SAMPLE_RATE, rate), rate, format="OGG", subtype="VORBIS")
        return buffer.getvalue()
    return encode_as(audio, container_format, codec, rate)


def encode_as(audio: NDArray[np.float32], container_format: str, codec: str, rate: int, **options: str) -> bytes:
    """A file of any container and codec, by FFmpeg's names, with options of the container."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container_format, options=options) as container:
        stream = container.add_stream(codec, rate=rate)
        stream.layout = "mono"
        _put(container, stream, audio)
    return buffer.getvalue()


def encode_tracks(tracks: list[NDArray[np.float32]], kind: str, *, video: bool = False) -> bytes:
    """A file with several audio streams, or with a second of black video before them."""
    container_format, codec, rate = CONTAINERS[kind]
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container_format) as container:
        picture = container.add_stream("mpeg4" if kind == "mp4" else "libvpx", rate=10) if video else None
        streams = [container.add_stream(codec, rate=rate) for _ in tracks]
        for stream in streams:
            stream.layout = "mono"
        if picture is not None:
            picture.width, picture.height, picture.pix_fmt = 64, 64, "yuv420p"
            for _ in range(10):
                container.mux(picture.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8))))
            container.mux(picture.encode(None))
        for stream, samples in zip(streams, tracks, strict=True):
            _put(container, stream, samples)
    return buffer.getvalue()


def wave_of(codec: int) -> bytes:
    """A WAV file that claims the codec with this number; the content is zeros."""
    head = struct.pack("<4sIHHIIHHHH", b"fmt ", 20, codec, 1, 8000, 1625, 65, 0, 2, 320)
    body = b"WAVE" + head + struct.pack("<4sI", b"data", 6500) + bytes(6500)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def amr(seconds: float) -> bytes:
    """AMR of 4.75 kbit/s with random bits, because PyAV's wheel cannot encode it."""
    frames = np.random.default_rng(0).integers(0, 256, (int(seconds * 50), 12), np.uint8)
    return b"#!AMR\n" + b"".join(b"\x04" + frame.tobytes() for frame in frames)


def decoded(data: bytes, seconds: float = 60, least_seconds: float = 0.0) -> NDArray[np.int16]:
    """Decode a file of at most ``seconds``, and of ``least_seconds``, with the product's code."""
    samples = np.zeros(int(seconds * SAMPLE_RATE), np.int16)
    return samples[: decode(io.BytesIO(data), samples, least_seconds=least_seconds)]


async def transcribe(
    client: TestClient[Any, Any], file: bytes | None, name: Any = "a.wav", headers: Any = None, **fields: Any
) -> Any:
    """Send a file with these text fields; a list sends a field several times."""
    form = FormData(default_to_multipart=True)
    for key, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            form.add_field(key, value)
    if file is not None:
        form.add_field("file", io.BytesIO(file), filename=name, content_type="text/plain")
    return await client.post(TRANSCRIBE, data=form, headers=headers)
