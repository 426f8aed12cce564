"""What is told on the command line, and what is printed."""

import json

import pytest

from scripts.capacity import commands, compare
from scripts.capacity.fits import FOLDER, Fits
from scripts.capacity.options import choices_of, parser, traffic_of


def said(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    given = parser().parse_args(line.split())
    commands.COMMANDS[given.command](given)
    return capsys.readouterr().out


def test_every_command_has_what_does_it() -> None:
    chosen = next(action for action in parser()._actions if action.dest == "command")
    assert chosen.choices is not None
    assert set(chosen.choices) == commands.COMMANDS.keys()


def test_a_plan_says_what_is_needed_and_what_it_costs(capsys: pytest.CaptureFixture[str]) -> None:
    told = said("plan --users 1e6 --core-hour 0.1 --currency EUR", capsys)
    assert "1,000,000 users, 69.4 calls a second at the peak" in told
    assert "| whisper |" in told
    assert "EUR an hour" in told


def test_own_numbers_take_the_place_of_what_is_assumed() -> None:
    line = (
        "plan --users 5e4 --active 0.3 --calls 12 --shares transcriptions=0.8,embeddings=0.2 --sizes transcriptions=45"
    )
    traffic = traffic_of(parser().parse_args(f"{line} --sizes transcriptions=45 --tiers 1,1,2".split()))
    assert traffic.mean_rate == pytest.approx(5e4 * 0.3 * 12 / 86_400)
    assert {name: (share.part, share.size) for name, share in traffic.shares.items()} == {
        "transcriptions": (0.8, 45.0),
        "embeddings": (0.2, 200.0),
    }
    assert traffic.tiers == (0.25, 0.25, 0.5)


def test_a_rate_of_a_gpu_is_that_of_the_caller_alone() -> None:
    assert choices_of(parser().parse_args(["plan"])).gpu == {}
    assert choices_of(parser().parse_args(["plan", "--gpu", "transcriptions=500"])).gpu == {"transcriptions": 500.0}


@pytest.mark.parametrize("wrong", ["--users 0", "--shares songs=1", "--tiers 1,2", "--gpu transcriptions=x"])
def test_what_cannot_be_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["plan", *wrong.split()])
    assert "error: argument" in capsys.readouterr().err


def test_each_load_of_the_bench_is_set_beside_its_simulation() -> None:
    bench = json.loads((FOLDER / "demo-bench.json").read_text(encoding="utf-8"))
    bench["results"] = [result for result in bench["results"] if result["operation"] == "speech"]
    found = compare.pairs(Fits.load(FOLDER / "demo.json"), bench)
    assert [pair.shape for pair in found] == ["closed"] * 3 + ["open"] * 3 + ["burst"] * 3
    assert next(pair.ratio for pair in found if pair.shape == "open") == pytest.approx(1, abs=0.05)
