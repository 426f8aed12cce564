"""The tables of the settings' file."""

import tomllib
from decimal import Decimal
from typing import Any

import pytest

from frontend.config.tables import SettingsError, tables_of


def _read(text: str) -> dict[str, Any]:
    return tables_of(tomllib.loads(text, parse_float=Decimal))


def test_a_file_gives_backends_with_their_models_and_slots() -> None:
    text = """
[backends.gpu]
address = "gpu:8001"
models = ["whisper_turbo", "m3_embedder"]
concurrency = { whisper_turbo = 32 }
[backends.cpu]
address = "cpu:8001"
"""
    gpu, cpu = _read(text)["backends"]
    models = ("whisper_turbo", "m3_embedder", "piper_amy")
    assert (gpu.name, gpu.address) == ("gpu", "gpu:8001")
    assert gpu.slots(models, 0) == {"whisper_turbo": 32, "m3_embedder": 0}
    assert cpu.slots(models, 4) == {"whisper_turbo": 4, "m3_embedder": 4, "piper_amy": 4}


def test_a_file_gives_floors_by_model_and_owner() -> None:
    text = "[floors.whisper_turbo]\nacme = 2\n'org:key:b' = 3\n'key:4f' = 1\n"
    assert _read(text)["floors"] == {"whisper_turbo": {"org:acme": 2, "org:key:b": 3, "key:4f": 1}}


def test_a_file_gives_prices_in_chf() -> None:
    text = "[prices.embed-m3]\nmillion_tokens = 0.02\n[prices.stt-1]\nminute = '0.012'\n"
    prices = _read(text)["prices"]
    assert (prices["embed-m3"].micro_chf, prices["stt-1"].micro_chf, prices["stt-1-hd"].micro_chf) == (
        20_000,
        12_000,
        6_000,
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("limits = 1", "limits"),
        ("[limits]\nembedding = 1", "limits.embedding"),
        ("[limits]\nembeddings = 0", "limits.embeddings"),
        ("[limits]\nembeddings = true", "limits.embeddings"),
        ("[tiers.gold]\nembeddings = 1", "tiers.gold"),
        ("backends = 1", "backends"),
        ("[backends.a]\nadress = 'x:1'", "backends.a.adress"),
        ("[backends.a]\naddress = 'x'", "backends.a.address"),
        ("[backends.a]\naddress = 'x:1'\nmodels = 'm'", "backends.a.models"),
        ("[backends.a]\naddress = 'x:1'\nconcurrency.m = 0", "backends.a.concurrency.m"),
        ("[floors.m3_embedder]\nacme = 'two'", "floors.m3_embedder.acme"),
        ("[prices.gpt-4]\nminute = 1", "prices.gpt-4"),
        ("[prices.stt-1]\nhour = 1", "prices.stt-1"),
        ("[prices.stt-1]\nminute = -1", "prices.stt-1.minute"),
        ("[prices.stt-1]\nminute = 0.0000001", "prices.stt-1.minute"),
        ("[prices.stt-1]\nminute = 'free'", "prices.stt-1.minute"),
        ("prices = 1", "prices"),
    ],
)
def test_a_bad_table_is_refused_by_name(text: str, place: str) -> None:
    with pytest.raises(SettingsError, match=f"^{place}:"):
        _read(text)
