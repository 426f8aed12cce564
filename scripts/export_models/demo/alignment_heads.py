"""Choose the cross-attention heads that follow the speech, which word times are read from.

    python -m scripts.export_models.demo.alignment_heads model_repository build/demo_whisper

A head is good when its attention of one token is narrow and moves on with the tokens: the score is the rank
correlation of token order and attention centre, times the mean of the largest attention of a token.
"""

import argparse
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import GenerationConfig, WhisperForConditionalGeneration, WhisperTokenizerFast

from scripts.export_models.demo.speech_corpus import Clip, Corpus
from scripts.export_models.demo.train_whisper import encode
from scripts.export_models.demo.training_examples import MEL_BINS, WINDOW_SECONDS
from scripts.export_models.whisper.served import recognizer_module

_WINDOWS = 40
_KEPT = 2
_SEED = 900_001


def _attention(model: WhisperForConditionalGeneration, tokenizer: WhisperTokenizerFast, window: Clip) -> torch.Tensor:
    """Cross-attention [layers, heads, text tokens, frames] of a window of one sentence."""
    task = [f"<|{window.language}|>", "<|transcribe|>", "<|notimestamps|>"]
    start = tokenizer.convert_tokens_to_ids(["<|startoftranscript|>", *task])
    text = tokenizer(" " + window.spans[0].text, add_special_tokens=False).input_ids
    features = torch.from_numpy(recognizer_module().LogMel(MEL_BINS)(window.audio, len(window.audio)))[None]
    with torch.inference_mode():
        output = model.model.decoder(
            input_ids=torch.tensor([start + text]),
            encoder_hidden_states=encode(model, features),
            output_attentions=True,
        )
    return torch.stack([layer[0] for layer in output.cross_attentions])[:, :, len(start) :]


def _score(attention: NDArray[np.float32]) -> float:
    centres = attention @ np.arange(attention.shape[1])
    ranks = centres.argsort().argsort()
    return float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] * attention.max(axis=1).mean())


def choose(repository: Path, checkpoint: Path) -> list[list[int]]:
    """The best heads as [layer, head], best first."""
    model = WhisperForConditionalGeneration.from_pretrained(checkpoint, attn_implementation="eager").float().eval()
    tokenizer = WhisperTokenizerFast.from_pretrained(checkpoint)
    corpus = iter(Corpus(repository, _SEED, WINDOW_SECONDS))
    windows = islice((w for w in corpus if len(w.spans) == 1 and not w.prompt), _WINDOWS)
    scores = np.mean(
        [[[_score(h) for h in layer] for layer in _attention(model, tokenizer, w).numpy()] for w in windows], axis=0
    )
    order = np.dstack(np.unravel_index(np.argsort(-scores, axis=None), scores.shape))[0]
    for layer, head in order:
        print(f"layer {layer} head {head}: {scores[layer, head]:.3f}")
    return [[int(layer), int(head)] for layer, head in order[:_KEPT]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose alignment heads and write them into the checkpoint.")
    parser.add_argument("repository", type=Path)
    parser.add_argument("checkpoint", type=Path)
    arguments = parser.parse_args()
    settings = GenerationConfig.from_pretrained(arguments.checkpoint)
    settings.alignment_heads = choose(arguments.repository, arguments.checkpoint)
    settings.save_pretrained(arguments.checkpoint)


if __name__ == "__main__":
    main()
