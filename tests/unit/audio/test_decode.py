import io
import struct
import time
from collections.abc import Callable

import av
import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from frontend.audio import ogg
from frontend.audio.decode import BeyondLimitsError, TooLongError, UnknownCodecError, UnknownFormatError, decode
from frontend.audio.packets import DamagedAudioError
from frontend.processes.shared_memory import SharedBytes
from tests.speech import CONTAINERS, amr, decoded, encode, encode_tracks, say, wave_of

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
def test_a_truncated_file_raises_our_own_error(kind: str) -> None:
    with pytest.raises((DamagedAudioError, UnknownFormatError)):
        decoded(encode(TONE, kind)[:200])


def test_a_header_without_samples_has_none() -> None:
    assert not len(decoded(encode(TONE, "wav")[:78]))


def test_length_is_counted_in_samples_not_taken_from_the_header() -> None:
    lying = bytearray(encode(TONE, "wav"))
    place = lying.index(b"data") + 4
    lying[place : place + 4] = struct.pack("<I", 0xFFFFFFFF)
    assert abs(len(decoded(bytes(lying))) - len(TONE)) < 100


@pytest.mark.parametrize(("missing", "fits"), [(0, True), (1, False)])
def test_the_limit_is_exact(missing: int, fits: bool) -> None:
    file = encode(TONE, "flac")
    seconds = (len(TONE) - missing) / 16_000
    if fits:
        assert len(decoded(file, seconds)) == len(TONE)
    else:
        with pytest.raises(TooLongError):
            decoded(file, seconds)


def _broken(places: list[int]) -> bytes:
    """Ten seconds of M4A with 432 packets, some of them overwritten."""
    data = bytearray(encode(np.tile(TONE, 5), "m4a"))
    with av.open(io.BytesIO(bytes(data))) as container:
        packets = [(packet.pos, packet.size) for packet in container.demux(audio=0) if packet.size]
    for place in places:
        start, size = packets[place]
        data[start : start + size] = b"\xff" * size
    return bytes(data)


@pytest.mark.parametrize("places", [[5], [5, 10, 15], [100, 200, 300, 301, 302, 303], [*range(200)]])
def test_broken_packets_are_passed_over_and_keep_their_time(places: list[int]) -> None:
    assert 9.9 < len(decoded(_broken(places))) / 16_000 < 10.1


def test_more_broken_than_whole_packets_are_damage() -> None:
    with pytest.raises(DamagedAudioError):
        decoded(_broken([*range(220)]))


def _damaged(kind: str, first: float, last: float, filler: bytes = b"\0") -> bytes:
    """Ten seconds of people, of which the bytes from one share of the file to another are lost."""
    data = bytearray(encode(np.resize(say("one two three"), 160_000), kind))
    start, end = (200 + round(share * (len(data) - 210)) for share in (first, last))
    data[start:end] = (filler * (end - start))[: end - start]
    return bytes(data)


@pytest.mark.parametrize("kind", ["mp3", "ogg-vorbis", "ogg-opus", "webm", "flac"])
def test_a_hole_takes_the_time_of_what_is_lost(kind: str) -> None:
    samples = decoded(_damaged(kind, 0.4, 0.6))
    assert 9.5 < len(samples) / 16_000 < 10.5
    assert not samples[round(4.9 * 16_000) : round(5.1 * 16_000)].any()
    assert np.abs(samples[: 3 * 16_000]).max() > 1_000 < np.abs(samples[-3 * 16_000 :]).max()


@pytest.mark.parametrize("kind", [kind for kind in CONTAINERS if not kind.startswith("wav")])
def test_a_file_without_any_of_its_sound_is_damage_and_not_silence(kind: str) -> None:
    with pytest.raises((DamagedAudioError, UnknownFormatError)):
        decoded(_damaged(kind, 0.0, 1.0))


@pytest.mark.parametrize("kind", ["mov", "aac"])
def test_more_kinds_are_read_if_they_are_wanted(kind: str) -> None:
    data, into = encode(TONE, kind), np.zeros(64_000, np.int16)
    assert abs(decode(io.BytesIO(data), into, more=True) - len(TONE)) < 3000


def test_aac_without_a_container_is_unknown_otherwise() -> None:
    with pytest.raises(UnknownFormatError):
        decoded(encode(TONE, "aac"))


def _with_times(data: bytes, time_of: Callable[[int], bytes]) -> bytes:
    """An Ogg file with other times in its pages behind the two headers."""
    changed, place = bytearray(data), 0
    for number in range(data.count(b"OggS")):
        size = 27 + data[place + 26] + sum(data[place + 27 : place + 27 + data[place + 26]])
        if number > 1:
            changed[place + 6 : place + 14], changed[place + 22 : place + 26] = time_of(number), bytes(4)
            checksum = ogg._checksum(bytes(changed[place : place + size]))
            changed[place + 22 : place + 26] = checksum.to_bytes(4, "little")
        place += size
    return bytes(changed)


@pytest.mark.parametrize("kind", ["ogg-opus", "ogg-vorbis"])
def test_ogg_pages_may_have_no_times(kind: str) -> None:
    data = encode(say("one two three"), kind)
    assert abs(len(decoded(_with_times(data, lambda _: b"\xff" * 8))) - len(decoded(data))) < 1_000


def test_times_of_ogg_pages_are_the_same_however_the_file_is_read() -> None:
    data = _with_times(encode(say("one two three"), "ogg-opus"), lambda _: b"\xff" * 8)
    file = ogg.timed(io.BytesIO(data))
    assert b"".join(iter(lambda: file.read(7), b"")) == ogg.timed(io.BytesIO(data)).read() != data


def test_times_that_jump_make_no_sound() -> None:
    data = encode(np.resize(say("one two three"), 80_000), "ogg-opus")
    jumps = _with_times(data, lambda number: (number * 59 * 48_000).to_bytes(8, "little"))
    assert abs(len(decoded(jumps)) - 80_000) < 1_000


def test_ogg_with_very_many_pages_is_read_in_time() -> None:
    page = b"OggS" + bytes(2) + b"\xff" * 8 + bytes(13)
    head = encode(say("one"), "ogg-opus")[:129]
    started = time.thread_time()
    with pytest.raises((DamagedAudioError, UnknownFormatError)):
        decoded(head + page * 200_000)
    assert time.thread_time() - started < 2


def test_a_tag_between_joined_mp3_files_takes_no_time() -> None:
    one = encode(np.resize(say("one two three"), 80_000), "mp3")
    tag = b"ID3\3\0\0" + bytes([0, 2, 0x38, 0x40]) + b"\xff\xfb" * 20_000
    assert len(decoded(one + tag + one)) / 16_000 == pytest.approx(10, abs=0.5)


def test_a_file_of_broken_packets_alone_is_damage() -> None:
    """Even if they are so few that they would be skipped in a longer file."""
    data = bytearray(encode(TONE[:200], "m4a"))
    with av.open(io.BytesIO(bytes(data))) as container:
        packets = [(packet.pos, packet.size) for packet in container.demux(audio=0) if packet.size]
    assert len(packets) <= 2
    for start, size in packets:
        data[start : start + size] = b"\xff" * size
    with pytest.raises(DamagedAudioError):
        decoded(bytes(data))


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


@pytest.mark.parametrize(
    ("rate", "channels", "message"),
    [
        (3_999, 1, "the sample rate is 3999 Hz; 4000 to 192000 Hz are read"),
        (384_000, 2, "the sample rate is 384000 Hz; 4000 to 192000 Hz are read"),
        (16_000, 9, "the audio has 9 channels; at most 8 are read"),
        (16_000, 12, "the audio has 12 channels; at most 8 are read"),
    ],
)
def test_a_rate_or_channels_beyond_what_is_read_are_named(rate: int, channels: int, message: str) -> None:
    with pytest.raises(BeyondLimitsError) as caught:
        decoded(_pcm(rate, channels))
    assert str(caught.value) == message


@pytest.mark.parametrize(("tracks", "message"), [(0, "the file has no audio track"), (20, "the file has 20 tracks")])
def test_tracks_that_are_missing_or_too_many_are_named(tracks: int, message: str) -> None:
    with pytest.raises(BeyondLimitsError, match=message):
        decoded(encode_tracks([TONE] * tracks, "mp4", video=not tracks))


def test_16_tracks_are_not_too_many() -> None:
    assert abs(len(decoded(encode_tracks([TONE] * 16, "mp4"))) - len(TONE)) < 3_000


def _stereo(left: NDArray[np.float32], right: NDArray[np.float32]) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.stack([left, right], 1), 16_000, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


@pytest.mark.parametrize("share", [-1.0, -0.9])
def test_of_channels_that_cancel_each_other_the_first_is_taken(share: float) -> None:
    samples = decoded(_stereo(TONE, TONE * np.float32(share)))
    assert abs(int(samples.max()) - 16_383) <= 2


def test_other_channels_are_mixed_half_and_half() -> None:
    samples = decoded(_stereo(TONE, TONE * np.float32(-0.5)))
    assert abs(int(samples.max()) - 4_096) <= 2


def _joined(kind: str) -> bytes:
    """Two seconds of mono, then two seconds of stereo with another rate."""
    stereo = io.BytesIO()
    soundfile.write(stereo, np.stack([TONE, TONE], 1), 48_000, format=kind)
    mono = io.BytesIO()
    soundfile.write(mono, TONE, 16_000, format=kind)
    return mono.getvalue() + stereo.getvalue()


def test_the_rate_and_the_channels_may_change_within_an_mp3() -> None:
    samples = decoded(_joined("MP3"))
    assert 2.6 < len(samples) / 16_000 < 2.9
    # The second file is played three times as fast as it was made.
    assert np.abs(np.fft.rfft(samples[-9_000:-1_000])).argmax() == 660


def test_a_second_ogg_stream_of_another_shape_is_ignored() -> None:
    assert abs(len(decoded(_joined("OGG"))) - len(TONE)) < 1_000


# What is found behind the samples of WAV files, and sizes that do not fit.
_TAILS = {
    "nothing": b"",
    "one byte": b"x",
    "zeros": bytes(199),
    "text": b"made by a recorder\n",
    "unpadded list": b"LIST\x05\0\0\0INFOx",
    "list": b"LIST\x10\0\0\0INFOIART\x04\0\0\0abc\0",
    "list that is longer than the file": b"LIST\xff\xff\xff\x7fINFO",
    "chunk of no size": b"junk\0\0\0\0",
    "chunk of the largest size": b"junk\xff\xff\xff\xff",
    "id3": b"id3 \x0a\0\0\0ID3\4\0\0\0\0\0\0",
    "tag": b"TAG" + bytes(125),
    "broadcast extension cut short": b"bext\x04\0\0\0abcd",
    "cue points": b"cue \x04\0\0\0\0\0\0\0",
    "half a chunk": b"LIS",
    "noise": np.random.default_rng(0).bytes(1_001),
    "another file": b"RIFF\x24\0\0\0WAVEfmt ",
}
_SIZES = {"right": None, "too large": 0x7FFFFFFF, "unknown": 0xFFFFFFFF}


@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("tail", _TAILS)
def test_a_wav_is_read_with_anything_after_its_samples(tail: str, size: str, capfd: pytest.CaptureFixture[str]) -> None:
    wav = bytearray(encode(TONE, "wav"))
    if (told := _SIZES[size]) is not None:
        place = wav.index(b"data") + 4
        wav[place : place + 4] = struct.pack("<I", told)
    samples = _uploaded(bytes(wav) + _TAILS[tail])
    # With a size beyond the end, the tail is heard too.
    assert 0 <= len(samples) - len(TONE) <= (0 if told is None else len(_TAILS[tail]))
    assert capfd.readouterr().err == ""


def test_a_second_chunk_of_samples_is_heard_behind_the_first() -> None:
    samples = _uploaded(encode(TONE, "wav") + b"data\x04\0\0\0abcd")
    assert len(samples) == len(TONE) + 2


def test_a_wav_with_a_title_in_an_old_encoding_is_read() -> None:
    """Old recorders write titles in local encodings."""
    wav = bytearray(encode(TONE, "wav"))
    title = b"INFOINAM\x06\0\0\0Gr\xfc\xdfe\0"
    place = wav.index(b"data")
    wav[place:place] = b"LIST" + struct.pack("<I", len(title)) + title
    assert len(decoded(bytes(wav))) == len(TONE)


@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_wav_with_too_small_a_size_is_read_up_to_it(share: float) -> None:
    wav = bytearray(encode(TONE, "wav"))
    place = wav.index(b"data") + 4
    wav[place : place + 4] = struct.pack("<I", 2 * int(len(TONE) * share))
    assert len(_uploaded(bytes(wav))) == int(len(TONE) * share)


@pytest.mark.parametrize("footer", [0, 10])
@pytest.mark.parametrize("kind", ["wav", "mp3", "flac", "ogg-opus"])
def test_a_tag_before_a_file_is_passed_over(kind: str, footer: int) -> None:
    tag = b"ID3\4\0" + bytes([footer and 0x10]) + b"\0\0\x07\x68" + bytes(1_000 + footer)
    assert abs(len(_uploaded(tag + encode(TONE, kind))) - len(TONE)) < 3_000


def _uploaded(data: bytes) -> NDArray[np.int16]:
    """The samples of a file in shared memory."""
    upload, samples = SharedBytes(), np.zeros(60 * 16_000, np.int16)
    upload.write(data)
    with upload.attached.file() as file:
        count = decode(file, samples)
    upload.close()
    return samples[:count]


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
