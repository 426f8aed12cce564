"""Texts that sound the same have one spelling, and texts that do not keep their errors."""

import pytest

from lab.peers.alike import alike, wrong

SAME = {
    "en": [
        ("It leaves at 6:45.", "it leaves at six forty-five"),
        ("It leaves at 6:45.", "it leaves at 645."),
        ("We meet at half past seven", "we meet at 7.30"),
        ("It closes at 9 p.m. today", "it closes at nine PM today"),
        ("Come at 10:00", "come at ten o'clock"),
        ("It costs $12.50.", "it costs twelve dollars and fifty cents"),
        ("5% of €1,250", "five per cent of one thousand two hundred and fifty euros"),
        ("March 3rd, 2027", "March third twenty twenty-seven"),
        ("on April 16th", "on April 16"),
        ("96 meters in Zurich", "96m in Zürich"),
        ("a new e-mail", "a new email"),
    ],
    "de": [
        ("um 8:30 Uhr", "um 8.30"),
        ("um 8:30 Uhr", "um 8,30 Uhr"),
        ("um 8:30 Uhr", "um halb neun"),
        ("um 21 Uhr", "um einundzwanzig"),
        ("12,50 € im Monat", "zwölf Euro fünfzig im Monat"),
        ("5 % auf 1.250 €", "fünf Prozent auf 1250 Euro"),
        ("am 21. Juni 1938", "am einundzwanzigsten Juni neunzehnhundertachtunddreißig"),
        ("im dritten Stock", "im 3. Stock"),
        ("die Straße", "die Strasse"),
        ("zur Bushaltestelle", "zur Bus Haltestelle"),
    ],
    "fr": [
        ("à 6h45", "à six heures quarante-cinq"),
        ("à sept heures et demie", "à 7h30"),
        ("12,50 € ou 8,40 francs", "12 euros 50 ou huit francs quarante"),
        ("5 % de 1\u202f250 €", "cinq pourcent de mille deux cent cinquante euros"),
        ("le 21 juin", "le vingt et un juin"),
        ("le 1er mai, des œufs", "le premier mai, des oeufs"),
    ],
    "it": [
        ("alle 6:45", "alle sei e quarantacinque"),
        ("alle sette e mezza", "alle 7.30"),
        ("12,50 € al mese", "dodici euro e cinquanta al mese"),
        ("il 5% di 1.250 euro", "il cinque percento di milleduecentocinquanta euro"),
    ],
}


@pytest.mark.parametrize(("language", "said", "heard"), [(code, *pair) for code in SAME for pair in SAME[code]])
def test_what_sounds_the_same_has_no_error(language: str, said: str, heard: str) -> None:
    assert wrong(said, heard, language)[1] == 0


@pytest.mark.parametrize(
    ("language", "said", "heard", "errors"),
    [
        ("en", "The roads are closed", "the rows are closed", 1),
        ("en", "at 6:45", "at 6:15", 2),
        ("en", "to €1,250 a month", "to 1,250 a month", 1),
        ("de", "am 3. März", "am 13. März", 1),
        ("de", "um halb acht", "um halb neun", 1),
        ("de", "8,40 Franken", "8,14 Franken", 1),
        ("fr", "le pont", "le bon pont vert", 2),
        ("it", "la metà", "", 2),
    ],
)
def test_what_sounds_otherwise_stays_an_error(language: str, said: str, heard: str, errors: int) -> None:
    assert wrong(said, heard, language)[1] == errors


def test_a_row_of_digits_without_end_is_no_number() -> None:
    assert alike("1" * 5000, "de") == ["ein"] * 5000
