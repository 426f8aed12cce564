import numpy as np
import pytest

from frontend.audio.sniff import UNKNOWN, recognise
from tests.speech import CONTAINERS, encode


@pytest.mark.parametrize("kind", CONTAINERS)
def test_accepted_kinds_are_recognised(kind: str) -> None:
    assert recognise(encode(np.zeros(16_000, np.float32), kind))[1] or kind == "mp3"


def test_a_picture_is_named() -> None:
    assert recognise(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 100) == ("image/png", False)


@pytest.mark.parametrize("kind", [b"AVI LIST", b"WEBPVP8 "])
def test_another_riff_file_is_no_wav(kind: bytes) -> None:
    assert not recognise(b"RIFF\x40\0\0\0" + kind + bytes(100))[1]


@pytest.mark.parametrize("data", [b"x", b"plain words"])
def test_what_has_no_signature_is_unknown(data: bytes) -> None:
    assert recognise(data) == (UNKNOWN, False)
