"""The options of the command, and what it prints."""

import argparse
import sys

import pytest

from scripts.capacity.__main__ import add_arguments, choices_of, main, traffic_of


def _parsed(options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(options.split())


def test_a_plan_says_what_is_needed_and_what_it_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["capacity", "plan", "--users", "1e6", "--core-hour", "0.1", "--currency", "EUR"])
    main()
    printed = capsys.readouterr().out
    assert "1,000,000 users, 69.4 calls a second at the peak" in printed
    assert "| whisper |" in printed
    assert "EUR an hour" in printed


def test_options_replace_the_assumptions() -> None:
    options = "--users 5e4 --active 0.3 --calls 12 --peak 1 --sizes transcriptions=45"
    traffic = traffic_of(_parsed(f"{options} --shares transcriptions=0.8,embeddings=0.2"))
    assert traffic.peak_rate == pytest.approx(5e4 * 0.3 * 12 / 86_400)
    assert {name: (share.part, share.size) for name, share in traffic.shares.items()} == {
        "transcriptions": (0.8, 45.0),
        "embeddings": (0.2, 200.0),
    }


def test_no_rate_of_a_gpu_is_assumed() -> None:
    assert choices_of(_parsed("")).gpu == {}
    assert choices_of(_parsed("--gpu transcriptions=500")).gpu == {"transcriptions": 500.0}


@pytest.mark.parametrize("wrong", ["--users 0", "--shares songs=1", "--busy 0", "--gpu transcriptions=x"])
def test_an_impossible_value_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parsed(wrong)
    assert "error: argument" in capsys.readouterr().err
