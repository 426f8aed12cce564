"""The OpenAPI description of chat, which exists if an upstream is set."""

from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment, json_content

_BODY = {"type": "object"}
_COMPLETION = json_content(_BODY, {"model": "a-model", "messages": [{"role": "user", "content": "Hello."}]})
_RESPONSE = json_content(_BODY, {"model": "a-model", "input": "Hello."})
_ANSWER = {"content": {"application/json": {"schema": {}}, "text/event-stream": {"schema": {"type": "string"}}}}
_TEXT = "Forwarded to the server that chat_upstream names; streaming works."


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    for path, name, summary, body in (
        ("/v1/chat/completions", "createChatCompletion", "Chat completions", _COMPLETION),
        ("/v1/responses", "createResponse", "Responses", _RESPONSE),
    ):
        own.post(path, name, summary, body, _ANSWER, description=_TEXT)
    return own
