"""The samples of the pages are found, and each is run by a test or says why not."""

import json
import re
from pathlib import Path

import pytest

from tests.examples import LANGUAGES, PAGES, REASONS, samples

FOUND = [sample for page in PAGES for sample in samples(page)]
# What is no program: outputs, settings, files.
OTHERS = ("json", "text", "toml", "yaml", "ini", "console", "")


def test_a_sample_that_is_not_run_says_why_in_its_title() -> None:
    assert {sample.why for sample in FOUND} == {"", *REASONS}


def test_most_samples_of_callers_are_run() -> None:
    pages = ("README", "start", "api", "extensions", "access", "usage", "bulk")
    left = {(each.page.stem, each.why) for each in FOUND if each.page.stem in pages and each.why}
    assert left == {
        ("README", "takes minutes"),
        ("access", "needs Kubernetes"),
        ("bulk", "needs a Ray cluster"),
        ("extensions", "needs a microphone"),
        # By a test of its own: the demo's embedder weighs no tokens.
        ("extensions", "needs the hub's models"),
    }
    assert {each.language for each in FOUND if not each.why} == {"bash", "python", "js"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_fenced_and_names_a_language_that_is_known(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    opened = re.findall(r"^```.*$", text, re.MULTILINE)[::2]
    names = [re.fullmatch(r'```(\w*)(?: title="[^"]*")?', line) for line in opened]
    assert [
        line for line, name in zip(opened, names, strict=True) if not name or name[1] not in (*LANGUAGES, *OTHERS)
    ] == []
    unfenced = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"(?<=\n\n)    \S.*", unfenced) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_json_of_a_page_can_be_parsed(page: Path) -> None:
    for text in re.findall(r"^```json\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        json.loads(text)


def test_a_block_with_its_languages_and_its_output_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        'A\n\n```bash\ncurl x\n```\n\n```python\nx\n```\n\n```json\n{"a": 1}\n```\n\n'
        '```bash title="needs root"\nsudo\n```\n\nprints\n\n```text\nno\n```\n',
        encoding="utf-8",
    )
    read = [(each.line, each.language, each.why, each.text, each.begins) for each in samples(page)]
    assert read == [
        (3, "bash", "", "curl x", '{"a": 1}'),
        (7, "python", "", "x", ""),
        (15, "bash", "needs root", "sudo", ""),
    ]
