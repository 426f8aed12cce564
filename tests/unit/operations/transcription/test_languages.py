from frontend.operations.transcription.languages import CODES, LANGUAGES, iso_code, token_code


def test_javanese_has_its_iso_code_and_whispers() -> None:
    assert (iso_code("jw"), token_code("jv")) == ("jv", "jw")


def test_every_other_language_has_one_code() -> None:
    assert {code for code in CODES if iso_code(code) != code or token_code(code) != code} == {"jw", "jv"}


def test_there_are_the_hundred_languages_of_large_v3() -> None:
    assert len(LANGUAGES) == 100
