import pytest

from scripts.benchmark.product.triton_inputs import requests
from tests.conftest import ROOT


@pytest.mark.parametrize(("model", "texts"), [("m3_embedder", 4), ("m3_reranker", 32)])
def test_requests_for_tritons_tools_hold_packed_texts(model: str, texts: int) -> None:
    (request,) = requests(model, ROOT / "model_repository", 1)
    ids, lengths = request["input_ids"], request["lengths"]
    assert (ids["shape"], lengths["shape"]) == ([len(ids["content"])], [texts])
    assert sum(lengths["content"]) == len(ids["content"])
