"""The languages that Whisper large-v3 knows, by their ISO codes."""

_CODES = """
af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy
id is it ja jv ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa
sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo yue zh
"""
LANGUAGES = frozenset(_CODES.split())
# Whisper's tokens use the code of Javanese that ISO withdrew in 2001.
_IN_TOKENS = {"jv": "jw"}
_FROM_TOKENS = {code: iso for iso, code in _IN_TOKENS.items()}
# The codes that a request may use, including Whisper's own.
CODES = LANGUAGES | _FROM_TOKENS.keys()


def iso_code(code: str) -> str:
    """The ISO code of a code in ``CODES``."""
    return _FROM_TOKENS.get(code, code)


def token_code(iso: str) -> str:
    """Whisper's code of a language."""
    return _IN_TOKENS.get(iso, iso)
