"""What of the software is there, and why a part cannot run without what is not."""

import ctypes
import importlib.metadata
import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scripts.gpu_check.card import Card, NoCardError, driver
from scripts.machine import versions

_PACKAGES = ("onnxruntime", "onnxruntime-gpu", "ctranslate2", "torch", "transformers", "onnx")
_PROVIDER = "CUDAExecutionProvider"
# NGC's images have it there and not on the path.
_TRITON = Path("/opt/tritonserver/bin/tritonserver")


class SkippedError(Exception):
    """A part cannot run here, and why."""


def facts() -> dict[str, str]:
    """What is installed: GPU, driver, packages, Triton, Python."""
    return {
        **_card(),
        **versions(_PACKAGES, "not installed"),
        "tritonserver": shutil.which("tritonserver") or (str(_TRITON) if _TRITON.exists() else "not installed"),
        "python": platform.python_version(),
    }


def _card() -> dict[str, str]:
    try:
        card = Card()
    except NoCardError as error:
        return {"gpu": str(error)}
    taken, memory = card.memory()
    size = f"{memory / 2**30:.1f} GiB, {taken / 2**30:.1f} GiB of it taken"
    kind = f"compute capability {card.capability}, {card.multiprocessors} multiprocessors"
    return {"gpu": f"{card.name}, {size}, {kind}", "driver": f"{driver()}, for CUDA up to {card.cuda}"}


def nvidia_libraries() -> list[str]:
    """The folders of CUDA's libraries that packages of the index bring, which no loader looks into by itself."""
    roots = [Path(folder, "nvidia") for folder in sys.path if folder]
    return [str(path.resolve()) for root in roots for path in sorted(root.glob("*/lib"))]


def require(device: str, *reasons: Callable[[], Iterator[str]], modules: tuple[str, ...] = ()) -> None:
    """``SkippedError`` where modules are missing, or on CUDA a card, or with one what ``reasons`` look for."""
    missing = [f"{name} is not installed" for name in modules if importlib.util.find_spec(name) is None]
    if device == "cuda":
        try:
            Card()
            missing += [text for reason in reasons for text in reason()]
        except NoCardError as error:
            missing.append(str(error))
    if missing:
        raise SkippedError("; ".join(missing))


def no_cuda_in_onnxruntime() -> Iterator[str]:
    """Why ONNX Runtime has nothing for CUDA."""
    if importlib.util.find_spec("onnxruntime"):
        import onnxruntime as ort

        if _PROVIDER not in ort.get_available_providers():
            yield f"onnxruntime {ort.__version__} is built without CUDA: install onnxruntime-gpu in its place"
        # It goes on without a word on a processor where the provider's libraries are missing.
        elif _PROVIDER not in _smallest_session().get_providers():
            yield f"onnxruntime {ort.__version__} could not load its CUDA provider: {_missing_library()}"


def _smallest_session() -> Any:
    import onnxruntime as ort
    from onnx import TensorProto, helper

    from scripts.export_models.graphs.builder import Graph

    g, value = Graph(), partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT, shape=[1])
    g.op("Identity", "x", output="y")
    model = g.model([value("x")], [value("y")]).SerializeToString()
    return ort.InferenceSession(model, providers=[_PROVIDER, "CPUExecutionProvider"])


def _missing_library() -> str:
    """What the loader says of the provider. Loaded before ONNX Runtime tries itself, it would not know its host."""
    import onnxruntime as ort

    try:
        ctypes.CDLL(str(Path(ort.__file__).parent / "capi" / "libonnxruntime_providers_cuda.so"))
    except OSError as error:
        return str(error)
    return "the reason is in the log"


def no_cuda_in_ctranslate2() -> Iterator[str]:
    """Why CTranslate2 has nothing for CUDA."""
    if importlib.util.find_spec("ctranslate2"):
        import ctranslate2

        try:
            ctranslate2.get_supported_compute_types("cuda")
        except (RuntimeError, ValueError) as error:
            yield f"ctranslate2 {ctranslate2.__version__}: {error}"


def no_cuda_in_torch() -> Iterator[str]:
    """Why PyTorch has nothing for CUDA."""
    if importlib.util.find_spec("torch"):
        import torch

        if torch.version.cuda is None:
            yield f"torch {torch.__version__} is built without CUDA"
        elif not torch.cuda.is_available():
            yield f"torch {torch.__version__} cannot use the GPU"
