"""Answers that no middleware touches."""

from frontend.errors import InvalidRequest
from frontend.http.rendering import refusal


def test_a_refusal_names_neither_the_framework_nor_its_version() -> None:
    assert refusal(InvalidRequest("no HTTP")).headers["Server"] == "quartet"
