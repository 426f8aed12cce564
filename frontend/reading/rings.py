"""How a text is read aloud: numbers, dates, amounts, abbreviations and units, as speakers of each language say them."""

from frontend.reading.abbreviations import is_abbreviation
from frontend.reading.aloud import split
from frontend.rings import Ring
from frontend.text.sentences import Reader

RINGS = (Ring(reader=Reader(split, is_abbreviation)),)
