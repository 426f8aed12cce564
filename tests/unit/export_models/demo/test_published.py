"""The pins of the demo's downloads."""

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
def test_all_packages_of_an_offer_are_used_and_no_others(offer: Offer) -> None:
    names = {package.pin.partition("==")[0].replace("-", "_") for package in offer.packages}
    assert {part.partition("/")[0] for file in offer.files.values() for part in file.parts} == names


def test_both_publishers_have_the_same_files_of_whisper() -> None:
    first, second = WHISPER.offers
    assert first.files.keys() == second.files.keys()


def test_the_real_voice_has_the_file_names_of_the_voice_it_replaces() -> None:
    assert PUBLISHED["voices"].sha256.keys() == {f"{VOICE_FILES[REAL_VOICE]}.onnx{end}" for end in ("", ".json")}
