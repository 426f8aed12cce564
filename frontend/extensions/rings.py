"""Every extension that has code of its own."""

from frontend.extensions.chat.ring import CHAT
from frontend.extensions.dialects.ring import DIALECTS
from frontend.extensions.realtime.ring import REALTIME
from frontend.extensions.sparse.ring import SPARSE
from frontend.extensions.streams.ring import SPEECH, TRANSCRIPTS
from frontend.extensions.subtitles.ring import SUBTITLES
from frontend.extensions.translations.ring import TRANSLATIONS
from frontend.extensions.voices.ring import VOICES

RINGS = (CHAT, REALTIME, TRANSLATIONS, DIALECTS, VOICES, SUBTITLES, SPEECH, TRANSCRIPTS, SPARSE)
