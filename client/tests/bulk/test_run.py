"""Runs over an API: every item has one outcome, whatever happens meanwhile."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from client.api import CommandError
from client.bulk import work
from client.bulk.job import lock_output
from client.bulk.run import run
from client.tests.bulk.api import KEY, Api, Asked, Refusal, serving, until
from client.tests.bulk.conftest import job, lines, write_texts
from client.tests.conftest import ROOT

_TEXTS = ["word " * (1 + number % 7) for number in range(100)]


def _refuse_long(asked: Asked) -> Refusal | None:
    """Of the texts, those of seven words."""
    return Refusal(400, "bad", param="input") if any(len(text) == 35 for text in asked.body["input"]) else None


def _refuse_x(asked: Asked) -> Refusal | None:
    return Refusal(502, "no answer") if "x" in asked.body["input"] else None


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "in.jsonl", _TEXTS)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_every_text_has_its_vector(api: Api, texts: Path, output: Path) -> None:
    assert run(job(api, texts, output))
    wanted = [(number, f"id{number}", [float(len(text))] * 4) for number, text in enumerate(_TEXTS)]
    assert [(line["item"], line["id"], line["embedding"]) for line in lines(output)] == wanted
    assert max(len(asked.body["input"]) for asked in api.asked) == 32


def test_a_second_run_sends_nothing(api: Api, texts: Path, output: Path) -> None:
    run(job(api, texts, output))
    before, asked = output.read_bytes(), len(api.asked)
    assert run(job(api, texts, output))
    assert (output.read_bytes(), len(api.asked)) == (before, asked)


def test_a_torn_last_line_is_done_again(api: Api, texts: Path, output: Path) -> None:
    run(job(api, texts, output))
    whole = lines(output)
    os.truncate(output, output.stat().st_size - 10)
    assert run(job(api, texts, output))
    assert lines(output) == whole


def test_a_bad_item_fails_alone(api: Api, texts: Path, output: Path) -> None:
    content = texts.read_text().splitlines(keepends=True)
    texts.write_text("".join([*content[:3], "no json\n", *content[4:]]))
    api.refuse = _refuse_long
    wanted = job(api, texts, output)
    assert not run(wanted)
    failed = {number for number, text in enumerate(_TEXTS) if len(text) == 35} | {3}
    assert {line["item"] for line in lines(wanted.failures)} == failed
    assert {line["item"] for line in lines(output)} == set(range(100)) - failed
    assert lines(wanted.failures)[0] == {"item": 3, "id": "3", "error": "line 4 is not JSON"}
    asked = len(api.asked)
    assert not run(wanted)
    assert len(api.asked) == asked


def test_failed_items_are_retried_on_request(api: Api, texts: Path, output: Path) -> None:
    api.refuse = _refuse_long
    run(job(api, texts, output))
    api.refuse = lambda asked: None
    assert run(job(api, texts, output, again=True))
    assert [line["item"] for line in lines(output)] == list(range(100))
    assert not job(api, texts, output).failures.exists()


def test_a_request_that_is_too_large_is_split(api: Api, texts: Path, output: Path) -> None:
    api.refuse = lambda asked: Refusal(413, "too large") if len(asked.body["input"]) > 5 else None
    assert run(job(api, texts, output))


def test_a_rate_limit_is_waited_for(api: Api, texts: Path, output: Path) -> None:
    refusals = iter([Refusal(429, "rate limit exceeded", retry_after=1)])
    api.refuse = lambda asked: next(refusals, None)
    assert run(job(api, texts, output, at_once=1))
    assert [asked.name for asked in api.asked[:2]] == [api.asked[0].name] * 2


def test_a_server_that_is_away_is_reported_once_and_waited_for(
    api: Api, texts: Path, output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(work, "_QUIET_SECONDS", 0.0)
    refusals = iter([Refusal(502, "unreachable", retry_after=0)] * 7 + [Refusal(500, "")] * 2)
    api.refuse = lambda asked: next(refusals, None)
    assert run(job(api, texts, output))
    assert capsys.readouterr().err.count("unreachable; it is tried again for 5 s (--patience)") == 1


def test_an_error_that_only_one_item_gets_fails_that_item(api: Api, texts: Path, output: Path) -> None:
    api.refuse = _refuse_x
    write_texts(texts, ["x", *["word"] * 20])
    assert not run(job(api, texts, output))
    assert [line["item"] for line in lines(job(api, texts, output).failures)] == [0]


def test_a_server_that_does_not_come_back_ends_the_run_with_a_sentence(texts: Path, output: Path) -> None:
    with serving() as gone:
        pass
    with pytest.raises(CommandError, match="nothing was answered for"):
        run(job(gone, texts, output, patience=0.1))
    with serving(gone.port) as back:
        assert run(job(back, texts, output))


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (Refusal(429, "the balance is spent", "insufficient_quota"), "the balance is spent"),
        (Refusal(400, "unknown model: m", "invalid_request_error", "model"), "--model: unknown model: m"),
        (Refusal(404, "there is no such path", "invalid_request_error"), "there is no such path"),
    ],
)
def test_an_error_of_every_request_ends_the_run(
    api: Api, texts: Path, output: Path, refusal: Refusal, sentence: str
) -> None:
    api.refuse = lambda asked: refusal
    with pytest.raises(CommandError, match=sentence):
        run(job(api, texts, output, options={"model": "m"}, at_once=1))


def test_an_output_has_one_run_at_a_time(api: Api, texts: Path, output: Path) -> None:
    with lock_output(job(api, texts, output), "mark"), pytest.raises(CommandError, match="another run writes to"):
        run(job(api, texts, output))


@pytest.mark.parametrize(
    ("more", "options", "sentence"),
    [(["more"], {}, "has changed since"), ([], {"model": "m"}, "was begun with another options")],
    ids=["another input", "other options"],
)
def test_an_output_of_another_job_is_not_continued(
    api: Api, texts: Path, output: Path, more: list[str], options: dict[str, str], sentence: str
) -> None:
    run(job(api, texts, output))
    if more:
        write_texts(texts, [*_TEXTS, *more])
    with pytest.raises(CommandError, match=sentence):
        run(job(api, texts, output, options=options))


def test_an_input_that_changes_during_the_run_is_an_error(api: Api, texts: Path, output: Path) -> None:
    def change(asked: Asked) -> None:
        os.utime(texts, ns=(1, 1))

    api.refuse = change
    with pytest.raises(CommandError, match="has changed while it was read"):
        run(job(api, texts, output))


def test_a_file_of_no_run_is_not_changed(api: Api, texts: Path, output: Path) -> None:
    output.write_text("mine\n")
    with pytest.raises(CommandError, match="belongs to no run"):
        run(job(api, texts, output))
    assert output.read_text() == "mine\n"


def _start(api: Api, texts: Path, output: Path) -> "subprocess.Popen[bytes]":
    # A shell has whoever it starts in the background, and all below them, ignore an interrupt.
    quartet = ["env", "--default-signal=INT", sys.executable, "-m", "client"]
    command = [*quartet, "bulk", "embed", str(texts), "--output", str(output)]
    environ = {**os.environ, "QUARTET_URL": api.url, "QUARTET_API_KEY": KEY}
    return subprocess.Popen([*command, "--concurrency", "2"], cwd=ROOT, env=environ, stdout=subprocess.PIPE)


def test_a_command_that_is_killed_or_interrupted_goes_on_where_it_was(api: Api, texts: Path, output: Path) -> None:
    write_texts(texts, ["word"] * 3200)
    killed = _start(api, texts, output)
    asyncio.run(until(lambda: len(api.asked) > 20))
    killed.kill()
    killed.communicate()
    assert 0 < output.read_bytes().count(b"\n") < 3200
    interrupted, asked = _start(api, texts, output), len(api.asked)
    asyncio.run(until(lambda: len(api.asked) > asked + 20))
    interrupted.send_signal(signal.SIGINT)
    assert b"the same command goes on" in interrupted.communicate(timeout=60)[0]
    assert interrupted.returncode == 1
    again = _start(api, texts, output)
    assert b"3,200 items" in again.communicate(timeout=60)[0]
    assert again.returncode == 0
    assert [line["item"] for line in lines(output)] == list(range(3200))
