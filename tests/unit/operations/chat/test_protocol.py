"""What goes to the upstream."""

import json

import pytest

from frontend.errors import InvalidRequest
from frontend.operations.chat.protocol import with_usage


@pytest.mark.parametrize("name", ["stream_options", "stream\\u005foptions"])
@pytest.mark.parametrize("value", ["null", "{}", '{"include_usage": false, "other": 1}'])
def test_the_wish_for_usage_takes_the_place_of_another_however_its_name_is_written(name: str, value: str) -> None:
    body = f'{{"model": "m", "{name}": {value}}}'.encode()
    pairs = json.loads(with_usage(body), object_pairs_hook=list)
    assert [name for name, _ in pairs] == ["model", "stream_options"]
    assert dict(dict(pairs)["stream_options"])["include_usage"] is True


@pytest.mark.parametrize("said", ['"stream_options"', '"\\u00e9"', "1e400", "9" * 5_000])
def test_a_body_without_the_options_is_sent_as_it_was_written(said: str) -> None:
    body = f'{{ "model": "é \\u00e9", "other":  {said} }}'.encode()
    assert with_usage(body) == b'{"stream_options":{"include_usage":true},' + body[1:]


@pytest.mark.parametrize("number", ["9" * 5_000, "1e400"])
def test_a_number_that_cannot_be_written_anew_is_refused(number: str) -> None:
    with pytest.raises(InvalidRequest, match="too long or too large"):
        with_usage(f'{{"stream_options": null, "seed": {number}}}'.encode())
