"""How much speech Whisper transcribes: python -m lab.probes.whisper_windows HOST:GRPC_PORT [--callers 1,16,64,128]

Callers send windows of people's speech to Whisper in Triton itself, one after another. With ``--url`` and ``--key`` of
a frontend before this Triton, they then send the same windows as files to it. Prints for each number of callers how
many seconds are transcribed per second, how long a call takes, how many windows Triton computes together, and how many
words are wrong; with ``--process``, how long the frontend's processes work for a call and how busy they are.
"""

import argparse
import asyncio
import io
import itertools
import os
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import soundfile
import tritonclient.grpc.aio as grpc_client
from numpy.typing import NDArray

from client.recordings import SAMPLE_RATE, recordings, words
from lab.peers.word_errors import compared
from scripts.benchmark.common.output import head, line

_HEAD = (
    "callers",
    "asked",
    "times real time",
    "p50 s",
    "p95 s",
    "windows an execution",
    "words wrong",
    "frontend ms a call",
    "frontend's processors busy",
    "busiest process",
)
_PAUSE = np.zeros(SAMPLE_RATE // 4, np.float32)
_OUTPUTS = [
    grpc_client.InferRequestedOutput(name)
    for name in ("language", "avg_logprob", "no_speech_prob", "word_start", "word_end", "word_text", "word_probability")
]
# Fields of /proc/PID/stat after the name: the parent, and ticks of the process and of its children that have ended.
_PARENT, _OWN_TICKS, _ENDED_TICKS = 1, slice(11, 13), slice(13, 15)


@dataclass(frozen=True)
class _Spoken:
    """A window of one language, mono [samples] at 16 kHz."""

    language: str
    text: str
    audio: NDArray[np.float32]

    def inputs(self) -> list[Any]:
        arrays: dict[str, NDArray[Any]] = {
            "audio": self.audio[None],
            "language": np.array([[self.language.encode()]], np.object_),
            "prompt": np.array([[b""]], np.object_),
            "temperature": np.zeros((1, 1), np.float32),
        }
        found = []
        for name, array in arrays.items():
            found.append(grpc_client.InferInput(name, array.shape, "FP32" if array.dtype == np.float32 else "BYTES"))
            found[-1].set_data_from_numpy(array)
        return found

    def file(self, kind: str) -> bytes:
        file = io.BytesIO()
        soundfile.write(file, self.audio, SAMPLE_RATE, format=kind.upper())
        return file.getvalue()


# Returns what was heard in the window of this place.
_Ask = Callable[[int], Awaitable[str]]


def _windows(longest: float) -> list[_Spoken]:
    """The recordings of each language, joined up to ``longest`` seconds."""
    found: list[_Spoken] = []
    for each in recordings():
        audio, last = np.concatenate([each.samples(), _PAUSE]), found[-1] if found else None
        if last is None or last.language != each.language or len(last.audio) + len(audio) > longest * SAMPLE_RATE:
            found.append(_Spoken(each.language, each.text, audio))
        else:
            found[-1] = _Spoken(each.language, f"{last.text} {each.text}", np.concatenate([last.audio, audio]))
    return found


@asynccontextmanager
async def _triton(spoken: Sequence[_Spoken], client: Any, model: str) -> AsyncIterator[_Ask]:
    async def ask(place: int) -> str:
        answer = await client.infer(model, spoken[place].inputs(), outputs=_OUTPUTS)
        return b"".join(answer.as_numpy("word_text").reshape(-1)).decode()

    yield ask


@asynccontextmanager
async def _frontend(spoken: Sequence[_Spoken], url: str, key: str, model: str, kind: str) -> AsyncIterator[_Ask]:
    files = [window.file(kind) for window in spoken]
    connector, headers = aiohttp.TCPConnector(limit=0), {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers, raise_for_status=True) as session:

        async def ask(place: int) -> str:
            form = aiohttp.FormData({"model": model, "language": spoken[place].language, "response_format": "json"})
            form.add_field("file", files[place], filename=f"speech.{kind}")
            async with session.post(f"{url.rstrip('/')}/audio/transcriptions", data=form) as response:
                return str((await response.json())["text"])

        yield ask


async def _executions(client: Any, model: str) -> tuple[int, int]:
    """Windows and executions so far."""
    (stats,) = (await client.get_inference_statistics(model)).model_stats
    return stats.inference_count, stats.execution_count


def _processor_seconds(first: int) -> Mapping[int, float]:
    """Processor seconds of a process and of all below it, by their ids; those of processes that ended are under 0."""
    stats: dict[int, list[bytes]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        # Processes may end meanwhile.
        with suppress(OSError):
            # The name of a process may have spaces.
            stats[int(path.parent.name)] = path.read_bytes().rpartition(b")")[2].split()
    family = {first}
    while more := {pid for pid, fields in stats.items() if int(fields[_PARENT]) in family} - family:
        family |= more
    tick, found = os.sysconf("SC_CLK_TCK"), {0: 0.0}
    for pid in family & stats.keys():
        found[pid] = sum(map(int, stats[pid][_OWN_TICKS])) / tick
        found[0] += sum(map(int, stats[pid][_ENDED_TICKS])) / tick
    return found


@dataclass(frozen=True)
class _Load:
    """How many callers ask, for how many seconds after ``warm`` ones; ``process`` is the frontend's first, or 0."""

    callers: int
    seconds: float
    warm: float
    process: int


async def _measure(
    spoken: Sequence[_Spoken],
    client: Any,
    model: str,
    asked: str,
    asking: AbstractAsyncContextManager[_Ask],
    load: _Load,
) -> Sequence[str]:
    loop, places, answers = asyncio.get_running_loop(), itertools.cycle(range(len(spoken))), []
    begin = loop.time() + load.warm
    end = begin + load.seconds
    async with asking as ask:

        async def caller() -> None:
            while (sent := loop.time()) < end:
                place = next(places)
                heard = await ask(place)
                if begin <= loop.time() <= end:
                    answers.append((spoken[place], heard, loop.time() - sent))

        tasks = [asyncio.create_task(caller()) for _ in range(load.callers)]
        await asyncio.sleep(load.warm)
        before, worked_before = await _executions(client, model), _processor_seconds(load.process)
        await asyncio.sleep(load.seconds)
        after, worked_after = await _executions(client, model), _processor_seconds(load.process)
        await asyncio.gather(*tasks)
    if len(answers) < 2:
        return [str(load.callers), asked, "fewer than two calls were answered: give more --seconds"]
    took = [each for *_, each in answers]
    said, wrong = 0, 0
    for window, heard, _ in answers:
        said += len(words(window.text))
        wrong += compared(words(window.text), words(heard))
    transcribed = sum(len(window.audio) for window, *_ in answers) / SAMPLE_RATE
    row = [
        str(load.callers),
        asked,
        f"{transcribed / load.seconds:.0f}",
        f"{statistics.median(took):.2f}",
        f"{statistics.quantiles(took, n=20)[-1]:.2f}",
        f"{(after[0] - before[0]) / max(1, after[1] - before[1]):.1f}",
        f"{100 * wrong / said:.1f} %",
    ]
    if not load.process:
        return row
    worked = {pid: seconds - worked_before.get(pid, 0.0) for pid, seconds in worked_after.items()}
    # A process that ended is counted under 0 with all that it did.
    total = sum(worked_after.values()) - sum(worked_before.values())
    busiest = max(seconds for pid, seconds in worked.items() if pid)
    busy = (f"{each / load.seconds:.2f}" for each in (total, busiest))
    return [*row, f"{1000 * total / len(answers):.1f}", *busy]


async def _run(spoken: Sequence[_Spoken], options: argparse.Namespace) -> None:
    client = grpc_client.InferenceServerClient(options.address)
    for callers in map(int, options.callers.split(",")):
        load = _Load(callers, options.seconds, options.warm, 0)
        if not options.frontend_only:
            asking = _triton(spoken, client, options.model)
            print(line(await _measure(spoken, client, options.model, "Triton", asking, load)), flush=True)
        if options.url:
            load = replace(load, process=options.process)
            asking = _frontend(spoken, options.url, options.key, options.api_model, options.format)
            print(line(await _measure(spoken, client, options.model, "frontend", asking, load)), flush=True)
    await client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Speech that Whisper in Triton transcribes.")
    parser.add_argument("address", help="of Triton's gRPC, such as 127.0.0.1:8001")
    parser.add_argument("--model", default="whisper_turbo", help="Triton's name of the model")
    parser.add_argument("--callers", default="1,16,64,128")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm", type=float, default=3, help="seconds that are not counted")
    parser.add_argument("--longest", type=float, default=29, help="seconds to which recordings are joined")
    parser.add_argument("--url", default="", help="a frontend's base address with /v1, which is asked too")
    parser.add_argument("--key", default=os.environ.get("QUARTET_API_KEY", ""), help="the API key for --url")
    parser.add_argument("--api-model", default="stt-1", help="the frontend's name of the model")
    parser.add_argument("--format", choices=("wav", "mp3"), default="wav", help="of the files for the frontend")
    parser.add_argument("--process", type=int, default=0, help="id of the frontend's first process on this machine")
    parser.add_argument("--frontend-only", action="store_true", help="do not ask Triton itself")
    options = parser.parse_args()
    windows = _windows(options.longest)
    print(head(_HEAD if options.process else _HEAD[:-3]), flush=True)
    asyncio.run(_run(windows, options))


if __name__ == "__main__":
    main()
