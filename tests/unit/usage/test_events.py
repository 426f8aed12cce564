from dataclasses import replace

import pytest

from frontend.usage.events import Identity, event_id

_IDENTITY = Identity("order-66", "/v1/audio/speech", b"what it says")
_ID = event_id("key", _IDENTITY, "tts-1", 12)


def test_a_request_that_is_sent_again_is_known_by_the_same_id() -> None:
    assert event_id("key", replace(_IDENTITY), "tts-1", 12) == _ID


@pytest.mark.parametrize(
    ("key", "identity", "model", "quantity"),
    [
        ("other", _IDENTITY, "tts-1", 12),
        ("key", replace(_IDENTITY, request_id="order-67"), "tts-1", 12),
        ("key", replace(_IDENTITY, path="/api/v1/audio/synthesize"), "tts-1", 12),
        ("key", replace(_IDENTITY, content=b"something else"), "tts-1", 12),
        ("key", _IDENTITY, "tts-1-hd", 12),
        ("key", _IDENTITY, "tts-1", 13),
        ("keyorder-66", replace(_IDENTITY, request_id=""), "tts-1", 12),
        ("key", _IDENTITY, "tts-11", 2),
    ],
)
def test_requests_that_differ_in_anything_are_known_by_other_ids(
    key: str, identity: Identity, model: str, quantity: int
) -> None:
    assert event_id(key, identity, model, quantity) != _ID
