"""faster-whisper's batched pipeline: <model> <compute type> <threads>. A task is a list of audio files."""

import sys

from faster_whisper import BatchedInferencePipeline, WhisperModel
from line_server import serve

model = WhisperModel(sys.argv[1], device="cpu", compute_type=sys.argv[2], cpu_threads=int(sys.argv[3]))
pipeline = BatchedInferencePipeline(model)


def work(files: list[str]) -> None:
    for file in files:
        segments, _ = pipeline.transcribe(file, language="en", beam_size=1, temperature=0, batch_size=8)
        list(segments)


serve(work)
