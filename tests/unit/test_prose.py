"""The check of the docs' language and links."""

from pathlib import Path

from scripts import prose


def test_sentences_are_those_of_paragraphs_and_lists() -> None:
    text = "# A heading\n\nOne. Two `a b c`!\n- Three\n\n| a | table |\n\n    some code\n\n```\nmore code\n```\n"
    assert list(prose.sentences(text)) == ["One.", "Two x!", "Three"]


def test_a_sentence_of_more_than_thirty_words_is_named() -> None:
    assert list(prose.problems(" ".join(["word"] * 30) + ".")) == []
    assert [each[:9] for each in prose.problems(" ".join(["word"] * 31) + ".")] == ["31 words:"]


def test_a_wording_that_readers_stumble_over_is_named_with_a_better_one() -> None:
    (found,) = prose.problems("Whoever calls gets an answer.")
    assert found == "write 'anyone who, or you': Whoever calls gets an answer."


def test_three_short_sentences_in_a_row_are_named() -> None:
    (found,) = prose.problems(
        "It reads. It waits: a second. It ends. This sentence is longer than those before it are."
    )
    assert found == "say how these belong together: It reads. It waits: a second. It ends."


def test_short_sentences_that_a_longer_one_or_a_paragraph_parts_may_stay() -> None:
    assert not list(prose.problems("It reads. It waits until there is room for another call. It ends. It goes."))
    assert not list(prose.problems("It reads. It waits.\n\nIt ends. It goes."))
    assert not list(prose.problems("- It reads.\n- It waits.\n- It ends."))


def test_a_link_to_no_file_or_heading_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A heading, with `code`\n", encoding="utf-8")
    page = tmp_path / "page.md"
    links = ("other.md", "other.md#a-heading-with-code", "other.md#none", "none.md", "https://example.com")
    page.write_text("".join(f"[x]({link})\n" for link in links), encoding="utf-8")
    assert list(prose.broken_links(page)) == ["broken link: other.md#none", "broken link: none.md"]


def test_a_program_that_no_file_is_named_like_is_named() -> None:
    text = (
        "`scripts/prose.py` and `config/fields.py` are there, `config/no_fields.py` is not; `elds.py` is no whole name."
    )
    assert list(prose.missing_files(text)) == ["there is no config/no_fields.py", "there is no elds.py"]


def test_a_test_that_is_named_and_not_there_is_named() -> None:
    there = "`unit/prose::a_test_that_is_named_and_not_there_is_named` and `client/commands::an_error_is_one_sentence`"
    (found,) = prose.missing_tests(f"{there}, `unit/prose::none`.")
    assert found == "there is no test unit/prose::none"
