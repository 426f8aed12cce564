from pathlib import Path

import pytest

from scripts.benchmark.lookalikes.once import once


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        folder.mkdir()

    assert once(tmp_path / "its", make) == once(tmp_path / "its", make) == tmp_path / "its"
    assert len(made) == 1


def test_what_was_cut_short_is_made_from_the_beginning(tmp_path: Path) -> None:
    def cut_short(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once(tmp_path / "its", cut_short)
    assert list(once(tmp_path / "its", Path.mkdir).iterdir()) == []
