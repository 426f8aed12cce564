"""The copy that a rehearsal runs in."""

import subprocess
from pathlib import Path

import pytest

from scripts.rehearsal.checkout import Checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout", 9000, "http://127.0.0.1:9", [])


def test_a_checkout_has_no_models_and_finds_its_virtual_environment_up_to_date(checkout: Checkout) -> None:
    checkout.make_anew()
    models = checkout.folder / "model_repository"
    assert list(models.glob("*/config.pbtxt"))
    assert not list(models.glob("*/1/exported.json"))
    plan = subprocess.run(["make", "-n", "install"], cwd=checkout.folder, capture_output=True, text=True, check=True)
    assert plan.stdout == ":\n"


def test_what_a_product_has_written_for_its_callers_is_read(checkout: Checkout) -> None:
    (checkout.folder / "build").mkdir(parents=True)
    (checkout.folder / "build" / "demo.env").write_text("QUARTET_URL=http://127.0.0.1:9000\nQUARTET_API_KEY='q k'\n")
    assert checkout.values() == {"QUARTET_URL": "http://127.0.0.1:9000", "QUARTET_API_KEY": "q k"}


def test_the_disk_of_what_is_inside_is_counted(checkout: Checkout) -> None:
    (checkout.folder / "build" / "deep").mkdir(parents=True)
    (checkout.folder / "build" / "deep" / "file").write_bytes(bytes(100_000))
    assert 100_000 <= checkout.disk("build", "model_repository") < 200_000
