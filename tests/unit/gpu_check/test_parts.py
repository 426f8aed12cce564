"""The parts rehearse on a processor, as small as they can be."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scripts.gpu_check.found import SkippedError
from scripts.gpu_check.job import Job, Tell
from scripts.gpu_check.parts import padded, peak, speech, text, torch_text, torch_whisper, whisper
from scripts.gpu_check.sizes import Size

_SMALLEST = Size(
    layers=1,
    batches=(1,),
    tokens=(8,),
    mixed=(),
    compared=(3, 9),
    whisper_layers=1,
    whisper_width=64,
    windows=(1,),
    spoken=1,
    runs=1,
    product=64,
)
Told = Callable[[Callable[[Job], None]], dict[str, list[dict[str, Any]]]]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """CTranslate2's threads become PyTorch's in the same process, and on a busy machine those wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scripts.machine.processors", lambda: 1)
        yield


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Runs a part, and gives what it tells by its kind."""
    folder = tmp_path_factory.mktemp("work")

    def run(part: Callable[[Job], None]) -> dict[str, list[dict[str, Any]]]:
        stream = io.StringIO()
        part(Job("cpu", _SMALLEST, folder, Tell(stream, "cpu")))
        told: dict[str, list[dict[str, Any]]] = {"fact": [], "check": [], "row": []}
        for line in stream.getvalue().splitlines():
            said = json.loads(line)
            told[said["kind"]].append(said)
        return told

    return run


def _good(found: dict[str, list[dict[str, Any]]], checks: int, rows: int) -> bool:
    assert (len(found["check"]), len(found["row"])) == (checks, rows)
    assert all(row["seconds"]["median"] > 0 for row in found["row"])
    return all(check["difference"] <= check["limit"] for check in found["check"])


@pytest.mark.parametrize("part", [text, padded, torch_text], ids=lambda part: part.__name__.rpartition(".")[2])
def test_a_side_of_texts_gives_the_vectors_of_the_product(told: Told, part: Any) -> None:
    assert _good(told(part.run), checks=2, rows=1)


def test_whisper_is_compared_and_measured_in_each_compute_type(told: Told) -> None:
    assert _good(told(whisper.run), checks=4, rows=4)


def test_pytorchs_whisper_says_what_the_products_says(told: Told) -> None:
    assert _good(told(torch_whisper.run), checks=2, rows=2)


def test_a_whisper_hears_alone_what_it_hears_in_a_batch(told: Told) -> None:
    assert _good(told(speech.run), checks=4, rows=0)


def test_the_peak_is_told_with_what_measured_it(told: Told) -> None:
    facts = {fact["name"]: fact["value"] for fact in told(peak.run)["fact"]}
    assert facts["measured by"] == "ONNX Runtime, 64 x 64 in fp32"
    assert facts["operations a second"] > 0


def test_the_peak_is_measured_by_pytorch_where_that_alone_has_cuda(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise SkippedError("onnxruntime is built without CUDA")

    monkeypatch.setattr(peak, "_by_onnxruntime", missing)
    facts = {fact["name"]: fact["value"] for fact in told(peak.run)["fact"]}
    assert facts["measured by"] == "PyTorch, 64 x 64 in fp32"
