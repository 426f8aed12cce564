"""Writes out addresses of web pages and mail, whose dots espeak-ng leaves out in most languages."""

import re

from frontend.reading.languages import language

_OPENING = "\"'(<«„“"
_CLOSING = "\"')>»“”.,;:!?…"
_DOMAINS = r"com|org|net|info|eu|io|ai|dev|app|ch|de|fr|it|at|li|uk|us|be|es|nl|edu|gov"
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WEB = re.compile(
    rf"(?:[Hh]ttps?://|www\.)\S+|[a-zA-Z0-9äöüéè-]{{2,}}(?:\.[a-zA-Z0-9-]+)*\.(?:{_DOMAINS})(?::\d+)?(?:/\S*)?"
)
_FILE = re.compile(
    r"[\w-]+(?:\.[\w-]+)*\.(?:pdf|docx?|xlsx?|pptx?|txt|zip|jpe?g|png|gif|svg|mp[34]|wav|csv|html?|json|xml|js|py|exe)"
)
_SCHEME = re.compile(r"^https?://", re.IGNORECASE)
_QUERY = re.compile(r"/?[?#].*", re.DOTALL)
_SPELLED = re.compile(r"(?:(?<=\.)|(?<=^))(www|[a-z]{2}|pdf|txt|csv|xml|html|jpg|png|mp3|mp4|svg)(?=$|[./:])")


def written_out(text: str, code: str) -> str:
    """The text with addresses as words. The scheme of a web address and its query are left out."""
    if (spoken := language(code)) is None or "." not in text:
        return text
    signs: dict[str, str] = spoken.tables["addresses"]
    return " ".join(_word(word, signs) if "." in word else word for word in text.split(" "))


def _word(word: str, signs: dict[str, str]) -> str:
    behind_opening = word.lstrip(_OPENING)
    opening = word[: len(word) - len(behind_opening)]
    address = behind_opening.rstrip(_CLOSING)
    closing = behind_opening[len(address) :]
    if not any(pattern.fullmatch(address) for pattern in (_MAIL, _WEB, _FILE)):
        return word
    address = _QUERY.sub("", _SCHEME.sub("", address))
    address = _SPELLED.sub(lambda match: signs.get(match[1]) or " ".join(match[1].upper()), address)
    said = "".join(f" {signs[sign]} " if sign in signs else sign for sign in address.rstrip("/"))
    return f"{opening}{' '.join(said.split())}{closing}"
