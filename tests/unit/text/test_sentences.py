import pytest

from frontend.text.sentences import LONGEST_SENTENCE, split


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("en", "Dr. Smith met Mr. Jones.", ["Dr. Smith met Mr. Jones."]),
        ("en", "It costs 3.50 today.", ["It costs 3.50 today."]),
        ("de", "Am 3. Mai, z.B. um acht. Danach nicht.", ["Am 3. Mai, z.B. um acht.", "Danach nicht."]),
        ("fr", "M. Dupont arrive. Bien.", ["M. Dupont arrive.", "Bien."]),
        ("it", "Il sig. Rossi è qui. Sì.", ["Il sig. Rossi è qui.", "Sì."]),
        ("en", "No end\n\nnew paragraph", ["No end", "new paragraph"]),
        ("en", "  \n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(language: str, text: str, expected: list[str]) -> None:
    assert split(text, language) == expected


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 5000, "clause one, " * 300])
def test_text_without_an_end_is_cut(text: str) -> None:
    parts = split(text, "en")
    assert max(map(len, parts)) <= LONGEST_SENTENCE
    assert "".join("".join(parts).split()) == "".join(text.split())
