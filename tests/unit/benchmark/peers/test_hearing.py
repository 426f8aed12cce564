"""Sides that hear recordings: what they are asked and how their answers are read."""

import json
import sys
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from scripts.benchmark.common.recorded import Recording
from scripts.benchmark.common.target import Target
from scripts.benchmark.common.word_errors import Heard
from scripts.benchmark.peers.hearing import Hearers, ProductHears, WorkerHears
from scripts.benchmark.peers.sides import WORKERS, Bench, PeerError, worker

SAID = [Recording(file, "it", 1.0, ("ciao",), (0.0,)) for file in (b"first", b"second")]


async def _transcribe(request: web.Request) -> web.Response:
    form = await request.post()
    file = form["file"]
    assert isinstance(file, web.FileField)
    assert (form["model"], form["language"], form["response_format"]) == ("stt-1", "it", "verbose_json")
    assert form["timestamp_granularities[]"] == "word"
    word = {"word": file.file.read().decode(), "start": 0.5, "end": 1.0}
    return web.json_response({"text": word["word"], "words": [word]})


async def test_the_product_is_asked_for_words_and_answers_stay_with_their_recordings() -> None:
    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", _transcribe)
    async with TestServer(app) as server:
        side = ProductHears(Target(str(server.make_url("/v1"))), "stt-1", 8)
        seconds, heard = await side.send(SAID)
    assert seconds > 0
    assert heard == [Heard("first", [("first", 0.5, 1.0)]), Heard("second", [("second", 0.5, 1.0)])]


async def test_a_product_that_refuses_is_no_side() -> None:
    async with TestServer(web.Application()) as server:
        side = ProductHears(Target(str(server.make_url("/v1"))), "stt-1", 1)
        with pytest.raises(PeerError, match="404"):
            await side.send(SAID)


def test_a_worker_hears_files_and_answers_in_json(tmp_path: Path) -> None:
    answer = json.dumps([{"text": "a", "words": [["a", 0.0, 1.0]]}, {"text": "b"}])
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(WORKERS)!r})\nfrom line_server import serve\n"
        f"serve(lambda files: {answer!r} if open(files[1]).read() == 'second' else '')\n",
        encoding="utf-8",
    )
    with worker(Path(sys.executable), tmp_path / "log", str(script)) as process:
        _, heard = WorkerHears(process, tmp_path / "files").hear(SAID)
    assert heard == [Heard("a", [["a", 0.0, 1.0]]), Heard("b")]  # type: ignore[list-item]


def test_several_windows_at_once_are_measured_for_one_caller_alone(tmp_path: Path) -> None:
    one, many = (Hearers(Bench(tmp_path), "en", callers).sides() for callers in (1, 8))
    assert {name for name in one if "at once" in name} == one.keys() - many.keys()
    assert sum(name.startswith("Quartet") for name in many) == 2
