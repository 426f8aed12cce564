"""Graphs that ``scripts/export_models/whisper`` writes for OpenVINO, compiled for the processor at hand."""

import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import openvino as ov
from compilations import kept

ENCODER, DECODER = "encoder.xml", "decoder.xml"
_CPUINFO = Path("/proc/cpuinfo")
# Name prefixes of the tensors that the encoder passes to the decoder.
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
        lines = _CPUINFO.read_text(encoding="utf-8").splitlines()
        has = sorted({flag for line in lines if line.startswith(("flags", "Features")) for flag in line.split()})
        can = self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        self.handed = ov.Type.bf16 if "BF16" in can else ov.Type.f32
        # By default, OpenVINO rounds the decoder's cached keys and values to 8 bits.
        arithmetic: dict[str, Any] = {"KV_CACHE_PRECISION": self.handed}
        if exact:
            arithmetic = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
        if set(has).isdisjoint(flags):
            arithmetic |= {"LP_TRANSFORMS_MODE": False, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
        # Pinned threads would compete with other models' threads for the same cores.
        running = {"ENABLE_CPU_PINNING": False, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
        self.settings = arithmetic | running
        self._compiles_for = repr((arithmetic, can, has))

    def compiled(self, path: Path, *, keep: bool = True) -> Any:
        """A graph ready to run. What was compiled is kept beside it for the next start, where ``keep`` finds that worth
        its room.
        """
        model = self._core.read_model(path)
        preparation = ov.preprocess.PrePostProcessor(model)
        for ports, prepared in ((model.inputs, preparation.input), (model.outputs, preparation.output)):
            for port in ports:
                if port.any_name.startswith(HANDED):
                    prepared(port.any_name).tensor().set_element_type(self.handed)
        model = preparation.build()
        # OpenVINO looks at the graph alone when it finds again what it compiled.
        model.set_rt_info(self._compiles_for, ["compiles_for"])
        folder = path.with_suffix(".compiled")
        if keep:
            # What is there may be another OpenVINO's and not this user's to remove, and who compiles may be frozen.
            with suppress(OSError, RuntimeError), kept(folder) as keeping:
                return self._core.compile_model(model, "CPU", self.settings | keeping)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return self._core.compile_model(model, "CPU", self.settings)
