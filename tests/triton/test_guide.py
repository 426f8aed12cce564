"""docs/api.md's own examples, which /docs shows too, asked of the whole product."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.run.stack import Stack
from tests.conftest import ROOT
from tests.examples import Example, examples

pytestmark = pytest.mark.triton

GUIDE = ROOT / "docs" / "api.md"
# A stack has no admin key.
EXAMPLES = [example for example in examples(GUIDE) if "QUARTET_ADMIN_KEY" not in example.command]
PROGRAMS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
SAYS = ["Good morning, Anna", 'b\'{"object":"list"']


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one example writes the next one reads."""
    return tmp_path_factory.mktemp("guide")


def _run(stack: Stack, folder: Path, *command: str) -> str:
    environ = {**os.environ, **stack.environment()}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.command.split("$QUARTET_URL")[1].split()[0])
def test_an_example_answers_as_it_says(stack: Stack, folder: Path, example: Example) -> None:
    assert _run(stack, folder, "bash", "-c", example.command).startswith(example.begins)
    assert b"error" not in b"".join(file.read_bytes()[:100] for file in folder.iterdir())


@pytest.mark.parametrize(("program", "says"), [*zip(PROGRAMS, SAYS, strict=True)])
def test_a_program_says_what_it_should(stack: Stack, folder: Path, program: str, says: str) -> None:
    assert _run(stack, folder, sys.executable, "-c", program).startswith(says)
