"""OpenVINO GenAI's Whisper pipeline: <checkpoint> <threads> <language> <text or words>.

A task is a list of audio files; the answer is their texts and timed words.

optimum-intel exports the checkpoint next to it, with weights in int8. The rest computes in bfloat16 if the processor
has it, which is OpenVINO's default.
"""

import subprocess
import sys
from pathlib import Path

import openvino_genai
import soundfile
from line_server import serve

checkpoint, (threads, language, kind) = Path(sys.argv[1]), sys.argv[2:]
exported = checkpoint.with_name(f"{checkpoint.name}-genai")
if not exported.exists():
    options = "--task automatic-speech-recognition-with-past --weight-format int8"
    tool = Path(sys.executable).with_name("optimum-cli")
    partial = exported.with_suffix(".partial")
    subprocess.run(
        [tool, "export", "openvino", "-m", checkpoint, *options.split(), partial], check=True, stdout=sys.stderr
    )
    partial.rename(exported)
timed = {"word_timestamps": True} if kind == "words" else {}
options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", **timed}
pipeline = openvino_genai.WhisperPipeline(exported, "CPU", **options)
asked = {"language": f"<|{language}|>", "task": "transcribe", "return_timestamps": False, **timed}


def _heard(file: str) -> dict[str, object]:
    samples, _ = soundfile.read(file, dtype="float32")
    found = pipeline.generate(samples.tolist(), **asked)
    words = [(word.word, word.start_ts, word.end_ts) for word in found.words or ()]
    return {"text": found.texts[0], "words": words}


serve(lambda files: [_heard(file) for file in files], hears=True)
