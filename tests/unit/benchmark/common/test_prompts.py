import subprocess
from pathlib import Path

import pytest

from scripts.benchmark.common import prompts
from scripts.benchmark.common.prompts import PromptsError, listed, plausible


def test_remarks_and_lines_without_a_text_are_no_prompts() -> None:
    content = "; Sounds: in English\n\nvm-goodbye: Goodbye!\ndigits/1\nurl: See: here.\n"
    assert list(listed(content)) == [("vm-goodbye", "Goodbye!"), ("url", "See: here.")]


@pytest.mark.parametrize(
    ("text", "seconds", "expected"),
    [
        ("Please enter your number, and press pound.", 3.0, True),
        ("Please enter your number.", 2.0, False),
        ("Please enter your number, and press pound.", 30.0, False),
        ("Please enter your number, and press pound.", 1.0, False),
        ("Please enter your number, and press #.", 3.0, False),
        ("La conferenza non pu? essere completata ora.", 3.0, False),
        ("To delete this message vm-then-pound: then press pound.", 4.0, False),
        ("Is this the one you want? Press one.", 3.0, True),
    ],
)
def test_texts_that_are_short_damaged_or_not_what_is_said_are_left_out(
    text: str, seconds: float, expected: bool
) -> None:
    assert plausible(text, seconds) is expected


def test_where_apt_has_no_such_package_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(100, "apt-get")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(PromptsError, match=r"asterisk-core-sounds-en 1\.6\.1-1, which apt-get cannot download"):
        prompts.prompts("en", tmp_path)
    assert not (tmp_path / "en").exists()


def test_a_package_with_other_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def writes(*_: object, cwd: Path, **__: object) -> None:
        (cwd / "asterisk-core-sounds-en_1_all.deb").write_bytes(b"another")

    monkeypatch.setattr(subprocess, "run", writes)
    with pytest.raises(PromptsError, match="does not have the hash"):
        prompts.prompts("en", tmp_path)
