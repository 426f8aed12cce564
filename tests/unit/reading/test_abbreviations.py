import pytest

from frontend.reading.abbreviations import written_out


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
        ("en", "At 5 p.m. we go. At 6 p.m. We came.", "At 5 PM we go. At 6 PM. We came."),
        ("en", "Fruit, e.g. apples (i.e. red ones)", "Fruit, for example apples (that is red ones)"),
        ("en", "e. g. this", "for example this"),
        ("en", "He is a dr.", "He is a dr."),
        ("en", "example.com, mr.x", "example.com, mr.x"),
        ("de", "Hr. Maier, Fr. Dr. Weber, Nr. 5", "Herr Maier, Frau Doktor Weber, Nummer 5"),
        (
            "de",
            "ca. 20 km, z.B. heute, z. B. morgen, d.h. bald",
            "zirka 20 km, zum Beispiel heute, zum Beispiel morgen, das heißt bald",
        ),
        ("de", "Äpfel usw. kaufen. Brot usw. Dann heim.", "Äpfel und so weiter kaufen. Brot und so weiter. Dann heim."),
        (
            "fr",
            "M. Dupont et Mme. Martin, p. 12, p. ex. ici",
            "monsieur Dupont et madame Martin, page 12, par exemple ici",
        ),
        ("fr", "Je suis M. et elle aussi.", "Je suis M. et elle aussi."),
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
