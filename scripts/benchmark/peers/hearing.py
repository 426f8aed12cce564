"""Who hears recordings of people: the product over HTTP, and peers in process, all with the same real Whisper base."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from frontend.config.reading import PREFIX
from scripts.benchmark.common import load
from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.recorded import Recording
from scripts.benchmark.common.summary import span
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.common.word_errors import Heard
from scripts.benchmark.lookalikes.repository import COMPUTE_TYPE
from scripts.benchmark.peers.real import RealModels
from scripts.benchmark.peers.sides import Bench, PeerError, WorkerSide, worker

PRODUCT = "Quartet"
_THREADS = 2
# Windows of one recording under way at once: one by one, and so many as fill the models.
_WINDOWS = (1, 8)
_TIMES = {"text": "", "words": ", word times"}
_MODELS = {"stt-1": "beam 2", "stt-1-hd": "beam 5"}


class Hearing(Protocol):
    """A side that hears recordings, in the seconds it answers with what it heard."""

    def hear(self, recordings: Sequence[Recording]) -> tuple[float, list[Heard]]: ...


Opener = Callable[[ExitStack], Hearing]


@dataclass(frozen=True)
class ProductHears:
    """``callers`` who send the recordings over HTTP and ask for words with their times."""

    target: Target
    model: str
    callers: int

    def hear(self, recordings: Sequence[Recording]) -> tuple[float, list[Heard]]:
        return asyncio.run(self.send(recordings))

    async def send(self, recordings: Sequence[Recording]) -> tuple[float, list[Heard]]:
        """The same on a loop that runs already."""
        calls = [self._call(recording) for recording in recordings]
        answers: dict[int, bytes] = {}

        def keep(call: Call, content: bytes) -> None:
            answers[id(call)] = content

        async with load.connected(self.target.address, self.target.key, keep) as client:
            samples = await load.each_once(client, calls, self.callers)
        if failed := {sample.status for sample in samples} - {200}:
            raise PeerError(f"{self.target.address} answered {failed}")
        return span(samples), [_answered(json.loads(answers[id(call)])) for call in calls]

    def _call(self, recording: Recording) -> Call:
        words = ("timestamp_granularities[]", "word")
        fields = (("model", self.model), ("language", recording.language), ("response_format", "verbose_json"), words)
        return Call("/audio/transcriptions", recording.seconds, file=recording.file, fields=fields)


@dataclass(frozen=True)
class WorkerHears:
    """A worker of a peer, which hears one file after the other; files and answers lie in ``folder``."""

    process: subprocess.Popen[str]
    folder: Path

    def hear(self, recordings: Sequence[Recording]) -> tuple[float, list[Heard]]:
        files = [str(recording.write(self.folder, f"{place}")) for place, recording in enumerate(recordings)]
        seconds, answer = WorkerSide(self.process, files).answered(self.folder / "answer.npy")
        return seconds, [Heard(each["text"], each.get("words", ())) for each in json.loads(str(answer))]


def _answered(said: dict[str, Any]) -> Heard:
    """Of our API's answer."""
    return Heard(said["text"], [(word["word"], word["start"], word["end"]) for word in said["words"]])


class Hearers:
    """Every side by its name, in a ``language``, with so many ``callers`` where a side has callers."""

    def __init__(self, bench: Bench, language: str, callers: int) -> None:
        self._bench, self._language, self._callers = bench, language, callers
        self._real = RealModels(bench.folder)
        self._products: dict[int, Target] = {}

    def sides(self) -> dict[str, Opener]:
        """The product's, faster-whisper's, and those of engines."""
        # With one window a file there is nothing to send together.
        windows = _WINDOWS if self._callers == 1 else _WINDOWS[:1]
        found: dict[str, Opener] = {}
        for many in windows:
            for model, search in _MODELS.items():
                together = f", {many} windows at once" if many > 1 else ""
                found[f"{PRODUCT} {model}, {search}{_TIMES['words']}{together}"] = self._product(model, many)
        for way in ("sequential", "batched"):
            for beam in (1, 5):
                for kind in ("text", "words"):
                    found[_name(way, beam, kind)] = self._faster_whisper(way, beam, kind)
        engines = self._bench.engines
        cpp, genai = self._real.whisper_for_cpp, self._real.whisper
        found["whisper.cpp, q8_0, greedy"] = self._worker(engines, "whisper_cpp.py", cpp, "several")
        for kind in ("text", "words"):
            named = f"OpenVINO GenAI, int8, greedy{_TIMES[kind]}"
            found[named] = self._worker(engines, "whisper_genai.py", genai, kind)
        return found

    def _product(self, model: str, windows: int) -> Opener:
        def start(stack: ExitStack) -> Hearing:
            if windows not in self._products:
                variables = {f"{PREFIX}WINDOWS_AT_ONCE": str(windows)}
                product = own_product(self._real.repository, variables=variables)
                self._products[windows] = stack.enter_context(product)
            return ProductHears(self._products[windows], model, self._callers)

        return start

    def _faster_whisper(self, *options: object) -> Opener:
        model, script = self._real.whisper_for_faster_whisper, "faster_whisper_hears.py"
        return self._worker(self._bench.audio_peers, script, model, *options, before=(COMPUTE_TYPE,))

    def _worker(
        self, home: Path, script: str, model: Callable[[], Path], *options: object, before: tuple[object, ...] = ()
    ) -> Opener:
        def start(stack: ExitStack) -> Hearing:
            arguments = (*before, _THREADS, self._language, *options)
            folder = self._bench.folder / "heard" / "-".join(map(str, (Path(script).stem, *arguments)))
            folder.mkdir(parents=True, exist_ok=True)
            process = worker(home / "python", folder / "log", script, model(), *arguments)
            return WorkerHears(stack.enter_context(process), folder)

        return start


def _name(way: str, beam: int, kind: str) -> str:
    search = "greedy" if beam == 1 else f"beam {beam}"
    return f"faster-whisper, {way}, {search}{_TIMES[kind]}"
