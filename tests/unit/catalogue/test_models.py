"""What is offered, and what of it a deployment serves."""

import pytest

from frontend.catalogue.models import MODELS, PRICES, Served


def test_a_deployment_serves_everything_but_chat_by_default() -> None:
    assert set(Served.of().ids()) == MODELS.keys() - {"chat"}


def test_what_is_named_is_served_in_the_catalogues_order() -> None:
    assert Served.of("embed-m3, stt-1").ids() == ("stt-1", "embed-m3")


def test_the_triton_models_are_those_of_the_models_and_voices_served() -> None:
    assert Served.of("tts-1,tts-1-hd,rerank-v2-m3", "amy,siwis").triton_models == (
        "piper_amy",
        "piper_siwis",
        "m3_reranker",
    )


def test_without_speech_no_voice_is_served() -> None:
    assert Served.of("embed-m3").triton_models == ("m3_embedder",)


def test_a_language_has_no_default_voice_where_that_is_not_served() -> None:
    assert Served.of(voices="amy,riccardo").defaults_by_language == {"en": "amy"}


@pytest.mark.parametrize("names", ["stt-9", "stt-1,", "", "chat"])
def test_a_model_that_there_is_not_cannot_be_served(names: str) -> None:
    with pytest.raises(ValueError, match="there is no '"):
        Served.of(names)


def test_every_model_has_a_price() -> None:
    assert PRICES.keys() == MODELS.keys()
