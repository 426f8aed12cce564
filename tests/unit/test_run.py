"""What 'make run' prints can be pasted into a shell."""

import json
import re
from pathlib import Path

from scripts.run import Stack, examples


def test_the_printed_bodies_are_valid_json() -> None:
    printed = examples(Stack(1, {}), "token", Path("build/demo.env"), 1.0)
    bodies = re.findall(r"-d '(.*?)'", printed, re.DOTALL)
    assert [sorted(json.loads(body)) for body in bodies] == [["input", "voice"], ["documents", "query"]]
