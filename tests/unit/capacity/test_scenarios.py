from pathlib import Path

import pytest

from scripts.capacity import plots, scenarios
from scripts.capacity.fits import FOLDER, Fits
from scripts.capacity.sizing import Choices, size
from scripts.capacity.traffic import Traffic


def most_tritons(step: scenarios.Step) -> int:
    return max(seen.ready for seen in step.happened.seen[scenarios.POOL])


def test_demand_adds_tritons_where_the_ratio_of_triton_s_queue_never_does(tmp_path: Path) -> None:
    steps = [scenarios.step(signal, 15.0, seconds=40.0, settle=10.0) for signal in ("demand", "ratio")]
    assert [most_tritons(step) > 2 for step in steps] == [True, False]
    for path in (tmp_path / "one.svg", tmp_path / "again.svg"):
        plots.signals(path, steps)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def test_what_is_planned_on_gpus_is_not_simulated() -> None:
    fits, choices = Fits.load(FOLDER / "real.json"), Choices(gpu={"transcriptions": 500.0})
    with pytest.raises(SystemExit, match="nothing is known of batches on a GPU"):
        scenarios.deployment_of(fits, size(fits, Traffic(1e6), choices), choices)
