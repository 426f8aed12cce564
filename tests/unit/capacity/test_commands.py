"""What is told on the command line, and what is printed."""

import argparse
import sys

import pytest

from scripts.capacity.__main__ import main
from scripts.capacity.options import add_choices, add_traffic, choices_of, traffic_of


def parsed(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_traffic(parser)
    add_choices(parser)
    return parser.parse_args(options)


def test_a_plan_says_what_is_needed_and_what_it_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "capacity plan --users 1e6 --core-hour 0.1 --currency EUR"
    monkeypatch.setattr(sys, "argv", command.split())
    main()
    told = capsys.readouterr().out
    assert "1,000,000 users, 69.4 calls a second at the peak" in told
    assert "| whisper |" in told
    assert "EUR an hour" in told


def test_own_numbers_take_the_place_of_what_is_assumed() -> None:
    line = "--users 5e4 --active 0.3 --calls 12 --peak 1 --tiers 1,1,2 --sizes transcriptions=45"
    traffic = traffic_of(parsed(*line.split(), "--shares", "transcriptions=0.8,embeddings=0.2"))
    assert traffic.peak_rate == pytest.approx(5e4 * 0.3 * 12 / 86_400)
    assert {name: (share.part, share.size) for name, share in traffic.shares.items()} == {
        "transcriptions": (0.8, 45.0),
        "embeddings": (0.2, 200.0),
    }
    assert traffic.tiers == (0.25, 0.25, 0.5)


def test_a_rate_of_a_gpu_is_that_of_the_caller_alone() -> None:
    assert choices_of(parsed()).gpu == {}
    assert choices_of(parsed("--gpu", "transcriptions=500")).gpu == {"transcriptions": 500.0}


@pytest.mark.parametrize("wrong", ["--users 0", "--shares songs=1", "--tiers 1,2", "--gpu transcriptions=x"])
def test_what_cannot_be_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(*wrong.split())
    assert "error: argument" in capsys.readouterr().err
