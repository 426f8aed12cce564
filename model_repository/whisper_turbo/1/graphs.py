"""Graphs that ``scripts/export_models/whisper`` writes for OpenVINO, compiled for the processor at hand."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import openvino as ov

ENCODER, DECODER = "encoder.xml", "decoder.xml"
_CPUINFO = Path("/proc/cpuinfo")
# What the encoder hands to the decoder.
HANDED = ("keys.", "values.")


class Processor:
    """What a processor computes in.

    It multiplies a graph's integers exactly with one of ``flags``, as /proc/cpuinfo names them; where it does not, they
    are computed in floating point. What is no integer, OpenVINO computes in bfloat16 where the processor has that, and
    then keys and values are handed over in it too; ``exact`` keeps it to float32. ``settings`` are what OpenVINO
    compiles by.
    """

    def __init__(self, threads: int, flags: Collection[str], *, exact: bool = False) -> None:
        self._core = ov.Core()
        # Threads that are bound to cores would stay there while other models' threads want the same ones.
        self.settings: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        self.settings["ENABLE_CPU_PINNING"] = False
        if set(_CPUINFO.read_text(encoding="utf-8").split()).isdisjoint(flags):
            self.settings |= {"LP_TRANSFORMS_MODE": False, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
        if exact:
            self.settings["INFERENCE_PRECISION_HINT"] = "f32"
        has_bfloat16 = "BF16" in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        self.handed = ov.Type.bf16 if has_bfloat16 else ov.Type.f32

    def compiled(self, path: Path, *, handing: bool = True) -> Any:
        """A graph ready to run; ``handing`` is whether what it hands over is computed."""
        model = self._core.read_model(path)
        if not handing:
            kept = [port.get_node() for port in model.outputs if not port.any_name.startswith(HANDED)]
            model = ov.Model(kept, model.get_parameters())
        preparation = ov.preprocess.PrePostProcessor(model)
        for ports, prepared in ((model.inputs, preparation.input), (model.outputs, preparation.output)):
            for port in ports:
                if port.any_name.startswith(HANDED):
                    prepared(port.any_name).tensor().set_element_type(self.handed)
        return self._core.compile_model(preparation.build(), "CPU", self.settings)
