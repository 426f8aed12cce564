"""The pictures of the docs are of the pages as they are: `python -m tests.browser.pictures` takes them anew."""

import pytest

from tests.browser.pictures import PAGES, PICTURES, digest, digest_in, with_digest


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_was_taken_since_its_page_has_changed(name: str) -> None:
    assert digest_in((PICTURES / f"{name}.png").read_bytes()) == digest(name)


def test_a_picture_without_a_digest_has_none() -> None:
    end = bytes.fromhex("0000000049454e44ae426082")
    assert digest_in(b"picture" + end) == ""
    assert digest_in(with_digest(b"picture" + end, "0" * 64)) == "0" * 64
