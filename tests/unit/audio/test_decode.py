import io
import struct

import av
import numpy as np
import pytest
import soundfile

from frontend.audio.decode import DamagedAudioError, TooLongError, UnknownCodecError, UnknownFormatError
from tests.speech import CONTAINERS, amr, decoded, encode, encode_tracks, wave_of

TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(32_000) / 16_000)).astype(np.float32)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_decodes_to_16_khz_mono_of_the_same_length_and_pitch(kind: str) -> None:
    samples = decoded(encode(TONE, kind))
    assert samples.dtype == np.int16
    assert abs(len(samples) - len(TONE)) < 3000
    assert np.abs(np.fft.rfft(samples[4000:20_000])).argmax() == 440


@pytest.mark.parametrize(
    "data",
    [
        b"hello world" * 100,
        b"\x89PNG\r\n\x1a\n" + b"\0" * 500,
        b"ffconcat version 1.0\nfile '/etc/hostname'\n",
        encode_tracks([], "mp4", video=True),
    ],
)
def test_a_foreign_file_is_unknown(data: bytes) -> None:
    with pytest.raises(UnknownFormatError):
        decoded(data)


@pytest.mark.parametrize("kind", ["aac", "w64", "aiff", "caf", "mpegts", "avi", "au"])
def test_a_container_that_is_not_listed_is_unknown(kind: str) -> None:
    with pytest.raises(UnknownFormatError):
        decoded(encode(TONE, kind))


@pytest.mark.parametrize("kind", ["mp2", "wav-g722", "wav-mp2", "wav-aac", "wav-flac", "mp4-ac3", "gsm"])
def test_a_codec_that_is_not_listed_is_refused_in_any_container(kind: str) -> None:
    with pytest.raises(UnknownCodecError):
        decoded(wave_of(0x31) if kind == "gsm" else encode(TONE, kind))


@pytest.mark.parametrize("kind", ["m4a", "flac", "ogg-opus"])
def test_a_file_cut_short_is_an_error_of_ours(kind: str) -> None:
    with pytest.raises((DamagedAudioError, UnknownFormatError)):
        decoded(encode(TONE, kind)[:200])


def test_a_header_without_samples_is_damaged() -> None:
    with pytest.raises(DamagedAudioError):
        decoded(encode(TONE, "wav")[:78])


def test_length_is_counted_in_samples_not_taken_from_the_header() -> None:
    lying = bytearray(encode(TONE, "wav"))
    place = lying.index(b"data") + 4
    lying[place : place + 4] = struct.pack("<I", 0xFFFFFFFF)
    assert abs(len(decoded(bytes(lying))) - len(TONE)) < 100


@pytest.mark.parametrize(("missing", "fits"), [(0, True), (1, False)])
def test_the_limit_is_exact(missing: int, fits: bool) -> None:
    """To the sample: no second is given away."""
    file = encode(TONE, "flac")
    seconds = (len(TONE) - missing) / 16_000
    if fits:
        assert len(decoded(file, seconds)) == len(TONE)
    else:
        with pytest.raises(TooLongError):
            decoded(file, seconds)


def _broken(places: list[int]) -> bytes:
    """Ten seconds of M4A, which has 432 packets, some of them overwritten."""
    data = bytearray(encode(np.tile(TONE, 5), "m4a"))
    with av.open(io.BytesIO(bytes(data))) as container:
        packets = [(packet.pos, packet.size) for packet in container.demux(audio=0) if packet.size]
    for place in places:
        start, size = packets[place]
        data[start : start + size] = b"\xff" * size
    return bytes(data)


@pytest.mark.parametrize("places", [[5], [5, 10], [100, 200, 300], [100, 200, 300, 320]])
def test_two_broken_packets_and_one_in_a_hundred_are_passed_over(places: list[int]) -> None:
    assert 9.9 < len(decoded(_broken(places))) / 16_000 < 10.0


@pytest.mark.parametrize("places", [[5, 10, 15], [5, 10, 98], [100, 200, 300, 301, 302, 303]])
def test_more_broken_packets_are_damage(places: list[int]) -> None:
    with pytest.raises(DamagedAudioError):
        decoded(_broken(places))


def _pcm(rate: int, channels: int, seconds: float = 1.0) -> bytes:
    """A WAV file with the tone in its first channel."""
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(int(rate * seconds)) / rate)
    audio = np.zeros((len(tone), channels), np.float32)
    audio[:, 0] = tone
    buffer = io.BytesIO()
    soundfile.write(buffer, audio, rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


@pytest.mark.parametrize("rate", [4_000, 8_000, 11_025, 22_050, 48_000, 192_000])
def test_every_sample_rate_gives_the_whole_length(rate: int) -> None:
    samples = decoded(_pcm(rate, 1))
    assert abs(len(samples) - 16_000) <= 20
    assert np.abs(np.fft.rfft(samples[:16_000])).argmax() == 440


@pytest.mark.parametrize("channels", [1, 2, 6, 8])
def test_channels_are_mixed(channels: int) -> None:
    samples = decoded(_pcm(16_000, channels))
    assert len(samples) == 16_000
    assert np.abs(np.fft.rfft(samples)).argmax() == 440


@pytest.mark.parametrize(("rate", "channels"), [(3_999, 1), (192_001, 1), (16_000, 9)])
def test_a_rate_or_channels_that_no_recording_has_are_damage(rate: int, channels: int) -> None:
    with pytest.raises(DamagedAudioError):
        decoded(_pcm(rate, channels))


@pytest.mark.parametrize(
    "file",
    [
        encode_tracks([TONE], "mp4", video=True),
        encode_tracks([TONE], "webm", video=True),
        encode_tracks([TONE, TONE * np.float32(0)], "mp4"),
    ],
    ids=["mp4", "webm", "two"],
)
def test_the_first_audio_stream_of_a_file_is_taken_whatever_else_is_in_it(file: bytes) -> None:
    samples = decoded(file)
    assert np.abs(np.fft.rfft(samples[4000:20_000])).argmax() == 440


def test_amr_is_decoded() -> None:
    assert abs(len(decoded(amr(2.0))) - 32_000) < 1000
