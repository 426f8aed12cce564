import pytest

from frontend.reading.markdown import plain


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**Important:** do *not* ~~touch~~ ==this==.", "Important: do not touch this."),
        ("# Title\ntext", "Title\n\ntext"),
        ("Title\n===\ntext", "Title\n\ntext"),
        ("* one\n* two", "one\n\ntwo"),
        ("1. one\n2. two", "1. one\n\n2. two"),
        ("- [x] done\n- [ ] open", "done\n\nopen"),
        ("See [the guide](https://example.com/a).", "See the guide."),
        ("![A cat](cat.png)", "A cat"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b\n\n1, 2"),
        ("```python\nprint(1)\n```", "print(1)\n"),
        ("one\n\n***\n\ntwo", "one\n\ntwo"),
        ("***", ""),
        ("> quoted\n> lines", "quoted\nlines"),
        ("<b>bold</b><br>new <!-- hidden -->&lt;", "bold\nnew <"),
        ("This is **cut", "This is cut"),
    ],
)
def test_markup_goes_and_text_stays(markdown: str, text: str) -> None:
    assert plain(markdown) == text


@pytest.mark.parametrize(
    "text",
    [
        "5 * 3 = 15",
        "2*3*4",
        "2**3**4",
        "Kolleg*innen und Freund*innen",
        "a<b and c>d",
        "- 5 °C",
        "f***",
        "snake_case_name",
        "If x < 5 and y > 3, stop.",
        "AT&T",
        "[sic]",
        "[Anna]: hello",
        "#1 of 3",
        "-5 degrees",
        "1.5 litres",
        "C:\\new",
        "line one\nline two",
    ],
)
def test_text_that_is_no_markdown_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


def test_indented_lines_are_no_code() -> None:
    assert plain("Dear Anna,\n\n    thank you.") == "Dear Anna,\n\nthank you."
