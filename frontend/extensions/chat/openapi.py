"""The OpenAPI description of chat, which exists if an upstream is set."""

from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment, json_content, post

_BODY = {"type": "object"}
_COMPLETION = json_content(_BODY, {"model": "a-model", "messages": [{"role": "user", "content": "Hello."}]})
_RESPONSE = json_content(_BODY, {"model": "a-model", "input": "Hello."})
_ANSWER = {"content": {"application/json": {"schema": {}}, "text/event-stream": {"schema": {"type": "string"}}}}
_TEXT = "Forwarded to the server that chat_upstream names; streaming works."


def describe(served: Served) -> OpenApiFragment:
    return OpenApiFragment(
        {
            "/v1/chat/completions": post(
                "createChatCompletion", "Chat completions", _COMPLETION, _ANSWER, description=_TEXT
            ),
            "/v1/responses": post("createResponse", "Responses", _RESPONSE, _ANSWER, description=_TEXT),
        }
    )
