import pytest

from frontend.reading.ordinals import written_out


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Am 3. Oktober", "Am dritten Oktober"),
        ("Der 1. und der 21. Mai", "Der erste und der einundzwanzigste Mai"),
        (
            "in der 3. Klasse, vom 16. bis zum 30. Juni",
            "in der dritten Klasse, vom sechzehnten bis zum dreißigsten Juni",
        ),
        ("die 7. Sinfonie, das 99. Mal", "die siebte Sinfonie, das neunundneunzigste Mal"),
        ("Ludwig XIV. war König", "Ludwig der vierzehnte war König"),
        ("im II. Weltkrieg", "im zweiten Weltkrieg"),
        ("Wir waren 12. Dann kam er.", "Wir waren 12. Dann kam er."),
        ("Das war 1999. Mai und Juni", "Das war 1999. Mai und Juni"),
        ("1. Milch\n2. Brot", "1. Milch\n2. Brot"),
        ("um 12.30 Uhr, am 3.5.2024", "um 12.30 Uhr, am 3.5.2024"),
    ],
)
def test_german_numbers_with_a_dot_are_ordinals(text: str, spoken: str) -> None:
    assert written_out(text, "de") == spoken
