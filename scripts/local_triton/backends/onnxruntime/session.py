"""An ONNX Runtime session from the parameters of a Triton configuration."""

from typing import Any

import onnxruntime as ort

_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    0: ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    2: ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
_SHRINKAGE = "memory.enable_memory_arena_shrinkage"


def _parameters(config: dict[str, Any]) -> dict[str, str]:
    return {key: entry["string_value"] for key, entry in config.get("parameters", {}).items()}


def options(config: dict[str, Any]) -> ort.SessionOptions:
    """Session options by the C++ backend's names; a parameter it does not know is left alone there too."""
    parameters = _parameters(config)
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = int(parameters.get("intra_op_thread_count", "0"))
    settings.inter_op_num_threads = int(parameters.get("inter_op_thread_count", "0"))
    if parameters.get("execution_mode", "0") == "1":
        settings.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    settings.enable_cpu_mem_arena = parameters.get("enable_mem_arena", "1") == "1"
    settings.enable_mem_pattern = parameters.get("enable_mem_pattern", "1") == "1"
    level = int(config.get("optimization", {}).get("graph", {}).get("level", 0))
    settings.graph_optimization_level = _LEVELS[level]
    for key, value in parameters.items():
        if key.startswith("session."):
            settings.add_session_config_entry(key, value)
    return settings


def run_options(config: dict[str, Any]) -> ort.RunOptions:
    """Run options: whether the memory arena gives back what a long text took."""
    settings = ort.RunOptions()
    shrinkage = _parameters(config).get(_SHRINKAGE)
    if shrinkage:
        settings.add_run_config_entry(_SHRINKAGE, shrinkage)
    return settings


def providers(kind: str, device: int) -> list[Any]:
    """Execution providers of an instance group kind."""
    if kind == "GPU":
        return [("CUDAExecutionProvider", {"device_id": device}), "CPUExecutionProvider"]
    return ["CPUExecutionProvider"]
