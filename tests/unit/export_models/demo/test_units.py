import pytest

from scripts.export_models.demo.units import symbols


@pytest.mark.parametrize(
    ("name", "expected"), [("ˈoʊ", ["o", "ʊ"]), ("uː", ["uː"]), ("ˈɛ̃", ["ɛ̃"]), ("ə-", ["ə"]), ("", [])]
)
def test_a_phoneme_name_is_split_into_symbols_with_their_marks(name: str, expected: list[str]) -> None:
    assert symbols(name) == expected
