"""The formula of a plan, the fits it is made of, and the command."""

import argparse
import sys

import pytest

from scripts.capacity.__main__ import add_arguments, choices_of, main, traffic_of
from scripts.capacity.fits import Fits, Line, ModelFit, RequestFit
from scripts.capacity.sizing import Choices, Prices, frontend_seconds, rate_of, size
from scripts.capacity.traffic import Share, Traffic

NOTHING = Line()
REQUEST = RequestFit(Line(0.001), NOTHING, Line(per_unit=0.0001), 9.0)


def product() -> Fits:
    text = ModelFit("tokens", Line(0.1, 0.0, 0.001), cores=2.0, max_batch=1, delay=0.0, instances=2)
    voice = ModelFit("phonemes", Line(0.0, 0.0, 0.001), cores=1.0, max_batch=1, delay=0.0, instances=2)
    whisper = ModelFit("seconds of audio", Line(2.0, 1.0, 0.0), 2.0, 2, 0.0, 1, window_seconds=30.0)
    models = {"m3_embedder": text, "m3_reranker": text, "piper_amy": voice, "whisper_turbo": whisper}
    return Fits(2, models, dict.fromkeys(("embeddings", "rerank", "speech", "transcriptions"), REQUEST))


def one(operation: str, mean: float, calls_a_second: float) -> Traffic:
    users = calls_a_second * 86_400
    return Traffic(users, active=1.0, calls=1.0, peak=1.0, shares={operation: Share(1.0, mean)})


def test_a_triton_does_what_its_line_says() -> None:
    # 100 tokens take 0.2 s, and both instances share the two processors that each wants.
    assert rate_of(product(), "embeddings", 100.0) == pytest.approx(500)


def test_instances_that_want_one_processor_each_work_side_by_side() -> None:
    # 100 characters are 210 phoneme ids, 0.21 s; two at once.
    assert rate_of(product(), "speech", 100.0) == pytest.approx(200 / 0.21)


def test_a_clip_takes_as_long_as_the_window_it_is_padded_to() -> None:
    # Two windows in a batch of 4 s are two clips of 10 s.
    assert rate_of(product(), "transcriptions", 10.0) == pytest.approx(5)


def test_the_frontends_time_for_a_request_is_the_sum_of_its_parts() -> None:
    assert frontend_seconds(product(), "embeddings", 100.0) == pytest.approx(0.011)


def test_tritons_are_the_busy_ones_divided_by_the_allowed_share() -> None:
    # 10 calls a second of 0.2 s each keep 2 busy; at 70 % that is 2.86.
    sizes = size(product(), one("embeddings", 100.0, 10.0))
    assert sizes.needs[0].busy == pytest.approx(2)
    assert {pool.name: pool.tritons for pool in sizes.pools} == {"text": 3, "voices": 1, "whisper": 1}


def test_without_one_zone_the_other_tritons_are_enough() -> None:
    sizes = size(product(), one("embeddings", 100.0, 10.0), Choices(zones=3))
    assert [pool.tritons for pool in sizes.pools] == [5, 2, 2]
    assert sizes.pools[0].tritons * 2 / 3 * 0.7 >= sizes.needs[0].busy


def test_larger_tritons_are_fewer_but_have_more_cores() -> None:
    # A text takes 0.58 times as long with 6 threads as with 2, and 8 cores have room for 1.3 of the two instances.
    smaller, larger = (size(product(), one("embeddings", 100.0, 70.0), Choices(cores=cores)) for cores in (2, 8))
    assert [sizes.pools[0].tritons for sizes in (smaller, larger)] == [20, 9]
    assert [sizes.pools[0].cores for sizes in (smaller, larger)] == [40, 72]


def test_a_rate_of_a_gpu_takes_the_place_of_cores() -> None:
    sizes = size(product(), one("transcriptions", 10.0, 100.0), Choices(gpu={"transcriptions": 500.0}))
    whisper = sizes.pools[-1]
    assert (whisper.gpus, whisper.cores) == (3, 0)


def test_the_cost_is_cores_and_gpus_by_the_hour() -> None:
    prices = Prices(core=0.5, gpu=10.0)
    sizes = size(product(), one("transcriptions", 10.0, 100.0), Choices(gpu={"transcriptions": 500.0}, prices=prices))
    assert sizes.cost == pytest.approx(sizes.cores * 0.5 + sizes.gpus * 10.0)
    assert (sizes.cores, sizes.gpus) == (8, 3)


@pytest.mark.parametrize(
    ("choices", "price"),
    [
        # 5 seconds of audio a second of two cores, which work for half of an hour.
        (Choices(busy=0.5, prices=Prices(core=0.1, gpu=10.0)), 0.1 * 2 / (5 * 0.5)),
        (Choices(busy=0.5, prices=Prices(core=0.1, gpu=10.0), gpu={"transcriptions": 100.0}), 10.0 / (100 * 0.5)),
    ],
    ids=["on cores", "on a GPU"],
)
def test_an_hour_of_audio_costs_what_its_machine_does_in_the_time_it_works(choices: Choices, price: float) -> None:
    (need,) = size(product(), one("transcriptions", 10.0, 1.0), choices).needs
    assert need.price == pytest.approx(price)


def test_the_measured_fits_have_every_operation() -> None:
    fits = Fits.load()
    assert {"m3_embedder", "m3_reranker", "piper_amy", "whisper_turbo"} <= fits.models.keys()
    assert fits.requests.keys() == {"embeddings", "rerank", "speech", "transcriptions"}


def test_on_as_many_cores_as_were_measured_nothing_changes() -> None:
    assert product().fitted_to(2) == product()


def test_a_triton_has_the_threads_and_instances_that_are_fitted_to_its_cores() -> None:
    fits = product().fitted_to(64)
    assert fits.cores == 64
    assert {name: (model.cores, model.instances) for name, model in fits.models.items()} == {
        "m3_embedder": (16.0, 2),
        "m3_reranker": (16.0, 2),
        "piper_amy": (1.0, 8),
        "whisper_turbo": (16.0, 3),
    }


def test_a_window_takes_less_time_by_amdahls_law() -> None:
    # Two cores are 1.72 times as fast as one: 16 % is done by one alone, the rest by three threads of four cores.
    alone = 2 / 1.72 - 1
    expected = 3.0 * (alone + (1 - alone) / 3) / (alone + (1 - alone) / 2)
    assert product().fitted_to(4).models["whisper_turbo"].line.seconds(0.0) == pytest.approx(expected)


def test_a_voice_takes_as_long_as_before() -> None:
    assert product().fitted_to(16).models["piper_amy"].line == product().models["piper_amy"].line


def _parsed(options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(options.split())


def test_a_plan_says_what_is_needed_and_what_it_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["capacity", "plan", "--users", "1e6", "--core-hour", "0.1", "--currency", "EUR"])
    main()
    printed = capsys.readouterr().out
    assert "1,000,000 users, 69.4 calls a second at the peak" in printed
    assert "| whisper |" in printed
    assert "EUR an hour" in printed


def test_options_replace_the_assumptions() -> None:
    options = "--users 5e4 --active 0.3 --calls 12 --peak 1 --sizes transcriptions=45"
    traffic = traffic_of(_parsed(f"{options} --shares transcriptions=0.8,embeddings=0.2"))
    assert traffic.peak_rate == pytest.approx(5e4 * 0.3 * 12 / 86_400)
    assert {name: (share.part, share.size) for name, share in traffic.shares.items()} == {
        "transcriptions": (0.8, 45.0),
        "embeddings": (0.2, 200.0),
    }


def test_no_rate_of_a_gpu_is_assumed() -> None:
    assert choices_of(_parsed("")).gpu == {}
    assert choices_of(_parsed("--gpu transcriptions=500")).gpu == {"transcriptions": 500.0}


@pytest.mark.parametrize("wrong", ["--users 0", "--shares songs=1", "--busy 0", "--gpu transcriptions=x"])
def test_an_impossible_value_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parsed(wrong)
    assert "error: argument" in capsys.readouterr().err
