"""What OpenAPI says of embeddings where an operator has added models."""

import json

from frontend.catalogue.models import EMBEDDINGS, Added, Model, Served
from frontend.operations.embeddings.openapi import describe

SMALL = Model("embed-e5", EMBEDDINGS, 0, "added_e5", max_tokens=512, width=384, dimensions=(8, 16))


def _text(*added: Model) -> str:
    described = describe(Served.of(added=Added(models=added)))
    return json.dumps([described.paths, described.schemas])


def test_the_description_names_the_widths_and_the_longest_texts_of_all_models() -> None:
    text = _text(SMALL)
    assert "A vector of 1024 or 384 numbers" in text
    assert '"minItems": 8, "maxItems": 1024' in text
    assert "each is cut after 8192 or 512 tokens, as the model takes." in text
    assert "the dimension is 1024 or 384. But embed-e5 gives 8, 16." in text


def test_the_contracts_model_alone_has_one_of_each() -> None:
    text = _text()
    assert "A vector of 1024 numbers" in text
    assert '"minItems": 1024, "maxItems": 1024' in text
    assert "each is cut after 8192 tokens." in text
