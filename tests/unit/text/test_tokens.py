from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, processors

from frontend.text.tokens import TextTokenizer, pack, packed_inputs, work
from tests.conftest import ROOT

FOLDER = ROOT / "model_repository" / "m3_reranker" / "1"


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer(FOLDER)


@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    plain = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    plain.no_truncation()
    plain.no_padding()
    return plain


def _of(folder: Path, *words: str) -> TextTokenizer:
    """A tokenizer of a few words."""
    folder.mkdir()
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(("?", "<s>", *words))}, "?"))
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    made.save(str(folder / "tokenizer.json"))
    (folder / "quartet.json").write_text('{"max_tokens": 9}', encoding="utf-8")
    return TextTokenizer(folder)


def test_models_with_equal_files_share_a_tokenizer_and_others_do_not(tmp_path: Path) -> None:
    first, again, other = _of(tmp_path / "1", "a", "b"), _of(tmp_path / "2", "a", "b"), _of(tmp_path / "3", "b", "a")
    assert first._tokenizer is again._tokenizer is not other._tokenizer
    assert [each.texts(["a"])[0].tolist() for each in (first, again, other)] == [[1, 2], [1, 2], [1, 3]]


@pytest.mark.parametrize("text", ["hello", "Grüezi, wie gaht's? 👍", " ", "a [SEP] b"])
def test_a_text_has_the_ids_of_the_models_tokenizer(tokenizer: TextTokenizer, reference: Tokenizer, text: str) -> None:
    assert tokenizer.texts([text])[0].tolist() == reference.encode(text).ids


# The first part of the second one has a few tokens less than the limit.
@pytest.mark.parametrize("text", ["word " * 20_000, "word " * 200 + "the " * 20_000])
def test_a_long_text_is_cut_to_the_limit_and_keeps_its_last_special_token(tokenizer: TextTokenizer, text: str) -> None:
    ids = tokenizer.texts([text])[0]
    assert len(ids) == 8192
    assert ids[-1] == tokenizer.texts(["word"])[0][-1]


def test_a_long_text_of_few_tokens_loses_nothing(tokenizer: TextTokenizer, reference: Tokenizer) -> None:
    text = " " * 200_000 + "end"
    assert tokenizer.texts([text])[0].tolist() == reference.encode(text).ids


@pytest.mark.parametrize(("query", "document"), [("how?", "so."), ("a b c", ""), ("emoji 👍", "Straße")])
def test_a_pair_has_the_ids_of_the_models_own_tokenizer(
    tokenizer: TextTokenizer, reference: Tokenizer, query: str, document: str
) -> None:
    assert tokenizer.pairs(query, [document])[0].tolist() == reference.encode(query, document).ids


def test_the_document_gives_way_to_the_query(tokenizer: TextTokenizer) -> None:
    alone = tokenizer.pairs("where is the station", [""])[0]
    pair = tokenizer.pairs("where is the station", ["word " * 20_000])[0]
    assert len(pair) == 8192
    assert pair[: len(alone) - 1].tolist() == alone[:-1].tolist()


def test_a_document_gives_at_most_the_tokens_that_are_asked_for(tokenizer: TextTokenizer) -> None:
    empty, *pairs = tokenizer.pairs("where is the station", ["", "word " * 2, "word " * 20], most=3)
    assert [len(pair) - len(empty) for pair in pairs] == [2, 3]


def test_a_query_takes_at_most_half(tokenizer: TextTokenizer) -> None:
    pair = tokenizer.pairs("word " * 20_000, ["stop"])[0]
    assert 4096 < len(pair) < 4110


def test_requests_stay_within_the_budget() -> None:
    texts = [np.zeros(size, np.int32) for size in (5, 5, 3, 9, 20, 1)]
    assert [[len(t) for t in request] for request in pack(texts, 10.1)] == [[5, 5], [3], [9], [20], [1]]


def test_a_request_is_filled_to_the_brim() -> None:
    texts = [np.zeros(size, np.int32) for size in (5, 5)]
    assert [len(request) for request in pack(texts, work(texts))] == [2]


def test_a_text_of_the_longest_kind_is_twice_its_tokens_of_work() -> None:
    assert work([np.zeros(8192, np.int32)]) == 2 * 8192
    assert work([np.zeros(512, np.int32)] * 2) == pytest.approx(1024, rel=0.07)


@pytest.mark.parametrize(
    "text",
    [
        "Grüezi mitenand, wie gaht's? " * 4_000,
        "東京は大きい。" * 20_000,
        "e\u0301 👍 " * 40_000,
        "international " * 9_000,
    ],
)
def test_a_text_that_is_read_in_parts_has_the_ids_of_the_whole(
    tokenizer: TextTokenizer, reference: Tokenizer, text: str
) -> None:
    whole = reference.encode(text).ids
    assert tokenizer.texts([text])[0].tolist() == [*whole[:8191], whole[-1]]


def test_many_texts_come_back_in_order(tokenizer: TextTokenizer) -> None:
    texts = [f"{'word ' * (number * 1_500)}{number}" for number in range(20)]
    assert [ids.tolist() for ids in tokenizer.texts(texts)] == [tokenizer.texts([text])[0].tolist() for text in texts]


def test_many_long_texts_are_read_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, read = _of(tmp_path / "1", "a"), list[int]()

    def ids(parts: list[str]) -> list[list[int]]:
        read.append(sum(map(len, parts)))
        return [[] for _ in parts]

    monkeypatch.setattr(made, "_ids", ids)
    made.texts(["a" * 32_768] * 20)
    assert read == [8 * 32_768, 8 * 32_768, 4 * 32_768]


@pytest.mark.parametrize(("length", "batches"), [(10, [1, 1]), (4_000, [2])])
def test_only_long_texts_wake_the_threads_of_the_tokenizer(tmp_path: Path, length: int, batches: list[int]) -> None:
    made, read = _of(tmp_path / "1", "a"), list[int]()
    tokenizer = made._tokenizer

    class Counting:
        def encode_batch_fast(self, batch: list[str], **options: Any) -> Any:
            read.append(len(batch))
            return tokenizer.encode_batch_fast(batch, **options)

    made._tokenizer = Counting()
    made.texts(["a" * length] * 2)
    assert read == batches


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TextTokenizer(tmp_path)


def test_texts_lie_end_to_end_with_the_length_of_each() -> None:
    packed = packed_inputs([np.array([5, 6, 7], np.int32), np.array([8], np.int32)])
    assert packed["input_ids"].tolist() == [[5, 6, 7, 8]]
    assert packed["lengths"].tolist() == [[3, 1]]
    assert {array.dtype for array in packed.values()} == {np.dtype(np.int32)}
