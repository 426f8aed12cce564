import onnxruntime as ort
import pytest

from tests.unit.local_triton.backends.onnxruntime.stand_in import session


def test_parameters_reach_the_session() -> None:
    config = {
        "parameters": {
            "intra_op_thread_count": {"string_value": "3"},
            "enable_mem_pattern": {"string_value": "0"},
            "unknown": {"string_value": "x"},
        },
        "optimization": {"graph": {"level": 2}},
    }
    options = session.options(config)
    assert options.intra_op_num_threads == 3
    assert not options.enable_mem_pattern
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_DISABLE_ALL


@pytest.mark.parametrize(("kind", "first"), [("CPU", "CPUExecutionProvider"), ("GPU", "CUDAExecutionProvider")])
def test_an_instance_kind_chooses_the_provider(kind: str, first: str) -> None:
    provider = session.providers(kind, 0)[0]
    assert (provider if isinstance(provider, str) else provider[0]) == first
