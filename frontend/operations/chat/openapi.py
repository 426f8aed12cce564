"""What the OpenAPI document says of chat, where an upstream is set."""

from typing import Any

_BODY = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
_ANSWER = {
    "content": {"application/json": {"schema": {}}, "text/event-stream": {"schema": {"type": "string"}}},
}


def _operation(summary: str) -> dict[str, Any]:
    text = "Forwarded as it is to the server that chat_upstream names, streaming included."
    return {
        "post": {"summary": summary, "description": text, "requestBody": _BODY, "responses": {"200": _ANSWER}},
    }


PATHS: dict[str, Any] = {
    "/v1/chat/completions": _operation("Chat completions"),
    "/v1/responses": _operation("Responses"),
}
