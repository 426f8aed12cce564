"""What is there, and why a part is skipped without what is not."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.gpu_check import found
from scripts.gpu_check.found import SkippedError, require


def _lacking() -> Iterator[str]:
    yield "no such thing for CUDA"


@pytest.fixture
def with_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "Card", lambda: None)


def test_on_a_processor_only_modules_are_needed() -> None:
    require("cpu", _lacking, modules=("json",))


def test_all_that_is_missing_is_told_at_once(with_card: None) -> None:
    with pytest.raises(SkippedError, match="^no_such_module is not installed; no such thing for CUDA$"):
        require("cuda", _lacking, modules=("json", "no_such_module"))


def test_a_machine_without_a_gpu_is_told_so() -> None:
    with pytest.raises(SkippedError, match="no NVIDIA"):
        require("cuda")


def test_what_is_there_is_not_missed(with_card: None) -> None:
    require("cuda", lambda: iter(()), modules=("json",))


def test_the_onnxruntime_of_processors_is_named_and_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CPUExecutionProvider"])
    (reason,) = found.no_cuda_in_onnxruntime()
    assert reason.endswith("is built without CUDA: install onnxruntime-gpu in its place")


def test_a_pytorch_of_processors_is_named() -> None:
    (reason,) = found.no_cuda_in_torch()
    assert reason.startswith("torch 2.")


def test_ctranslate2_says_itself_what_it_lacks() -> None:
    (reason,) = found.no_cuda_in_ctranslate2()
    assert reason.startswith("ctranslate2 4.")


@pytest.mark.filterwarnings("ignore:.*not in available provider names")
def test_a_cuda_provider_that_does_not_load_is_told_by_the_library_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CUDAExecutionProvider"])
    monkeypatch.setattr("onnxruntime.__file__", str(tmp_path / "__init__.py"))
    (reason,) = found.no_cuda_in_onnxruntime()
    assert re.search("could not load its CUDA provider: .*libonnxruntime_providers_cuda.so", reason)


def test_a_cuda_provider_that_loads_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CUDAExecutionProvider"])
    session = SimpleNamespace(get_providers=lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    monkeypatch.setattr(found, "_smallest_session", lambda: session)
    assert not list(found.no_cuda_in_onnxruntime())


def test_what_is_installed_is_told_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "_PACKAGES", ("onnx", "no-such-package"))
    facts = found.facts()
    assert facts["onnx"][0].isdigit()
    assert facts["no-such-package"] == "not installed"


def test_libraries_of_packages_are_found_beside_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cublas", "cudnn"):
        (tmp_path / "nvidia" / name / "lib").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path)])
    assert found.nvidia_libraries() == [str(tmp_path / "nvidia" / name / "lib") for name in ("cublas", "cudnn")]
