"""The numbers of a checkpoint's configuration that the packed graph needs."""

import pytest
from transformers import XLMRobertaConfig

from scripts.export_models.text.encoder import EncoderShape
from tests.unit.export_models.text.small import SIZES


def test_a_configuration_without_a_type_of_positions_has_absolute_ones() -> None:
    config = XLMRobertaConfig(**SIZES)
    del config.position_embedding_type
    assert EncoderShape.of(config) == EncoderShape(layers=2, heads=4, width=64, epsilon=1e-12, first_position=2)


@pytest.mark.parametrize("other", [{"position_embedding_type": "relative_key"}, {"hidden_act": "relu"}])
def test_other_positions_and_activations_are_refused(other: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="only gelu and absolute positions are known"):
        EncoderShape.of(XLMRobertaConfig(**SIZES, **other))
