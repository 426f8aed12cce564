"""The tables of the settings' file."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from frontend.catalogue.aliases import Aliases
from frontend.config.pools import Place, PoolSetting
from frontend.config.tables import SettingsError, tables_of


def _read(text: str) -> dict[str, Any]:
    return tables_of(tomllib.loads(text, parse_float=Decimal))


def test_a_file_gives_pools_with_their_models_and_slots() -> None:
    text = """
[pools.gpu]
address = "gpu:8001"
models = ["whisper_turbo", "m3_embedder"]
concurrency = { whisper_turbo = 32 }
[pools.cpu]
address = ["10.0.0.1:8001", "10.0.0.2:8001 b", "[fd00::1]:8001"]
zone = "a"
"""
    gpu, cpu = _read(text)["pools"]
    models = ("whisper_turbo", "m3_embedder", "piper_amy")
    assert (gpu.name, gpu.read()) == ("gpu", [Place("gpu", 8001)])
    assert gpu.slots(models, 0) == {"whisper_turbo": 32, "m3_embedder": 0}
    assert cpu.slots(models, 4) == {"whisper_turbo": 4, "m3_embedder": 4, "piper_amy": 4}
    assert [(str(place), place.zone) for place in cpu.read()] == [
        ("10.0.0.1:8001", "a"),
        ("10.0.0.2:8001", "b"),
        ("[fd00::1]:8001", "a"),
    ]


def test_the_addresses_of_a_pool_can_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "text.pool"
    file.write_text("# by hand\n10.0.0.1:8001\n\n10.0.0.2:8001 b # another zone\n", encoding="utf-8")
    (pool,) = _read(f"[pools.text]\nfile = '{file}'")["pools"]
    assert pool.read() == [Place("10.0.0.1", 8001), Place("10.0.0.2", 8001, "b")]


def test_a_byte_order_mark_is_no_part_of_a_pools_first_address(tmp_path: Path) -> None:
    file = tmp_path / "text.pool"
    file.write_text("\ufeff10.0.0.1:8001\n", encoding="utf-8")
    (pool,) = _read(f"[pools.text]\nfile = '{file}'")["pools"]
    assert pool.read() == [Place("10.0.0.1", 8001)]


def test_a_certificate_is_for_the_host_in_the_address_unless_another_is_named() -> None:
    text = "[pools.a]\naddress = 'a:1'\nca = 'ca'\n[pools.b]\naddress = 'b:1'\nca = 'ca'\nserver_name = 'c'"
    one, other = _read(text)["pools"]
    assert [one.tls("a").name, other.tls("b").name] == ["a", "c"]
    assert PoolSetting("a", ("a:1",)).tls("a") is None


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


def test_a_file_gives_aliases() -> None:
    text = """
[aliases]
ignore = ["user", "stream"]
speech_format = "mp3"
[aliases.models]
whisper-1 = "stt-1"
[aliases.voices]
alloy = "amy"
"""
    assert _read(text)["aliases"] == Aliases({"whisper-1": "stt-1"}, {"alloy": "amy"}, ("user", "stream"), "mp3")
    assert not _read("")["aliases"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("limits = 1", "limits"),
        ("[limits]\nembedding = 1", "limits.embedding"),
        ("[limits]\nembeddings = 0", "limits.embeddings"),
        ("[limits]\nembeddings = true", "limits.embeddings"),
        ("[tiers.gold]\nembeddings = 1", "tiers.gold"),
        ("pools = 1", "pools"),
        ("[pools.a]\nadress = 'x:1'", "pools.a.adress"),
        ("[pools.a]\naddress = 'x'", "pools.a.address"),
        ("[pools.a]\naddress = 'x:99999'", "pools.a.address"),
        ("[pools.a]\naddress = ['x:1', 'y:1 a b']", "pools.a.address"),
        ("[pools.a]\nmodels = ['m']", "pools.a"),
        ("[pools.a]\naddress = 'x:1'\nfile = 'y'", "pools.a"),
        ("[pools.a]\nfile = '/nowhere'", "pools.a.file"),
        ("[pools.a]\naddress = 'x:1'\nname = 'b'", "pools.a.name"),
        ("[pools.a]\naddress = 'x:1'\nzone = 1", "pools.a.zone"),
        ("[pools.a]\naddress = 'x:1'\nca = 'c'\nkey = 'k'", "pools.a.key"),
        ("[pools.a]\naddress = 'x:1'\ncertificate = 'c'\nkey = 'k'", "pools.a.certificate"),
        ("[pools.a]\naddress = 'x:1'\nserver_name = 'c'", "pools.a.server_name"),
        ("[pools.a]\naddress = 'x:1'\nmodels = 'm'", "pools.a.models"),
        ("[pools.a]\naddress = 'x:1'\nconcurrency.m = 0", "pools.a.concurrency.m"),
        ("[floors.m3_embedder]\nacme = 'two'", "floors.m3_embedder.acme"),
        ("[prices.gpt-4]\nminute = 1", "prices.gpt-4"),
        ("[prices.stt-1]\nhour = 1", "prices.stt-1"),
        ("[prices.stt-1]\nminute = -1", "prices.stt-1.minute"),
        ("[prices.stt-1]\nminute = 0.0000001", "prices.stt-1.minute"),
        ("[prices.stt-1]\nminute = 'free'", "prices.stt-1.minute"),
        ("prices = 1", "prices"),
        ("aliases = 1", "aliases"),
        ("[aliases]\nmodel = 1", "aliases.model"),
        ("[aliases.models]\nwhisper-1 = 1", "aliases.models.whisper-1"),
        ("[aliases.models]\n' ' = 'stt-1'", "aliases.models"),
        ("[aliases]\nignore = 'user'", "aliases.ignore"),
        ("[aliases]\nspeech_format = 'opus'", "aliases.speech_format"),
    ],
)
def test_a_bad_table_is_refused_by_name(text: str, place: str) -> None:
    with pytest.raises(SettingsError, match=f"^{place}:"):
        _read(text)
