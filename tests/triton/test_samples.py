"""Every sample of the pages, run as its reader runs it: in a folder of its page, against the product."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import openai
import pytest
import soundfile
import soxr

from frontend.commands.database import with_database
from frontend.config.settings import Settings
from scripts.local_triton.checks import free_port
from scripts.local_triton.child import start_child, stop_child
from scripts.run.launch import write_env
from scripts.run.stack import Stack
from tests.conftest import ROOT
from tests.examples import PAGES, Sample, comparable, samples

pytestmark = pytest.mark.triton

# What people install to call it, with what they need for live speech.
CLIENTS = Path(sys.prefix) / "clients"
# This page has a Triton and a test of its own: test_own_model.py.
ELSEWHERE = ("own-triton-model",)
RUN = [sample for page in PAGES for sample in samples(page) if not sample.why and page.stem not in ELSEWHERE]
ADMIN_KEY = "an admin key of at least 32 bytes"
SENTENCE = "Good morning, Anna. Can you buy some bread today?"
# What programs print whose pages say it in words, by a line of theirs.
PRINTS = {
    'input="a cat on a mat"': "Can you buy some bread today?\n1024\n",
    "print(heard.text)": SENTENCE,
    "console.log(heard.text)": SENTENCE,
    "file=file).text)": SENTENCE,
    "urllib.request.urlopen": 'b\'{"object":"list"',
    "function transcribe(": SENTENCE,
    "def token(": "200",
}
# Functions are called with what their texts say that they take: one of a browser's page, one of an app's backend.
CALLS = {
    "function transcribe(": """
import fs from "node:fs";
const files = [new File([fs.readFileSync("hello.wav")], "hello.wav")];
console.log(await transcribe({ files }, process.env.QUARTET_MOBILE_JWT));
""",
    "def token(": """
import urllib.request

headers = {"Authorization": f"Bearer {token('anna')}", "Content-Type": "application/json"}
address = os.environ["QUARTET_URL"] + "/api/v1/audio/synthesize"
body = b'{"text": "Hello.", "voice": "amy"}'
print(urllib.request.urlopen(urllib.request.Request(address, body, headers)).status)
""",
}
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1):80[89]0")
_READY_SECONDS = 60


@pytest.fixture(scope="module")
def extended(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The variables of callers of a second frontend, with every extension and an admin key."""
    folder, port = tmp_path_factory.mktemp("extended"), free_port()
    own = {
        **stack.environment(),
        "QUARTET_PORT": str(port),
        "QUARTET_EXTENSIONS": "all",
        "QUARTET_ADMIN_KEY": ADMIN_KEY,
        "QUARTET_MODEL_REPOSITORY": str(ROOT / "model_repository"),
        "QUARTET_USAGE_FOLDER": str(folder / "usage"),
        "QUARTET_STOP_DELAY_SECONDS": "0",
    }
    process = start_child([sys.executable, "-m", "frontend", "serve"], {**os.environ, **own}, folder / "log")
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(f"{url}/health/ready")
        yield {**stack.environment(), "QUARTET_URL": url, "QUARTET_ADMIN_KEY": ADMIN_KEY}
    finally:
        stop_child(process, 30)


def _wait(address: str) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture(scope="module")
def folders(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Path, Path]:
    """A folder for each page, with its reader's files, in which a sample may read what an earlier one wrote."""
    quartet = [sys.executable, "-m", "frontend"]
    subprocess.run(
        [*quartet, "orgs", "create", "acme"], cwd=ROOT, env={**os.environ, **stack.environment()}, check=True
    )
    spoken = tmp_path_factory.mktemp("spoken") / "hello.wav"
    with openai.OpenAI(base_url=f"{stack.url}/v1", api_key=stack.api_key) as client:
        client.audio.speech.create(model="tts-1", voice="ryan", input=SENTENCE).write_to_file(spoken)
    audio, rate = soundfile.read(spoken)
    sound = (soxr.resample(audio, rate, 24_000) * 32767).astype(np.int16).tobytes()
    database = tmp_path_factory.mktemp("database") / "quartet.sqlite3"
    with_database(Settings(database=f"sqlite:///{database}"), _nothing)
    made = {page: tmp_path_factory.mktemp(page.stem) for page in {sample.page for sample in RUN}}
    for folder in made.values():
        (folder / ".venv").symlink_to(sys.prefix)
        (folder / "node_modules").symlink_to(CLIENTS / "node" / "node_modules")
        for name in ("build", "data", "recordings", "chapters"):
            (folder / name).mkdir()
        write_env(folder / "build" / "demo.env", stack.environment())
        shutil.copy(database, folder / "data")
        (folder / "texts.jsonl").write_text(f'{{"text": "{SENTENCE}"}}\n', encoding="utf-8")
        (folder / "texts.txt").write_text("".join(f"{SENTENCE} {number}\n" for number in range(12)), encoding="utf-8")
        (folder / "chapters" / "one.txt").write_text(SENTENCE, encoding="utf-8")
        (folder / "hello.pcm").write_bytes(sound)
        for copy in ("hello.wav", "recordings/one.wav"):
            shutil.copy(spoken, folder / copy)
    return made


async def _nothing(engine: object) -> None:
    return


@pytest.fixture(scope="module")
def forks() -> Iterator["subprocess.Popen[str]"]:
    command, pipe = [str(CLIENTS / "bin" / "python"), "-m", "tests.clients.forks"], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as running:
        yield running


@pytest.mark.parametrize("sample", RUN, ids=lambda sample: f"{sample.page.stem}:{sample.line} {sample.language}")
def test_a_sample_does_what_the_page_says(
    stack: Stack,
    extended: Mapping[str, str],
    folders: Mapping[Path, Path],
    forks: "subprocess.Popen[str]",
    sample: Sample,
) -> None:
    folder = folders[sample.page]
    other = sample.page.stem == "extensions" or "QUARTET_ADMIN_KEY" in sample.text
    own = {**stack.environment(), **(extended if other else {})}
    said = _said(sample, folder, {**own, "KEY": stack.api_key}, forks)
    assert comparable(said).startswith(sample.begins)
    if sample.language != "bash":
        assert said.startswith(next((prints for line, prints in PRINTS.items() if line in sample.text), ""))
    assert sample.begins.startswith('{"error"') or '{"error"' not in said
    assert [file for file in folder.glob("hello*") if b"error" in file.read_bytes()[:100]] == []


def _said(sample: Sample, folder: Path, own: Mapping[str, str], forks: "subprocess.Popen[str]") -> str:
    address = own["QUARTET_URL"].removeprefix("http://")
    text = _LOCAL.sub(address, sample.text).replace("$QUARTET_URL", own["QUARTET_URL"])
    script = folder / f"sample.{ {'bash': 'sh', 'python': 'py', 'js': 'mjs'}[sample.language] }"
    call = next((call for line, call in CALLS.items() if line in text), "")
    script.write_text(text + call, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # What a sample installs must be here already, and 'quartet' is this checkout's.
    environ = {**os.environ, **own, "PATH": path, "PIP_NO_INDEX": "1", "PYTHONPATH": str(ROOT)}
    # A backend that issues tokens is no client.
    if sample.language == "python" and "import jwt" not in text:
        status, printed, errors = _forked(script, environ, forks)
    else:
        command = {
            "bash": ["bash", "-e", "-o", "pipefail"],
            "python": [sys.executable],
            "js": [str(CLIENTS / "bin" / "node")],
        }[sample.language]
        done = subprocess.run(
            [*command, script.name], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=120
        )
        status, printed, errors = done.returncode, done.stdout, done.stderr
    assert status == 0, f"{text}\n{printed}{errors}"
    return printed


def _forked(script: Path, environ: Mapping[str, str], forks: "subprocess.Popen[str]") -> tuple[int, str, str]:
    assert forks.stdin is not None
    assert forks.stdout is not None
    print(json.dumps([str(script.parent), script.name, ["hello.pcm"], environ]), file=forks.stdin, flush=True)
    status = int(forks.stdout.readline())
    printed, errors = [(script.parent / name).read_text(encoding="utf-8") for name in ("stdout", "stderr")]
    return status, printed, errors
