"""The models to export, and how long that takes."""

import pytest

from scripts.export_models import plan
from scripts.export_models.checkpoints import EMBEDDER, VOICES, SourceError


def test_threads_share_the_time_of_all() -> None:
    assert plan.seconds({EMBEDDER: 10**9, VOICES: 10**9}, 2) == (20 + 300 + 20 + 60) / 2


def test_the_export_makes_every_model_of_the_catalogue_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    plan.check_catalogue()
    monkeypatch.setattr(plan, "MODELS", (*plan.MODELS, "piper_alba"))
    with pytest.raises(SourceError, match="frontend/catalogue and scripts/export_models differ: piper_alba"):
        plan.check_catalogue()
