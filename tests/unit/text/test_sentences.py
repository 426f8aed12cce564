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
        ("en", "J. Smith met DR. Jones. Then A. B. left.", ["J. Smith met DR. Jones.", "Then A. B. left."]),
        ("en", 'He said "Go." Then he went.', ['He said "Go.', "Then he went."]),
        ("en", "Call the dr! Then wait.", ["Call the dr!", "Then wait."]),
        ("en", "It was the 3. Then it rained.", ["It was the 3.", "Then it rained."]),
        ("de", "Das war 1999. Dann kam er am 3. Mai.", ["Das war 1999.", "Dann kam er am 3. Mai."]),
        ("de", "Es waren 12. (Alle kamen.)", ["Es waren 12.", "(Alle kamen.)"]),
        ("en", "東京は大きい。大阪も！そう？", ["東京は大きい。", "大阪も！", "そう？"]),
        ("en", "No end\n\nnew paragraph", ["No end", "new paragraph"]),
        ("en", "  \n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(language: str, text: str, expected: list[str]) -> None:
    assert split(text, language) == expected


def test_a_long_sentence_is_cut_between_clauses() -> None:
    clauses = [f"{'word ' * 20}number {number}," for number in range(4)]
    assert split(" ".join(clauses), "en") == [" ".join(clauses[:2]), " ".join(clauses[2:])]


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 5000, "clause one, " * 300])
def test_text_without_an_end_is_cut(text: str) -> None:
    parts = split(text, "en")
    assert max(map(len, parts)) <= LONGEST_SENTENCE
    assert "".join("".join(parts).split()) == "".join(text.split())
