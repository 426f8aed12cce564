"""The OpenAPI description of live sessions. OpenAPI has no words for a WebSocket's events; the guide has them."""

from frontend.catalogue.models import Served
from frontend.extensions.realtime.pipeline import PATH
from frontend.extensions.realtime.protocol import QUERY
from frontend.http.schemas import OpenApiFragment

_DESCRIPTION = (
    "A WebSocket. The client sends audio as events of OpenAI's transcription sessions, and reads the words as they are "
    "transcribed."
)


def describe(served: Served) -> OpenApiFragment:
    operation = {
        "operationId": "transcribeLive",
        "summary": "Live speech to text",
        "description": _DESCRIPTION,
        "parameters": [{"name": each.name, "in": "query", "schema": each.schema(served)} for each in QUERY],
        "responses": {"101": {}},
    }
    return OpenApiFragment(served, {PATH: {"get": operation}})
