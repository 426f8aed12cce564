"""Abbreviations and ordinals written out: espeak-ng takes the dot behind one for the end of a sentence."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

# Characters that are looked at before and behind a dot.
_NEAR = 40


@dataclass(frozen=True)
class _Abbreviations:
    """Of one language, by what they stand before: a word with a capital, a number, or anything.

    Those ``at_ends`` end a sentence too, where a word of ``beginnings`` follows with a capital.
    """

    of_names: dict[str, str]
    of_numbers: dict[str, str]
    anywhere: dict[str, str]
    at_ends: dict[str, str]
    beginnings: frozenset[str] = field(default=frozenset())

    @property
    def spoken(self) -> dict[str, str]:
        return {**self.of_names, **self.of_numbers, **self.anywhere, **self.at_ends}


_LANGUAGES = {
    "en": _Abbreviations(
        of_names={
            "st": "saint",
            "mt": "mount",
            "gen": "general",
            "col": "colonel",
            "capt": "captain",
            "lt": "lieutenant",
            "sgt": "sergeant",
            "rev": "reverend",
            "sen": "senator",
            "gov": "governor",
            "rep": "representative",
            "pres": "president",
        },
        of_numbers={
            "no": "number",
            "nos": "numbers",
            "fig": "figure",
            "vol": "volume",
            "p": "page",
            "pp": "pages",
            "ch": "chapter",
            "jan": "January",
            "feb": "February",
            "mar": "March",
            "apr": "April",
            "jun": "June",
            "jul": "July",
            "aug": "August",
            "sep": "September",
            "sept": "September",
            "oct": "October",
            "nov": "November",
            "dec": "December",
        },
        anywhere={
            "mr": "mister",
            "mrs": "missus",
            "ms": "miz",
            "dr": "doctor",
            "prof": "professor",
            "vs": "versus",
            "e.g": "for example",
            "i.e": "that is",
            "approx": "approximately",
            "dept": "department",
            "ca": "circa",
            "cf": "compare",
            "ph.d": "PhD",
        },
        at_ends={
            "st": "street",
            "ave": "avenue",
            "blvd": "boulevard",
            "rd": "road",
            "etc": "et cetera",
            "a.m": "a m",
            "p.m": "p m",
            "inc": "incorporated",
            "ltd": "limited",
            "co": "company",
            "corp": "corporation",
            "jr": "junior",
            "sr": "senior",
        },
        beginnings=frozenset(
            "the a an it he she we they i you this that these those then there here but and or so in at on for if when "
            "what who how why my his her our their no yes not after before".split()
        ),
    ),
    "de": _Abbreviations(
        of_names={"hr": "Herr", "fr": "Frau", "st": "Sankt", "dipl": "Diplom", "ing": "Ingenieur"},
        of_numbers={"s": "Seite", "abs": "Absatz", "art": "Artikel", "kap": "Kapitel", "bd": "Band"},
        anywhere={
            "dr": "Doktor",
            "prof": "Professor",
            "nr": "Nummer",
            "bzw": "beziehungsweise",
            "z.b": "zum Beispiel",
            "d.h": "das heißt",
            "u.a": "unter anderem",
            "v.a": "vor allem",
            "u.u": "unter Umständen",
            "z.t": "zum Teil",
            "i.d.r": "in der Regel",
            "ca": "circa",
            "evtl": "eventuell",
            "ggf": "gegebenenfalls",
            "inkl": "inklusive",
            "exkl": "exklusive",
            "zzgl": "zuzüglich",
            "sog": "sogenannte",
            "geb": "geboren",
            "mind": "mindestens",
            "tel": "Telefon",
            "vgl": "vergleiche",
            "bspw": "beispielsweise",
        },
        at_ends={
            "usw": "und so weiter",
            "etc": "et cetera",
            "o.ä": "oder Ähnliches",
            "str": "Straße",
            "jh": "Jahrhundert",
            "mio": "Millionen",
            "mrd": "Milliarden",
        },
        beginnings=frozenset(
            "der die das ein eine er sie es wir ihr ich du man dieser diese dieses dann danach da dort hier heute aber "
            "und oder so in im am an auf für wenn als was wer wie warum mein sein nicht nein ja alle".split()
        ),
    ),
    "fr": _Abbreviations(
        of_names={
            "m": "monsieur",
            "mm": "messieurs",
            "mme": "madame",
            "mmes": "mesdames",
            "mlle": "mademoiselle",
            "mlles": "mesdemoiselles",
            "dr": "docteur",
            "pr": "professeur",
            "me": "maître",
            "st": "saint",
            "ste": "sainte",
        },
        of_numbers={
            "p": "page",
            "no": "numéro",
            "vol": "volume",
            "chap": "chapitre",
            "art": "article",
            "fig": "figure",
        },
        anywhere={
            "p.ex": "par exemple",
            "c.-à-d": "c'est-à-dire",
            "av": "avenue",
            "bd": "boulevard",
            "env": "environ",
            "cf": "confer",
            "tél": "téléphone",
        },
        at_ends={"etc": "et cetera", "av.j.-c": "avant Jésus-Christ", "apr.j.-c": "après Jésus-Christ"},
        beginnings=frozenset(
            "le la les l un une des il elle on nous vous ils elles je tu ce c cette ces puis alors mais et ou donc dans "
            "en à au aux pour si quand que qui comment pourquoi mon son sa notre leur non oui après avant ici là".split()
        ),
    ),
    "it": _Abbreviations(
        of_names={
            "sig": "signor",
            "sig.ra": "signora",
            "sig.na": "signorina",
            "sigg": "signori",
            "dott": "dottor",
            "dott.ssa": "dottoressa",
            "dr": "dottor",
            "dr.ssa": "dottoressa",
            "prof": "professor",
            "prof.ssa": "professoressa",
            "ing": "ingegner",
            "avv": "avvocato",
            "arch": "architetto",
            "geom": "geometra",
            "on": "onorevole",
        },
        of_numbers={"n": "numero", "nr": "numero", "p": "pagina", "pag": "pagina", "pp": "pagine", "art": "articolo"},
        anywhere={
            "es": "esempio",
            "p.es": "per esempio",
            "cfr": "confronta",
            "tel": "telefono",
            "ca": "circa",
            "cap": "capitolo",
            "vol": "volume",
        },
        at_ends={"ecc": "eccetera", "a.c": "avanti Cristo", "d.c": "dopo Cristo"},
        beginnings=frozenset(
            "il lo la i gli le l un uno una è e o ma poi allora questo questa quello quella in nel nella a al alla di "
            "da per se quando che chi come perché mio suo nostro loro non no sì dopo prima qui là io tu noi voi".split()
        ),
    ),
}
_FIRST_WORD = re.compile(r"[\"'«»“”(\[]*([^\W\d_]+)")
_INITIALS = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.\s?)+$|(?<![^\W_])(?:[^\W\d_]{1,2}\.){2,}$")


def _pattern(its: _Abbreviations) -> re.Pattern[str]:
    names = "|".join(_name_pattern(name) for name in sorted(its.spoken, key=len, reverse=True))
    return re.compile(rf"(?<![\w.])({names})(?![\w.])", re.IGNORECASE)


def _name_pattern(name: str) -> str:
    """With its dot, which does not stand behind the ending of a word, as in sig.ra."""
    _, dot, last = name.rpartition(".")
    return re.escape(name).replace(r"\.", r"\.\s?") + (r"\.?" if dot and len(last) > 1 else r"\.")


_PATTERNS = {language: _pattern(its) for language, its in _LANGUAGES.items()}


def written_out(text: str, language: str) -> str:
    """The text with its abbreviations as words; a dot stays where a sentence ends as well."""
    if not (its := _LANGUAGES.get(language)):
        return text
    text = _PATTERNS[language].sub(_writes_out(text, its), text)
    if language == "de":
        return _ORDINAL.sub(_ordinal, text)
    return _TODAY.sub("aujourdhui", text) if language == "fr" else text


def _writes_out(text: str, its: _Abbreviations) -> Callable[[re.Match[str]], str]:
    def word(found: re.Match[str]) -> str:
        name = re.sub(r"\s", "", found[1]).rstrip(".").lower()
        following = text[found.end() : found.end() + _NEAR]
        next_one = following.lstrip()[:1]
        begins = _begins(following, its)
        if name in its.of_names and next_one.isupper() and not (begins and name in its.at_ends):
            return its.of_names[name]
        if name in its.of_numbers and next_one.isdigit():
            return its.of_numbers[name]
        if name in its.anywhere and next_one:
            return its.anywhere[name]
        if name in its.at_ends:
            ends = not next_one or following.startswith("\n") or begins
            return its.at_ends[name] + ("." if ends else "")
        return found[0]

    return word


def begins_sentence(following: str, language: str) -> bool:
    """Whether a text begins with a capital and a word that sentences often begin with."""
    its = _LANGUAGES.get(language)
    return its is not None and _begins(following[:_NEAR], its)


def _begins(following: str, its: _Abbreviations) -> bool:
    first = _FIRST_WORD.match(following.lstrip())
    return first is not None and first[1][0].isupper() and first[1].lower() in its.beginnings


def ends_with_initials(text: str) -> bool:
    """Whether the dot that ends a text is that of single letters, as in J. K. and U.S."""
    return _INITIALS.search(text[-_NEAR:]) is not None


_ORDINAL = re.compile(r"(?<![\w.,:])(\d{1,2})\.(?=[^\S\n]+([^\W\d_]+))")
# espeak-ng reads it in English behind an apostrophe.
_TODAY = re.compile(r"(?<=')aujourd'hui", re.IGNORECASE)
_UNITS = "ein zwei drei vier fünf sechs sieben acht neun".split()
_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
_FIRST = (
    "nullte erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte dreizehnte vierzehnte "
    "fünfzehnte sechzehnte siebzehnte achtzehnte neunzehnte"
).split()
# Behind these the ordinal ends with an n, and behind "der" if a preposition stands before that.
_DATIVE = frozenset("am im vom zum zur beim dem den des einem einen eines einer ab seit bis".split())
_PREPOSITIONS = frozenset("an auf aus bei in mit nach neben seit unter von vor zu zwischen über".split())


def _ordinal(found: re.Match[str]) -> str:
    """A number with a dot before a word, in German; at the start of a line it numbers a list."""
    before = found.string[max(0, found.start() - _NEAR) : found.start()].rsplit("\n", 1)[-1].lower().split()
    if not before or begins_sentence(found[2], "de"):
        return found[0]
    number = int(found[1])
    tens, unit = divmod(number, 10)
    unit_first = f"{_UNITS[unit - 1]}und" if unit else ""
    spoken = _FIRST[number] if number < len(_FIRST) else f"{unit_first}{_TENS[tens - 2]}ste"
    inflected = before[-1] in _DATIVE or (before[-1] == "der" and before[-2:-1] and before[-2] in _PREPOSITIONS)
    return f"{spoken}n" if inflected else spoken
