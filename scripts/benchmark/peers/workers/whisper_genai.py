"""OpenVINO GenAI's Whisper pipeline: <checkpoint> <threads>. A task is a list of audio files.

The checkpoint is exported beside itself as optimum-intel does it, weights in int8; the rest is computed in bfloat16
where the processor has it, which is OpenVINO's own choice.
"""

import subprocess
import sys
from pathlib import Path

import openvino_genai
import soundfile
from line_server import serve

checkpoint, threads = Path(sys.argv[1]), sys.argv[2]
exported = checkpoint.with_name(f"{checkpoint.name}-genai")
if not exported.exists():
    options = "--task automatic-speech-recognition-with-past --weight-format int8"
    tool = Path(sys.executable).with_name("optimum-cli")
    partial = exported.with_suffix(".partial")
    subprocess.run(
        [tool, "export", "openvino", "-m", checkpoint, *options.split(), partial], check=True, stdout=sys.stderr
    )
    partial.rename(exported)
pipeline = openvino_genai.WhisperPipeline(exported, "CPU", INFERENCE_NUM_THREADS=threads, PERFORMANCE_HINT="LATENCY")


def work(files: list[str]) -> None:
    for file in files:
        samples, _ = soundfile.read(file, dtype="float32")
        pipeline.generate(samples.tolist(), language="<|en|>", task="transcribe", return_timestamps=False)


serve(work)
