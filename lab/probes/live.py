"""Live sessions over recordings of people: python -m lab.probes.live URL KEY --sessions 1 --seconds 120

It plays a recording in real time and measures how long after its end in the audio a word arrives, and how many words
are wrong, next to the transcript of the whole file.
"""

import argparse
import asyncio
import base64
import io
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp
import jiwer
import numpy as np
import soundfile
import soxr

from lab.peers.recorded import Recording, long_recording
from lab.peers.word_errors import Heard, errors, spelled

_RATE = 24_000
_CHUNK_SECONDS = 0.04
# Silence at the end, so that the last item ends.
_TAIL_SECONDS = 1.5
_PATIENCE_SECONDS = 60.0
_KIND = "conversation.item.input_audio_transcription"


@dataclass
class Played:
    """The transcripts of a session, and its words with the second at which each arrived."""

    texts: list[str] = field(default_factory=list)
    words: list[tuple[str, float]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    open: int = 0
    all_told: asyncio.Event = field(default_factory=asyncio.Event)


def samples_of(recording: Recording) -> bytes:
    sound, rate = soundfile.read(io.BytesIO(recording.file), dtype="float32")
    audio = np.concatenate([soxr.resample(sound, rate, _RATE), np.zeros(int(_TAIL_SECONDS * _RATE), np.float32)])
    return (audio * 32767).astype(np.int16).tobytes()


async def play(client: aiohttp.ClientSession, url: str, data: bytes, language: str, model: str) -> Played:
    played, size = Played(), int(_CHUNK_SECONDS * _RATE) * 2
    async with client.ws_connect(f"{url}/realtime?intent=transcription&model={model}") as socket:
        audio = {"input": {"transcription": {"language": language}}}
        await socket.send_json({"type": "session.update", "session": {"type": "transcription", "audio": audio}})
        began = time.monotonic()

        async def listen() -> None:
            stopped = 0.0
            async for message in socket:
                event, now = json.loads(message.data), time.monotonic() - began
                if event["type"] == f"{_KIND}.delta":
                    played.words += [(word, now) for word in spelled(event["delta"], language)]
                elif event["type"] == "input_audio_buffer.speech_started":
                    played.open += 1
                    played.all_told.clear()
                elif event["type"] == "input_audio_buffer.speech_stopped":
                    stopped = now
                elif event["type"] == f"{_KIND}.completed":
                    played.open -= 1
                    if not played.open:
                        played.all_told.set()
                    played.texts.append(event["transcript"])
                    played.waits.append(now - stopped)
                elif event["type"] in ("error", f"{_KIND}.failed"):
                    print(event)

        listening = asyncio.create_task(listen())
        for number, place in enumerate(range(0, len(data), size)):
            await asyncio.sleep(max(0.0, began + (number + 1) * _CHUNK_SECONDS - time.monotonic()))
            sent = base64.b64encode(data[place : place + size]).decode()
            await socket.send_json({"type": "input_audio_buffer.append", "audio": sent})
        await asyncio.wait_for(played.all_told.wait(), _PATIENCE_SECONDS)
        await socket.close()
        await listening
    return played


async def whole(client: aiohttp.ClientSession, url: str, recording: Recording, model: str) -> Heard:
    form = aiohttp.FormData({"model": model, "language": recording.language, "response_format": "verbose_json"})
    form.add_field("timestamp_granularities[]", "word")
    form.add_field("file", recording.file, filename="a.wav")
    async with client.post(f"{url}/audio/transcriptions", data=form) as response:
        answer = await response.json()
    return Heard(answer["text"], [(word["word"], word["start"], word["end"]) for word in answer["words"]])


def delays(heard: Heard, words: Sequence[tuple[str, float]], language: str) -> list[float]:
    """Seconds from the end of a word, in the whole file's transcript, to its arrival, for words that both have."""
    said = [(part, end) for text, _, end in heard.words for part in spelled(text, language)]
    found = jiwer.process_words(" ".join(word for word, _ in said), " ".join(word for word, _ in words))
    return [
        words[chunk.hyp_start_idx + at][1] - said[chunk.ref_start_idx + at][1]
        for chunk in found.alignments[0]
        if chunk.type == "equal"
        for at in range(chunk.ref_end_idx - chunk.ref_start_idx)
    ]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("key")
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--language", default="en")
    parser.add_argument("--model", default="stt-1")
    given = parser.parse_args()
    recording = long_recording(given.language, given.seconds)
    data = samples_of(recording)
    headers = {"Authorization": f"Bearer {given.key}"}
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(None)) as client:
        heard = await whole(client, given.url, recording, given.model)
        sessions = (play(client, given.url, data, given.language, given.model) for _ in range(given.sessions))
        played = await asyncio.gather(*sessions)
    late = sorted(second for each in played for second in delays(heard, each.words, given.language))
    waits = sorted(second for each in played for second in each.waits)
    live = [Heard(" ".join(each.texts)) for each in played]
    print(f"{given.sessions} sessions of {recording.seconds:.0f} s, {len(late)} words")
    for name, values in (("word delay", late), ("transcript after the pause", waits)):
        print(f"{name}: median {statistics.median(values):.2f} s, p95 {values[int(0.95 * len(values))]:.2f} s")
    print(f"words wrong: live {100 * errors([recording] * len(live), live).rate:.2f} %, ", end="")
    print(f"whole file {100 * errors([recording], [heard]).rate:.2f} %")


if __name__ == "__main__":
    asyncio.run(main())
