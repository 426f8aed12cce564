"""How the work is shared out over processors and memory."""

import pytest

from scripts.export_models import plan
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.plan import Lane, Task

GIB = 1 << 30
PRINTS = {model: model for model in plan.MODELS}
DEMO = plan.works(PRINTS, dict.fromkeys(plan.checkpoints_of(plan.MODELS), 50000000))
REAL = plan.works(PRINTS, {each: each.size for each in plan.checkpoints_of(plan.MODELS)})


def _shape(lanes: list[Lane]) -> tuple[int, int]:
    return len(lanes), lanes[0].threads


@pytest.mark.parametrize(
    ("processors", "memory", "shape"),
    [
        (1, 64, (1, 1)),
        (2, 64, (1, 2)),
        (4, 64, (2, 2)),
        (8, 64, (4, 2)),
        (32, 64, (5, 6)),
        (32, 24, (3, 10)),
        (32, 20, (2, 16)),
        (32, 4, (1, 32)),
    ],
)
def test_large_models_get_two_threads_and_room_for_all_at_once(
    processors: int, memory: int, shape: tuple[int, int]
) -> None:
    assert _shape(plan.share_out(REAL, processors, memory * GIB)) == shape


@pytest.mark.parametrize(("processors", "shape"), [(1, (1, 1)), (2, (2, 1)), (4, (4, 1)), (64, (5, 12))])
def test_small_models_run_side_by_side(processors: int, shape: tuple[int, int]) -> None:
    assert _shape(plan.share_out(DEMO, processors, 64 * GIB)) == shape


@pytest.mark.parametrize("processors", [1, 2, 5, 64])
def test_every_model_is_exported_once(processors: int) -> None:
    lanes = plan.share_out(REAL, processors, 64 * GIB)
    assert sorted(model for lane in lanes for model in lane.models) == sorted(plan.MODELS)


def test_voices_stay_in_one_process() -> None:
    lanes = plan.share_out(REAL, 64, 64 * GIB)
    assert sum(any(model.startswith("piper_") for model in lane.models) for lane in lanes) == 1


def test_the_longest_work_goes_to_whoever_is_free_first() -> None:
    todo = [Task((name,), seconds, 5e9) for name, seconds in (("a", 5), ("b", 4), ("c", 3), ("d", 3))]
    assert [lane.models for lane in plan.share_out(todo, 4, 64 * GIB)] == [("a", "d"), ("b", "c")]


def test_a_process_begins_with_what_takes_least_memory() -> None:
    todo = [Task(("large",), 9, 9e9), Task(("small",), 1, 1e9), Task(("middle",), 5, 5e9)]
    assert [lane.models for lane in plan.share_out(todo, 2, 64 * GIB)] == [("small", "middle", "large")]


def test_text_models_are_planned_within_their_limit() -> None:
    limited = [work for work in REAL if plan.most_memory(work.models[0])]
    assert [work.models for work in limited] == [("m3_embedder",), ("m3_reranker",)]
    assert all(work.memory <= plan.TEXT_MEMORY == plan.most_memory(work.models[0]) for work in limited)


def test_the_time_of_all_is_that_of_the_longest_process() -> None:
    todo = [Task(("a",), 60, 5e9), Task(("b",), 20, 5e9), Task(("c",), 20, 5e9)]
    assert plan.seconds_in_all(todo, [Lane(("a",), 2), Lane(("b", "c"), 2)]) == 30


def test_the_export_makes_every_model_of_the_catalogue_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    plan.check_catalogue()
    monkeypatch.setattr(plan, "MODELS", (*plan.MODELS, "piper_alba"))
    with pytest.raises(SourceError, match="frontend/catalogue and scripts/export_models differ: piper_alba"):
        plan.check_catalogue()


def test_whispers_of_one_fingerprint_stay_in_one_process_and_are_one_work() -> None:
    prints = {"whisper_turbo": "base", "whisper_large_v3": "base"}
    (work,) = plan.works(prints, dict.fromkeys(plan.checkpoints_of(list(prints)), 50000000))
    assert work.models == ("whisper_turbo", "whisper_large_v3")
