"""How many windows a Triton transcribes: python -m lab.probes.whisper_windows HOST:GRPC_PORT [--callers 1,16,64,128]

Callers send windows of people's speech to Whisper in Triton itself, without the frontend, one after another. Prints for
each number of callers how many seconds are transcribed per second, how long a call takes, how many windows Triton
computes together, and how many words are wrong.
"""

import argparse
import asyncio
import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tritonclient.grpc.aio as grpc_client
from numpy.typing import NDArray

from client.recordings import SAMPLE_RATE, recordings, words
from lab.peers.word_errors import compared
from scripts.benchmark.common.output import head, line

_HEAD = ("callers", "times real time", "p50 s", "p95 s", "windows an execution", "words wrong")
_LONGEST = 29 * SAMPLE_RATE
_PAUSE = np.zeros(SAMPLE_RATE // 4, np.float32)
_OUTPUTS = [
    grpc_client.InferRequestedOutput(name)
    for name in ("language", "avg_logprob", "no_speech_prob", "word_start", "word_end", "word_text", "word_probability")
]


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


def _windows() -> list[_Spoken]:
    """The recordings of each language, joined up to the length of a window."""
    found: list[_Spoken] = []
    for each in recordings():
        audio, last = np.concatenate([each.samples(), _PAUSE]), found[-1] if found else None
        if last is None or last.language != each.language or len(last.audio) + len(audio) > _LONGEST:
            found.append(_Spoken(each.language, each.text, audio))
        else:
            found[-1] = _Spoken(each.language, f"{last.text} {each.text}", np.concatenate([last.audio, audio]))
    return found


async def _executions(client: grpc_client.InferenceServerClient, model: str) -> tuple[int, int]:
    """Windows and executions so far."""
    (stats,) = (await client.get_inference_statistics(model)).model_stats
    return stats.inference_count, stats.execution_count


async def _measure(
    spoken: Sequence[_Spoken], address: str, model: str, callers: int, seconds: float, warm: float
) -> Sequence[str]:
    client = grpc_client.InferenceServerClient(address)
    loop, windows, answers = asyncio.get_running_loop(), itertools.cycle(spoken), []
    begin = loop.time() + warm
    end = begin + seconds

    async def caller() -> None:
        while (sent := loop.time()) < end:
            window = next(windows)
            answer = await client.infer(model, window.inputs(), outputs=_OUTPUTS)
            if begin <= loop.time() <= end:
                heard = b"".join(answer.as_numpy("word_text").reshape(-1)).decode()
                answers.append((window, heard, loop.time() - sent))

    tasks = [asyncio.create_task(caller()) for _ in range(callers)]
    await asyncio.sleep(warm)
    before = await _executions(client, model)
    await asyncio.sleep(seconds)
    after = await _executions(client, model)
    await asyncio.gather(*tasks)
    await client.close()
    if len(answers) < 2:
        return [str(callers), "fewer than two calls were answered: give more --seconds"]
    took = [each for *_, each in answers]
    said, wrong = 0, 0
    for window, heard, _ in answers:
        said += len(words(window.text))
        wrong += compared(words(window.text), words(heard))
    transcribed = sum(len(window.audio) for window, *_ in answers) / SAMPLE_RATE
    return [
        str(callers),
        f"{transcribed / seconds:.0f}",
        f"{statistics.median(took):.2f}",
        f"{statistics.quantiles(took, n=20)[-1]:.2f}",
        f"{(after[0] - before[0]) / max(1, after[1] - before[1]):.1f}",
        f"{100 * wrong / said:.1f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Windows that Whisper in Triton transcribes.")
    parser.add_argument("address", help="of Triton's gRPC, such as 127.0.0.1:8001")
    parser.add_argument("--model", default="whisper_turbo")
    parser.add_argument("--callers", default="1,16,64,128")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm", type=float, default=3, help="seconds that are not counted")
    options = parser.parse_args()
    windows = _windows()
    print(head(_HEAD), flush=True)
    for callers in map(int, options.callers.split(",")):
        row = asyncio.run(_measure(windows, options.address, options.model, callers, options.seconds, options.warm))
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
