"""Two servers are compared on one's own texts; the second is right."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from client.__main__ import main
from client.api import CommandError
from client.verify import against, command
from client.verify.questions import Questions, RefusedError

TEXTS = ["a", "b", "c", "d"]
# On a circle: each text's nearest is its neighbour.
ANGLES = np.array([0.0, 0.1, 1.0, 1.2])


class Server(Questions):
    """Answers with vectors at these angles, and with these scores."""

    def __init__(self, angles: NDArray[np.float64] = ANGLES, scores: tuple[float, ...] = (0.9, 0.5, 0.1)) -> None:
        super().__init__("http://here/v1", "key")
        self._angles, self._scores = angles, scores

    async def embed(self, texts: list[str]) -> tuple[NDArray[np.float32], int]:
        angles = self._angles[[TEXTS.index(text) for text in texts]]
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32), len(texts)

    async def rerank(self, query: str, documents: list[str]) -> tuple[list[float], int]:
        if not self._scores:
            raise RefusedError("404: there is no such path", missing=True)
        return list(self._scores[: len(documents)]), 1


async def _rows(product: Server, right: Server | None = None) -> dict[str, str]:
    return dict(await against.compare(product, right or Server(), TEXTS))


async def test_a_server_does_not_differ_from_itself() -> None:
    rows = await _rows(Server())
    assert rows["nearest neighbour kept; what others lose"] == "100.0%  0.0000"
    assert rows["3 nearest neighbours kept"] == "100.0%"
    assert rows["change of a score: mean, largest"] == "0.0000  0.0000"
    assert rows["first result kept; what others lose"] == "100.0%  0.0000"
    assert rows["pairs of 3 results in the same order"] == "100.0%"


async def test_a_turned_vector_is_told_with_its_text_and_what_its_neighbour_loses() -> None:
    rows = await _rows(Server(np.array([0.0, 0.9, 1.0, 1.2])))
    assert rows["1 - cosine: median, 99th percentile, largest"].endswith(f"{1 - np.cos(0.8):.1e}")
    assert rows["the text that changes most"] == "b"
    # By the right vectors, the nearest of b and of c are a and d, and now they are c and b.
    kept, lost = rows["nearest neighbour kept; what others lose"].split()
    assert kept == "50.0%"
    assert float(lost) == pytest.approx(np.mean([np.cos(0.1) - np.cos(0.9), np.cos(0.2) - np.cos(0.9)]), abs=1e-4)


async def test_the_second_server_says_which_result_is_best() -> None:
    rows = await _rows(Server(scores=(0.4, 0.5, 0.1)))
    assert rows["change of a score: mean, largest"] == "0.1667  0.5000"
    assert rows["first result kept; what others lose"] == "0.0%  0.4000"
    assert rows["pairs of 3 results in the same order"] == "66.7%"


async def test_equally_good_neighbours_and_results_count_as_kept() -> None:
    tied = np.array([0.0, 0.1, -0.1, 2.0])
    assert (await _rows(Server(tied), Server(tied)))["nearest neighbour kept; what others lose"] == "100.0%  0.0000"
    rows = await _rows(Server(scores=(0.5, 0.6, 0.1)), Server(scores=(0.6, 0.6, 0.1)))
    assert rows["first result kept; what others lose"] == "100.0%  0.0000"
    assert rows["pairs of 3 results in the same order"] == "100.0%"


async def test_without_a_reranker_vectors_are_compared() -> None:
    assert "first result kept; what others lose" not in await _rows(Server(scores=()))


async def test_vectors_of_other_widths_are_a_sentence() -> None:
    class Wide(Server):
        async def embed(self, texts: list[str]) -> tuple[NDArray[np.float32], int]:
            return np.zeros((len(texts), 3), np.float32), 1

    with pytest.raises(CommandError, match="the vectors have 2 and 3 numbers"):
        await against.compare(Server(), Wide(), TEXTS)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.txt", "\ufeffone\n\ntwo\none \nthree"), ("a.jsonl", '{"text": "one"}\n{"text": "two"}\n{"text": "three"}\n')],
)
def test_texts_are_distinct_lines_or_fields(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert against.read(tmp_path / name) == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", b"one\ntwo", "has 2 different texts, and a comparison needs 3"),
        ("a.txt", b"\xff\xfe", "must have lines in UTF-8"),
        ("a.jsonl", b'{"title": "one"}', "must have lines that are objects with a text"),
        ("a.jsonl", b"one", "must have lines that are objects with a text"),
        ("", b"", "cannot be read: Is a directory"),
    ],
)
def test_a_file_without_texts_is_a_sentence(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    if name:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError, match=sentence):
        against.read(tmp_path / name)


def test_the_command_asks_both_servers_and_prints_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def server(url: str, key: str) -> Server:
        asked.append((url, key))
        return Server()

    monkeypatch.setattr(command, "Questions", server)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    servers = ["--url", "http://one", "--key", "k", "--against", "http://two", "--against-key", "other"]
    monkeypatch.setattr(sys, "argv", ["quartet", "verify", *servers, "--texts", str(tmp_path / "texts.txt")])
    assert main() == 0
    assert asked == [("http://one/v1", "k"), ("http://two/v1", "other")]
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "4 texts, http://one against http://two"
    assert "3 nearest neighbours kept" in rows[3]
    assert rows[3].endswith("100.0%")
