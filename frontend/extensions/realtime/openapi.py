"""The OpenAPI description of live sessions. OpenAPI has no words for a WebSocket's events; the guide has them."""

from frontend.catalogue.models import TRANSCRIPTIONS, Served
from frontend.extensions.realtime.pipeline import PATH
from frontend.http.schemas import OpenApiFragment, one_of

_DESCRIPTION = (
    "A WebSocket. The client sends audio as events of OpenAI's transcription sessions, and reads the words as they are "
    "heard."
)


def describe(served: Served) -> OpenApiFragment:
    models = list(served.model_names(TRANSCRIPTIONS))
    parameters = [
        {"name": "intent", "in": "query", "schema": one_of(["transcription"], default="transcription")},
        {"name": "model", "in": "query", "schema": one_of(models, default=models[0])},
    ]
    operation = {
        "operationId": "transcribeLive",
        "summary": "Live speech to text",
        "description": _DESCRIPTION,
        "parameters": parameters,
        "responses": {"101": {}},
    }
    return OpenApiFragment({PATH: {"get": operation}})
