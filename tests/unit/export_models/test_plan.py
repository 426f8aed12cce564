"""What there is to export, and what that takes."""

import pytest

from scripts.export_models import plan
from scripts.export_models.checkpoints import EMBEDDER, VOICES, SourceError

REAL = {each: each.size for each in plan.checkpoints_of(plan.MODELS)}


def test_text_models_are_planned_within_their_limit() -> None:
    assert plan.memory({EMBEDDER: EMBEDDER.size}) <= plan.TEXT_MEMORY == plan.most_memory("m3_embedder")


def test_models_are_exported_in_turn_and_so_take_the_memory_of_the_largest() -> None:
    assert plan.memory(REAL) == max(plan.memory({each: size}) for each, size in REAL.items())


def test_threads_share_the_time_of_all() -> None:
    assert plan.seconds({EMBEDDER: 10**9, VOICES: 10**9}, 2) == (20 + 300 + 20 + 60) / 2


def test_the_export_makes_every_model_of_the_catalogue_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    plan.check_catalogue()
    monkeypatch.setattr(plan, "MODELS", (*plan.MODELS, "piper_alba"))
    with pytest.raises(SourceError, match="frontend/catalogue and scripts/export_models differ: piper_alba"):
        plan.check_catalogue()
