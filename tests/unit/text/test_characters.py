import unicodedata

import pytest

from frontend.text.abbreviations import written_out
from frontend.text.characters import readable


@pytest.mark.parametrize("text", ["Können wir über die Brücke?", "café naïve", "Åre"])
def test_letters_are_composed(text: str) -> None:
    assert readable(unicodedata.normalize("NFD", text)) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The o\ufb03ce", "The office"),
        ("\uff28\uff45\uff4c\uff4c\uff4f", "Hello"),
        ("\U0001d407\U0001d41e\U0001d425\U0001d425\U0001d428", "Hello"),
        ("\u2460 \u338f", "1 kg"),
        ("\u33c2", "a.m."),
        ("a\u00a0b", "a b"),
        ("Dona\u00addampf\u200bschiff\ufeff", "Donadampfschiff"),
        ("don`t don\u2019t don\u00b4t", "don't don't don't"),
        ("e\u2011mail", "e-mail"),
        ("Hel\0lo", "Hel lo"),
    ],
)
def test_letters_are_plain(text: str, plain: str) -> None:
    assert readable(text) == plain


@pytest.mark.parametrize("text", ["½ cup", "x² + y³", "H₂O", "so… on", "5 €", "東京。"])
def test_what_means_something_of_its_own_is_kept(text: str) -> None:
    assert readable(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1'000 Franken", "1000 Franken"),
        ("1’250’000.50", "1250000.50"),
        ("12'34", "12'34"),
        ("'90s and 5'11", "'90s and 5'11"),
        ("1'0000", "1'0000"),
    ],
)
def test_thousands_may_be_parted_by_apostrophes(text: str, number: str) -> None:
    assert readable(text) == number


@pytest.mark.parametrize(
    ("text", "mark"), [("Go!!!", "Go!"), ("Go???", "Go?"), ("Go?!", "Go?"), ("Go!?!!", "Go?"), ("Go!", "Go!")]
)
def test_repeated_marks_become_one(text: str, mark: str) -> None:
    assert readable(text) == mark


def test_a_text_does_not_grow_by_much() -> None:
    every = "".join(chr(code) for code in range(0x20, 0x2FFFF) if not 0xD800 <= code < 0xE000)
    assert max(len(readable(character)) for character in every) <= 4


@pytest.mark.parametrize(
    ("language", "text", "spoken"),
    [
        ("en", "Dr. Smith met Mr. Brown.", "doctor Smith met mister Brown."),
        ("en", "St. Louis, 12 Main St. is far.", "saint Louis, 12 Main street is far."),
        ("en", "12 Main St. The end.", "12 Main street. The end."),
        ("en", "No. 5, but no. Never.", "number 5, but no. Never."),
        (
            "en",
            "Bread, milk, etc. and eggs, etc. Then more, etc.",
            "Bread, milk, et cetera and eggs, et cetera. Then more, et cetera.",
        ),
        ("en", "At 5 p.m. we go. At 6 p.m. We came.", "At 5 p m we go. At 6 p m. We came."),
        ("en", "Fruit, e.g. apples (i.e. red ones)", "Fruit, for example apples (that is red ones)"),
        ("en", "e. g. this", "for example this"),
        ("en", "He is a dr.", "He is a dr."),
        ("en", "example.com, mr.x", "example.com, mr.x"),
        ("de", "Hr. Maier, Fr. Dr. Weber, Nr. 5", "Herr Maier, Frau Doktor Weber, Nummer 5"),
        (
            "de",
            "ca. 20 km, z.B. heute, z. B. morgen, d.h. bald",
            "circa 20 km, zum Beispiel heute, zum Beispiel morgen, das heißt bald",
        ),
        ("de", "Äpfel usw. kaufen. Brot usw. Dann heim.", "Äpfel und so weiter kaufen. Brot und so weiter. Dann heim."),
        (
            "fr",
            "M. Dupont et Mme. Martin, p. 12, p. ex. ici",
            "monsieur Dupont et madame Martin, page 12, par exemple ici",
        ),
        ("fr", "Je suis M. et elle aussi.", "Je suis M. et elle aussi."),
        ("fr", "d'aujourd'hui, aujourd'hui", "d'aujourdhui, aujourd'hui"),
        (
            "it",
            "Il dott. Rossi, la sig.ra Verdi e il sig. Bianchi",
            "Il dottor Rossi, la signora Verdi e il signor Bianchi",
        ),
        ("it", "n. 5, pag. 7, ecc. Poi basta.", "numero 5, pagina 7, eccetera. Poi basta."),
        ("ja", "Dr. Smith", "Dr. Smith"),
    ],
)
def test_abbreviations_are_words(language: str, text: str, spoken: str) -> None:
    assert written_out(text, language) == spoken


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
        ("in der Bahnhofstr. 12", "in der Bahnhofstraße 12"),
        ("Wir waren 12. Dann kam er.", "Wir waren 12. Dann kam er."),
        ("Das war 1999. Mai und Juni", "Das war 1999. Mai und Juni"),
        ("1. Milch\n2. Brot", "1. Milch\n2. Brot"),
        ("um 12.30 Uhr, am 3.5.2024", "um 12.30 Uhr, am 3.5.2024"),
    ],
)
def test_german_numbers_with_a_dot_are_ordinals(text: str, spoken: str) -> None:
    assert written_out(text, "de") == spoken
