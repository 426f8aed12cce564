"""The inputs of an encoder's linear layers."""

import numpy as np
import torch
from transformers import BertConfig, BertModel

from scripts.export_models.text.calibration import Inputs, calibrate, held_out, texts

IDS = [np.array([1, 5, 6, 2], np.int32), np.array([1, 7, 2], np.int32)]


def _encoder() -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    return BertModel(config).eval()


def test_no_text_is_both_calibrated_on_and_held_out() -> None:
    assert not set(texts()) & set(held_out())


def test_the_first_layers_inputs_are_the_embeddings() -> None:
    encoder = _encoder()
    found = calibrate(encoder, IDS)["encoder.layer.0.attention.self.query"]
    with torch.inference_mode():
        rows = torch.cat([encoder.embeddings(torch.from_numpy(ids.astype(np.int64))[None])[0] for ids in IDS]).numpy()
    assert found.count == 7
    assert np.allclose(found.low, rows.min(axis=0), atol=1e-6)
    assert np.allclose(found.high, rows.max(axis=0), atol=1e-6)
    assert np.allclose(found.mean, rows.mean(axis=0), atol=1e-6)
    assert np.allclose(found.hessian, rows.T @ rows / 7, atol=1e-6)


def test_extremes_and_hessian_are_of_all_batches() -> None:
    rows = torch.randn(700, 3, generator=torch.Generator().manual_seed(0))
    inputs = Inputs.of_width(3)
    for some in rows.split([1, 400, 30, 269]):
        inputs.add(some)
    assert np.allclose(inputs.hessian, (rows.T.double() @ rows.double() / 700).numpy(), atol=1e-6)
    assert (inputs.low == rows.amin(0).numpy()).all()
    assert (inputs.high == rows.amax(0).numpy()).all()


def test_padding_is_not_measured() -> None:
    encoder = _encoder()
    together = calibrate(encoder, IDS)
    alone = [calibrate(encoder, [ids]) for ids in IDS]
    assert together.keys() == alone[0].keys()
    for name, found in together.items():
        assert found.count == sum(each[name].count for each in alone) == 7
        total = sum(each[name].hessian * each[name].count for each in alone)
        assert np.allclose(found.hessian * found.count, total, atol=1e-5)


def test_texts_beyond_one_batch_are_measured_too() -> None:
    ids = [np.full(length, 5, np.int32) for length in (500, 400, 3, 300)]
    assert calibrate(_encoder(), ids)["encoder.layer.0.output.dense"].count == 1203


def test_layers_that_share_their_inputs_are_measured_once() -> None:
    names = [name.removeprefix("encoder.layer.0.") for name in calibrate(_encoder(), IDS)]
    assert names == ["attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense"]


def test_an_encoder_keeps_no_hooks() -> None:
    encoder = _encoder()
    calibrate(encoder, IDS)
    assert not any(module._forward_pre_hooks for module in encoder.modules())


def test_a_long_text_has_hardly_more_samples_than_a_short_one() -> None:
    ids = [np.full(length, 5, np.int32) for length in (7, 80, 400)]
    assert [len(rows) for rows in calibrate(_encoder(), ids)["encoder.layer.0.output.dense"].rows] == [7, 8, 8]
