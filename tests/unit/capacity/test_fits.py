import random
from pathlib import Path

import pytest

from scripts.capacity.fits import FOLDER, Fits, Line, fit
from tests.unit.capacity.products import fits


def test_a_line_is_found_again_in_what_was_measured_with_noise() -> None:
    rng, line = random.Random(1), Line(0.02, 0.001, 0.0002)
    points = []
    for _ in range(200):
        calls, units = rng.randint(1, 8), rng.uniform(50, 2000)
        points.append((line.seconds(units, calls) * rng.uniform(0.95, 1.05), (1.0, calls, units)))
    assert fit(points) == pytest.approx([0.02, 0.001, 0.0002], rel=0.2)


def test_no_weight_is_below_zero() -> None:
    points = [(1.0 - 0.001 * units, (1.0, units)) for units in range(100)]
    assert min(fit(points)) == 0.0


def test_fits_are_read_as_they_were_written(tmp_path: Path) -> None:
    its = fits(Line(0.5, 0.25, 0.125), instances=2)
    its.write(tmp_path / "its.json")
    assert Fits.load(tmp_path / "its.json") == its


@pytest.mark.parametrize("name", ["demo", "real"])
def test_what_was_measured_has_every_operation_and_the_machine(name: str) -> None:
    its = Fits.load(FOLDER / f"{name}.json")
    assert {"m3_embedder", "m3_reranker", "piper_amy", "whisper_turbo"} <= its.models.keys()
    assert its.requests.keys() == {"embeddings", "rerank", "speech", "transcriptions"}
    assert its.cores == its.machine["cores"]
