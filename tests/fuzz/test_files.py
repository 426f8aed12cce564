"""Damaged files in the processes that decode uploads."""

import asyncio

import pytest

from tests.deaths import die
from tests.fuzz import decoding, sandbox
from tests.fuzz.containers import seeds
from tests.fuzz.decoding import file_of, outcomes
from tests.fuzz.sandbox import decode_all


def test_damaged_files_come_to_sound_to_silence_or_to_a_refusal() -> None:
    report = asyncio.run(decode_all(range(600)))
    assert report.found == []
    assert {"heard", "silent", "DamagedAudioError", "UnknownFormatError"} <= report.statuses.keys()


# Holes in sound of more than eight channels.
@pytest.mark.parametrize("seed", [501001399])
def test_a_file_that_once_ended_the_process_is_refused(seed: int) -> None:
    report = asyncio.run(decode_all([seed]))
    assert (report.found, dict(report.statuses)) == ([], {"BeyondLimitsError": 1})


def test_a_file_is_the_same_for_a_seed() -> None:
    assert file_of(7) == file_of(7) != file_of(8)


@pytest.mark.parametrize("kind", seeds())
def test_a_whole_file_is_decoded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "file_of", lambda seed: seeds()[kind])
    ((outcome, _),) = outcomes([0])
    assert outcome in ("heard", "silent")


@pytest.mark.parametrize("error", [KeyError("a"), MemoryError(), AssertionError()])
def test_a_fault_would_be_found(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(decoding, "prepare", fail)
    ((outcome, _),) = outcomes([0])
    assert outcome.startswith(f"fault {type(error).__name__}")


def test_a_process_that_dies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "outcomes", die)
    report = asyncio.run(decode_all([1, 2]))
    assert [fault.split(":")[0] for _, fault in report.found] == ["fault BadGateway"] * 2
