"""Malformed forms and files, beside what ``tests/http`` and ``tests/unit`` send: name to bytes and status."""

import base64
import gzip
import io
import struct
from functools import cache

import av
import numpy as np

from tests.faults.cases_http import TRANSCRIBE, Cases
from tests.raw import post
from tests.speech import encode, encode_tracks, say

_CODED = "\r\nContent-Transfer-Encoding: "
FILE = 'Content-Disposition: form-data; name="file"; filename="a.wav"'


@cache
def speech(kind: str) -> bytes:
    return encode(say("Good morning everybody, this is a test."), kind)


def part(head: str, body: bytes) -> bytes:
    return b"--x\r\n" + head.encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body + b"\r\n"


def form(*parts: bytes, end: bytes = b"--x--\r\n", boundary: str = "x") -> bytes:
    return post(TRANSCRIBE, b"".join(parts) + end, f"Content-Type: multipart/form-data; boundary={boundary}")


def field(name: str, value: bytes) -> bytes:
    return part(f'Content-Disposition: form-data; name="{name}"', value)


def upload(content: bytes) -> bytes:
    return form(part(FILE, content))


def forms() -> Cases:
    """Multipart bodies that are malformed, and fields that are wrong."""
    wav = part(FILE, speech("wav"))
    lone = post(TRANSCRIBE, b"--x--\r\n", "Content-Type: multipart/form-data")
    cases: Cases = {
        "a form without a boundary": (lone, 400),
        "a form with another boundary": (form(wav, boundary="y"), 400),
        "an empty form": (post(TRANSCRIBE, b"", "Content-Type: multipart/form-data; boundary=x"), 400),
        "a form without parts": (form(), 400),
        "a part without headers": (form(b"--x\r\n\r\nabc\r\n", wav), 400),
        "a part without a disposition": (form(part("Content-Type: audio/wav", b"abc")), 400),
        "a disposition of nonsense": (form(part('Content-Disposition: ;;;"', b"abc")), 400),
        "a header of 100 kB": (form(part(f"{FILE}; x={'a' * 100_000}", b"abc")), 400),
        "a name of 1000 characters": (form(field("a" * 1000, b"abc")), 400),
        "a name of 100 kB": (form(field("a" * 100_000, b"abc")), 400),
        "300 headers in a part": (form(part("\r\n".join([FILE, *(f"X-{n}: 1" for n in range(300))]), b"a")), 400),
        "lines that end in LF": (form(wav).replace(b"\r\n--x", b"\n--x"), 400),
        "10 MB before the first part": (form(b"p" * 10_000_000 + b"\r\n", wav), 400),
        "a field that names a charset": (form(field("_charset_", b"wonders"), wav), 400),
        "a field of another charset": (form(field("prompt", "\u00e9".encode("latin-1")), wav), 400),
        "a model as a file": (
            form(part('Content-Disposition: form-data; name="model"; filename="a"', b"stt-1"), wav),
            400,
        ),
        "a model twice": (form(field("model", b"stt-1"), field("model", b"stt-1"), wav), 400),
        "a file in base64": (form(part(f"{FILE}{_CODED}base64", base64.b64encode(speech("wav")))), 415),
        "a file in gzip": (form(part(f"{FILE}\r\nContent-Encoding: gzip", gzip.compress(speech("wav")))), 415),
        "100 fields": (form(*(field("prompt", b"a") for _ in range(100)), wav), 400),
        "a field of 100 kB": (form(field("prompt", b"a" * 100_000), wav), 400),
        "no content type": (post(TRANSCRIBE, b"abc"), 400),
        "a web form": (post(TRANSCRIBE, b"file=a", "Content-Type: application/x-www-form-urlencoded"), 400),
        "60 MB announced": (
            post(TRANSCRIBE, b"", "Content-Type: multipart/form-data; boundary=x").replace(b"h: 0", b"h: 60000000"),
            413,
        ),
    }
    wrong = ["response_format=vtt", "include[]=logprobs", "chunking_strategy=auto", "with_segments=true"]
    wrong += [f"temperature={value}" for value in ("-0.1", "1e400", "0,5", "０.５")]
    for words in wrong:
        name, _, value = words.partition("=")
        cases[words] = (form(field(name, value.encode()), wav), 400)
    return cases


def odd() -> dict[str, bytes]:
    """Parts of a form that few send and all may: they are read as they are."""
    plain = f"{FILE}\r\nContent-Type: text/plain; charset=wonders"
    return {
        "a part in an unknown charset": form(part(plain, speech("wav"))),
        "a part in an unknown coding": form(part(f"{FILE}{_CODED}wonders", speech("wav"))),
        "a file without a name": form(part('Content-Disposition: form-data; name="file"', speech("wav"))),
    }


def _wav(rate: int, channels: int, bits: int, samples: int = 1600) -> bytes:
    data = bytes(samples * 2)
    align = channels * bits // 8
    chunk = struct.pack(
        "<HHIIHH", 1, channels & 0xFFFF, rate & 0xFFFFFFFF, (rate * align) & 0xFFFFFFFF, align & 0xFFFF, bits
    )
    body = b"WAVEfmt " + struct.pack("<I", len(chunk)) + chunk + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


@cache
def _long_flac(seconds: int) -> bytes:
    """Hours of silence, which FLAC writes in almost nothing."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="flac") as container:
        stream = container.add_stream("flac", rate=8000)
        stream.layout = "mono"
        minute = av.AudioFrame.from_ndarray(np.zeros((1, 8000 * 60), np.int16), format="s16", layout="mono")
        minute.sample_rate = 8000
        resampler = av.AudioResampler("s16", "mono", 8000, frame_size=stream.codec_context.frame_size or 4608)
        for _ in range(seconds // 60):
            for piece in resampler.resample(minute):
                container.mux(stream.encode(piece))
        container.mux(stream.encode(None))
    return buffer.getvalue()


def files() -> Cases:
    """Files that are none, that lie, that are damaged, that want to open others, that are far too long."""
    foreign: dict[str, bytes] = {
        "one byte": b"a",
        "zeros": bytes(4096),
        "HTML": b"<!doctype html><html><body>audio</body></html>",
        "JSON": b'{"audio": "none"}',
        "a PDF": b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n",
        "a JPEG": b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01" + bytes(200),
        "a GIF": b"GIF89a\x01\0\x01\0" + bytes(100),
        "a ZIP": b"PK\x03\x04" + bytes(100),
        "a program": b"\x7fELF\x02\x01\x01" + bytes(200),
        "MIDI": b"MThd\0\0\0\x06\0\x01\0\x01\0\x60MTrk" + bytes(50),
        "FLV": b"FLV\x01\x05\0\0\0\x09" + bytes(100),
        "WMA": bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c") + bytes(200),
        "a list of files": b"ffconcat version 1.0\nfile '/etc/passwd'\n",
        "a playlist": b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
        "a session description": b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=a\r\nm=audio 5005 RTP/AVP 0\r\n",
        "a DASH manifest": b'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>',
        "ffmetadata": b";FFMETADATA1\ntitle=a\n",
    }
    cases: Cases = {f"a file: {name}": (upload(content), 415) for name, content in foreign.items()}
    damaged: dict[str, bytes] = {
        "a WAV header alone": b"RIFF\x24\0\0\0WAVE",
        "a WAV of 0 Hz": _wav(0, 1, 16),
        "a WAV of 1 Hz": _wav(1, 1, 16),
        "a WAV of 100 Hz": _wav(100, 1, 16),
        "a WAV of 2^31 Hz": _wav(2**31 - 1, 1, 16),
        "a WAV of 2^32 Hz": _wav(2**32 - 1, 1, 16),
        "a WAV of 0 channels": _wav(16_000, 0, 16),
        "a WAV of 255 channels": _wav(16_000, 255, 16),
        "a WAV of 65535 channels": _wav(16_000, 65_535, 16),
        "a WAV of 0 bits": _wav(16_000, 1, 0),
        "AMR without data": b"#!AMR\n" + b"\x7c" * 5,
        "FLAC's first words alone": b"fLaC",
        "Ogg's first page cut": speech("ogg-opus")[:40],
        "an MP4 of video alone": encode_tracks([], "mp4", video=True),
        "WebM cut in its header": speech("webm")[:100],
    }
    for kind in ("mp4", "m4a", "3gp"):
        whole = speech(kind)
        for tenth in range(1, 10, 2):
            damaged[f"{kind} cut after {tenth} tenths"] = whole[: len(whole) * tenth // 10]
    cases |= {f"a damaged file: {name}": (upload(content), 400) for name, content in damaged.items()}
    cases["a quarter of an hour of silence in a small FLAC, where ten minutes are too much"] = (
        upload(_long_flac(15 * 60)),
        413,
    )
    return cases
