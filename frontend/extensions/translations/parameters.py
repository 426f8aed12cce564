"""What translations take, and a request of it."""

from dataclasses import replace

from frontend.catalogue.models import Served
from frontend.http.form import Form
from frontend.operations.transcription.protocol import TranscriptionRequest, request_of
from frontend.parameters.forms import FormTable
from frontend.parameters.kinds import ModelName
from frontend.parameters.transcription import FILE, OF_CLIENTS, OF_TRANSLATIONS_TOO, Stream

# No extension streams translations.
_NONE = "none"
PARAMETERS = FormTable(
    FILE,
    ModelName(named=Served.translators, default=lambda served: next(iter(served.translators()))),
    *OF_TRANSLATIONS_TOO,
    Stream("stream", needs=_NONE),
    of_clients=OF_CLIENTS,
)


def parse(form: Form, served: Served) -> TranscriptionRequest:
    """Parse the form."""
    return replace(request_of(PARAMETERS.read_form(form.fields, form.file, served), served), translate=True)
