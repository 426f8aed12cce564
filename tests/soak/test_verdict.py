"""A soak fails by itself: of each broken promise it says what and when, and of what may happen it says nothing."""

from dataclasses import replace

import pytest

from tests.soak import books
from tests.soak.books import Ledger
from tests.soak.faults import Window
from tests.soak.plots import Band, Panel, svg
from tests.soak.product import TOP_UP
from tests.soak.traffic import Answer
from tests.soak.verdict import Soak, verdict
from tests.soak.watch import Look, Process

_MB = 1024**2
FINE = Answer("embeddings", "free", 1, "soak-1", 100.0, 100.5, 200, "", "whole", {"soak-1": 30}, set())
REFUSED = replace(FINE, status=502, retry_after="3", owes={})
KILLED = Window("Triton is killed", "", 90.0, 110.0, 120.0)
CALM = Soak(3600.0, [FINE], [], [], {"quartet_in_flight of frontend 1": 0.0}, [0, 0], [], [])
LEDGER = Ledger([("soak-1", 30, True)], 30, TOP_UP - 30, 0)


def _look(at: float, memory: float, files: float = 40, of: str = "frontend 2") -> Look:
    return Look(at, {of: Process(7, int(memory), int(files))}, {}, {}, 0.01)


def test_nothing_is_said_of_a_calm_soak() -> None:
    assert verdict(CALM) == []


@pytest.mark.parametrize(
    ("answer", "windows", "said"),
    [
        (REFUSED, [], "502 outside of a fault"),
        (REFUSED, [KILLED], ""),
        (replace(REFUSED, begun=200.0, ended=201.0), [KILLED], "502 outside of a fault"),
        (replace(REFUSED, retry_after=""), [KILLED], "502 without Retry-After"),
        (replace(FINE, status=500), [KILLED], "500"),
        (replace(FINE, fate="lost"), [KILLED], "the connection was lost"),
        (replace(FINE, fate="lost", kind="chat"), [KILLED], ""),
        (replace(FINE, fate="lost"), [replace(KILLED, name="a frontend is killed")], ""),
        (replace(FINE, fate="left", status=0), [], ""),
        (replace(FINE, fate="late"), [KILLED], "no answer at all"),
        (replace(FINE, kind="a key at its limit", status=429, retry_after="5"), [], ""),
        (replace(FINE, kind="unknown keys"), [], "200"),
    ],
)
def test_an_answer_breaks_a_promise_or_not(answer: Answer, windows: list[Window], said: str) -> None:
    found = verdict(replace(CALM, answers=[answer], windows=windows))
    assert [fault for fault in found if said not in fault or not said] == []
    assert bool(found) == bool(said)


@pytest.mark.parametrize(("a_minute", "said"), [(0.1 * _MB, 0), (2.0 * _MB, 1)])
def test_memory_that_grows_all_the_time_is_a_leak(a_minute: float, said: int) -> None:
    looks = [_look(60.0 * minute, 400 * _MB + a_minute * minute) for minute in range(60)]
    assert len(verdict(replace(CALM, looks=looks))) == said


@pytest.mark.parametrize(("at_first", "said"), [(300, 0), (450, 1)])
def test_a_model_that_keeps_something_for_each_length_may_fill_up(at_first: int, said: int) -> None:
    looks = [_look(60.0 * minute, (at_first + 2 * minute) * _MB, of="Triton: whisper_turbo") for minute in range(60)]
    assert len(verdict(replace(CALM, looks=looks))) == said


def test_memory_that_grew_at_the_beginning_is_none() -> None:
    looks = [_look(60.0 * minute, (300 if minute < 2 else 400) * _MB) for minute in range(60)]
    assert verdict(replace(CALM, looks=looks)) == []


def test_files_that_stay_open_are_a_leak() -> None:
    looks = [_look(60.0 * minute, 400 * _MB, 40 + minute) for minute in range(60)]
    (said,) = verdict(replace(CALM, looks=looks))
    assert "files more" in said


def test_what_takes_longer_and_longer_is_named_and_what_takes_the_whole_machine_longer_is_not() -> None:
    answers = [replace(FINE, begun=10.0 * n, ended=10.0 * n + (4 if n > 240 else 0.5)) for n in range(360)]
    looks = [_look(60.0 * minute, 400 * _MB) for minute in range(60)]
    (said,) = verdict(replace(CALM, answers=answers, looks=looks))
    assert said.startswith("embeddings took")
    slow = [replace(look, slowness=0.08 if look.at > 2400 else 0.01) for look in looks]
    assert verdict(replace(CALM, answers=answers, looks=slow)) == []


def test_a_502_is_no_broken_promise_while_others_have_the_processors() -> None:
    looks = [replace(_look(3.0 * n, 400 * _MB), slowness=0.3 if 90 < 3 * n < 110 else 0.01) for n in range(60)]
    assert verdict(replace(CALM, answers=[REFUSED], looks=looks)) == []
    assert verdict(replace(CALM, answers=[replace(REFUSED, begun=150.0, ended=151.0)], looks=looks))


def test_a_recovery_that_takes_too_long_is_named() -> None:
    (said,) = verdict(replace(CALM, windows=[replace(KILLED, over=300.0)]))
    assert "only after 190 s" in said


def test_what_is_left_in_hand_and_a_bad_end_are_named() -> None:
    left = {"quartet_in_flight of frontend 1": 2.0}
    assert len(verdict(replace(CALM, left=left, codes=[0, 1], died=["Triton is gone"]))) == 3


@pytest.mark.parametrize(
    ("ledger", "said"),
    [
        (LEDGER, ""),
        (Ledger([], 0, TOP_UP, 0), "not charged"),
        (replace(LEDGER, rows=[*LEDGER.rows, ("soak-2", 0, False)]), "nobody has"),
        (replace(LEDGER, rows=[("soak-1", 90, False)], by_day=90, balance=TOP_UP), "another amount"),
        (replace(LEDGER, balance=TOP_UP), "the balance"),
        (replace(LEDGER, by_day=31), "sums by day"),
        (replace(LEDGER, reserved=1), "reservations"),
    ],
)
def test_the_ledger_has_each_answer_once(ledger: Ledger, said: str) -> None:
    found = books.faults(ledger, [FINE])
    assert len(found) == bool(said)
    assert all(said in fault for fault in found)


def test_who_hung_up_may_be_charged_and_may_not() -> None:
    left = replace(FINE, id="soak-2", fate="left", owes={}, may_owe={"soak-2"})
    assert books.faults(LEDGER, [FINE, left]) == []
    charged = Ledger([*LEDGER.rows, ("soak-2", 5, False)], 35, TOP_UP - 30, 0)
    assert books.faults(charged, [FINE, left]) == []


def test_plots_have_a_line_of_each_name_and_a_band_of_each_fault() -> None:
    drawn = svg([Panel("<a>", {"b & c": [(0, 1), (10, 2)]})], [Band(2, 4, 0, "killed")], 10)
    assert "&lt;a&gt;" in drawn
    assert "b &amp; c" in drawn
    assert drawn.count("<title>killed</title>") == drawn.count("<polyline") == 1


def test_items_that_the_caller_of_a_broken_live_session_did_not_hear_of_may_be_charged() -> None:
    charged = replace(LEDGER, rows=[*LEDGER.rows, ("item_1", 5, False)], by_day=LEDGER.by_day + 5)
    broken = replace(FINE, kind="live sessions", id="soak-2", fate="lost", owes={}, may_owe=set())
    assert books.faults(charged, [FINE, broken]) == []
    assert books.faults(charged, [FINE, replace(broken, fate="whole")]) != []
    assert books.faults(charged, [FINE, replace(broken, kind="chat")]) != []
