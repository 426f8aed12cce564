"""The symbols on which Kokoro was trained, for those of espeak-ng.

They are those of misaki 0.9 (``espeak.py``), which gets the two symbols of one sound with a tie. Without ties they are
told from two sounds by the language: only German and Italian have words with the affricates ts and dz.
"""

from collections.abc import Mapping

# In order, by the name of the voice in espeak-ng; "" is for all others.
Replacements = tuple[tuple[str, str], ...]

_ALL = (
    ("aɪ", "I"),
    ("aʊ", "W"),
    ("dʒ", "ʤ"),
    ("eɪ", "A"),
    ("oʊ", "O"),
    ("əʊ", "Q"),
    ("tʃ", "ʧ"),
    ("ɔɪ", "Y"),
    ("-", ""),
)
_AFFRICATES = (("ts", "ʦ"), ("dz", "ʣ"))
_ENGLISH = (
    *(("ʔˌn\u0329", "ʔn"), ("ʔn\u0329", "ʔn"), ("n\u0329", "ᵊn"), ("l\u0329", "ᵊl")),
    *_ALL,
    *(("e", "A"), ("ʲ", ""), ("ɚ", "əɹ"), ("r", "ɹ"), ("x", "k"), ("ç", "k"), ("ɐ", "ə"), ("ɬ", "l"), ("\u0303", "")),
    *(("o", "ɔ"), ("ʔ", "t")),
)
_AMERICAN = (("ɜːɹ", "ɜɹ"), ("ɜː", "ɜɹ"), ("ɪə", "iə"), ("ː", ""), ("ɾ", "T"))
_BRITISH = (("eə", "ɛː"), ("iə", "ɪə"))
REPLACEMENTS: Mapping[str, Replacements] = {
    "": _ALL,
    # Kokoro has not learned the short ü, nor the dark l of foreign names.
    "de": (*_ALL, *_AFFRICATES, ("ʏ", "y"), ("ɫ", "l")),
    "it": (*_ALL, *_AFFRICATES),
    "en-us": (*_ENGLISH, *_AMERICAN),
    # Before "e" alone becomes "A".
    "en-gb-x-rp": (*_BRITISH, *_ENGLISH),
}
