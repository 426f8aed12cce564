"""What the demo downloads is pinned, and what is made of it is known."""

import re

import pytest

from scripts.export_models.checkpoints import VOICE_FILES
from scripts.export_models.demo.packages import Offer
from scripts.export_models.demo.published import PUBLISHED, REAL_VOICE, WHISPER

OFFERS = [offer for published in PUBLISHED.values() for offer in published.offers]


@pytest.mark.parametrize("offer", OFFERS, ids=str)
def test_a_package_is_pinned_by_version_and_hash(offer: Offer) -> None:
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", package.pin) for package in offer.packages)
    assert all(re.fullmatch(r"[0-9a-f]{64}", package.sha256) for package in offer.packages)


@pytest.mark.parametrize("offer", OFFERS, ids=str)
def test_files_are_taken_out_of_the_packages_of_their_publisher(offer: Offer) -> None:
    names = {package.pin.partition("==")[0].replace("-", "_") for package in offer.packages}
    assert {part.partition("/")[0] for file in offer.files.values() for part in file.parts} == names


def test_both_publishers_have_the_same_files_of_whisper() -> None:
    first, second = WHISPER.offers
    assert first.files.keys() == second.files.keys()


def test_the_real_voice_lies_where_the_one_that_it_stands_for_would() -> None:
    assert PUBLISHED["voices"].sha256.keys() == {f"{VOICE_FILES[REAL_VOICE]}.onnx{end}" for end in ("", ".json")}
