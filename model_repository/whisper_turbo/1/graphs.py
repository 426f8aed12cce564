"""Compiles OpenVINO graphs for this processor."""

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
    """This processor's arithmetic, as OpenVINO's ``settings``.

    A processor with one of ``flags`` (names of /proc/cpuinfo) multiplies the graph's integers exactly; without, they
    are computed in floating point. OpenVINO computes floating point in bfloat16 if the processor has it, and then keys
    and values are passed in it too; ``exact`` keeps float32.
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
        """Compile a graph. With ``keep``, the compiled graph is stored next to it for the next start."""
        model = self._core.read_model(path)
        preparation = ov.preprocess.PrePostProcessor(model)
        for ports, prepared in ((model.inputs, preparation.input), (model.outputs, preparation.output)):
            for port in ports:
                if port.any_name.startswith(HANDED):
                    prepared(port.any_name).tensor().set_element_type(self.handed)
        model = preparation.build()
        # OpenVINO's cache key is only the graph, so add what else it depends on.
        model.set_rt_info(self._compiles_for, ["compiles_for"])
        folder = path.with_suffix(".compiled")
        if keep:
            # The cache may belong to another user or another OpenVINO, or its lock to a frozen process.
            with suppress(OSError, RuntimeError), kept(folder) as keeping:
                return self._core.compile_model(model, "CPU", self.settings | keeping)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return self._core.compile_model(model, "CPU", self.settings)
