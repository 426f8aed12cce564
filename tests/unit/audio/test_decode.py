import struct

import numpy as np
import pytest

from frontend.audio.decode import DamagedAudioError, TooLongError, UnknownFormatError, decode
from tests.speech import CONTAINERS, amr, encode, encode_tracks

TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(32_000) / 16_000)).astype(np.float32)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_decodes_to_16_khz_mono_of_the_same_length(kind: str) -> None:
    samples = decode(encode(TONE, kind), 60)
    assert samples.dtype == np.int16
    assert abs(len(samples) - len(TONE)) < 3000


@pytest.mark.parametrize("kind", CONTAINERS)
def test_keeps_the_pitch(kind: str) -> None:
    samples = decode(encode(TONE, kind), 60)[4000:20_000]
    assert np.abs(np.fft.rfft(samples)).argmax() == 440


@pytest.mark.parametrize("data", [b"hello world" * 100, b"\x89PNG\r\n\x1a\n" + b"\0" * 500, b"\x7fELF" + b"\0" * 500])
def test_a_foreign_file_is_unknown(data: bytes) -> None:
    with pytest.raises(UnknownFormatError):
        decode(data, 60)


def test_a_list_that_names_local_files_is_unknown() -> None:
    with pytest.raises(UnknownFormatError):
        decode(b"ffconcat version 1.0\nfile '/etc/hostname'\n", 60)


@pytest.mark.parametrize("kind", ["m4a", "flac", "ogg-opus"])
def test_a_file_cut_short_is_an_error_of_ours(kind: str) -> None:
    with pytest.raises((DamagedAudioError, UnknownFormatError)):
        decode(encode(TONE, kind)[:200], 60)


def test_length_is_counted_in_samples_not_taken_from_the_header() -> None:
    lying = bytearray(encode(TONE, "wav"))
    place = lying.index(b"data") + 4
    lying[place : place + 4] = struct.pack("<I", 0xFFFFFFFF)
    assert abs(len(decode(bytes(lying), 60)) - len(TONE)) < 100


def test_more_than_the_limit_is_too_long() -> None:
    with pytest.raises(TooLongError):
        decode(encode(TONE, "flac"), 1.0)


def test_a_header_without_samples_is_damaged() -> None:
    with pytest.raises(DamagedAudioError):
        decode(encode(TONE, "wav")[:78], 60)


@pytest.mark.parametrize("kind", ["mp4", "webm"])
def test_video_beside_audio_is_not_in_the_way(kind: str) -> None:
    samples = decode(encode_tracks([TONE], kind, video=True), 60)
    assert np.abs(np.fft.rfft(samples[4000:20_000])).argmax() == 440


def test_the_first_of_two_audio_streams_is_taken() -> None:
    samples = decode(encode_tracks([TONE, TONE * np.float32(0)], "mp4"), 60)
    assert np.abs(np.fft.rfft(samples[4000:20_000])).argmax() == 440


def test_video_without_audio_is_refused() -> None:
    with pytest.raises(UnknownFormatError):
        decode(encode_tracks([], "mp4", video=True), 60)


def test_amr_is_decoded() -> None:
    assert abs(len(decode(amr(2.0), 60)) - 32_000) < 1000
