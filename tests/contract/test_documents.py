"""The parts of documents that come from the code are up to date."""

import pytest

from scripts.documents import PARTS, written


@pytest.mark.parametrize("document", PARTS)
def test_a_document_is_written_anew_where_the_code_says_something_else(document: str) -> None:
    text, made = written(document)
    assert text == made, "make documents writes it anew"
