"""What a file claims to be, from its first bytes: puremagic's families, for messages and for clear refusals.

puremagic does not know every MP3 or AMR, so it only refuses what it knows to be something else; the decoder judges
the rest.
"""

import puremagic

HEAD_BYTES = 4096
_FAMILIES = {
    "audio/wav": {".wav"},
    "audio/mpeg": {".mp3", ".mpga", ".mp1", ".mp2", ".koz"},
    "video/mp4": {".mp4", ".m4a", ".m4v", ".f4a", ".f4b", ".3ga", ".3gp", ".3gpp", ".3gpp2", ".mov"},
    "application/ogg": {".ogg", ".oga", ".ogv", ".opus"},
    "video/webm": {".webm", ".mkv", ".mka"},
    "audio/flac": {".flac"},
    "audio/amr": {".amr"},
}
_UNSURE = 0.2
# Matches that puremagic gives to runs of equal bytes and to raw samples.
_NOISE = {".xxx", ".sub", ".sndr", ""}
UNKNOWN = "application/octet-stream"
ACCEPTED = "WAV, MP3, M4A, MP4, Ogg, WebM, FLAC, 3GPP"


def recognise(head: bytes) -> tuple[str, bool]:
    """The content type of a file by its first ``HEAD_BYTES``, and whether it is one that is accepted.

    ``UNKNOWN`` may still be audio.
    """
    try:
        matches = puremagic.magic_string(head[:HEAD_BYTES])
    except (puremagic.PureError, ValueError):
        return UNKNOWN, False
    matches = [m for m in matches if m.extension not in _NOISE and m.confidence > _UNSURE]
    # Every RIFF file looks a little like a WAV: only the surest matches count.
    best = max((match.confidence for match in matches), default=0)
    extensions = {match.extension for match in matches if match.confidence == best}
    for content_type, family in _FAMILIES.items():
        if extensions & family:
            return content_type, True
    for match in matches:
        if match.mime_type:
            return str(match.mime_type), False
    return UNKNOWN, False
