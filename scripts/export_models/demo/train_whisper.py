"""Train the demo Whisper on synthetic speech and save it in Hugging Face layout.

    make export
    python -m scripts.export_models.demo.train_whisper model_repository build/demo_whisper --minutes 80
    python -m scripts.export_models.demo.train_whisper model_repository build/demo_whisper --resume --seed 2
        --minutes 30 --learning-rate 7e-4
    python -m scripts.export_models.demo.alignment_heads model_repository build/demo_whisper

A CTC head on the encoder is a second loss that makes the encoder find the words early (hybrid CTC and attention,
Watanabe et al. 2017); it is thrown away. Windows of a batch have like lengths instead of 8 s each, so the
checkpoint accepts short windows too (``min_window_seconds``).
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

from scripts.export_models.demo import tokenizer as demo_tokenizer
from scripts.export_models.demo.speech_corpus import SAMPLE_RATE
from scripts.export_models.demo.training_examples import HOP, IGNORED, MEL_BINS, WINDOW_SECONDS, Examples

MIN_WINDOW_SECONDS = 2.0
# Cheap for a model of this size, and a third of the word errors of greedy decoding.
BEAM_SIZE = 5
# Even a sentence of the grammar as a prompt costs 0.9 % of the words, and what is unlike one costs up to all of them.
TAKES_PROMPTS = False
WIDTH = 128
PEAK_LEARNING_RATE = 1.5e-3
WARMUP_STEPS = 400
CTC_SHARE = 0.3
LONGEST_SEQUENCE = 224


def encode(model: WhisperForConditionalGeneration, features: Tensor) -> Tensor:
    """The encoder without its demand for full windows: [batch, 80, frames] to [batch, frames / 2, width]."""
    encoder = model.model.encoder
    hidden = nn.functional.gelu(encoder.conv1(features))
    hidden = nn.functional.gelu(encoder.conv2(hidden)).transpose(1, 2)
    hidden = hidden + encoder.embed_positions.weight[: hidden.shape[1]]
    for layer in encoder.layers:
        hidden = layer(hidden, None, None)[0]
    normalised: Tensor = encoder.layer_norm(hidden)
    return normalised


def build_model(tokenizer: Any) -> WhisperForConditionalGeneration:
    """A Whisper 128 wide with 3 encoder and 2 decoder layers, and the generation settings of its kind."""
    token = tokenizer.convert_tokens_to_ids
    frames = int(WINDOW_SECONDS * SAMPLE_RATE / HOP)
    config = WhisperConfig(
        vocab_size=len(tokenizer),
        num_mel_bins=MEL_BINS,
        d_model=WIDTH,
        encoder_layers=3,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=4 * WIDTH,
        decoder_ffn_dim=4 * WIDTH,
        max_source_positions=frames // 2,
        max_target_positions=LONGEST_SEQUENCE,
        decoder_start_token_id=token("<|startoftranscript|>"),
        pad_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        attn_implementation="sdpa",
    )
    model = WhisperForConditionalGeneration(config)
    model.generation_config = demo_tokenizer.generation_settings(
        tokenizer,
        max_length=LONGEST_SEQUENCE,
        suppress_tokens=[token("<|startoflm|>"), token("<|startofprev|>"), token("<|nospeech|>")],
    )
    return model


def train(repository: Path, output: Path, minutes: float, seed: int, resume: bool, learning_rate: float) -> None:
    tokenizer = demo_tokenizer.build(output, WINDOW_SECONDS)
    torch.manual_seed(seed)
    model = build_model(tokenizer)
    head = nn.Linear(WIDTH, demo_tokenizer.TEXT_PIECES + 1)
    if resume:
        model.load_state_dict(torch.load(output / "model.pt"))
        head.load_state_dict(torch.load(output / "head.pt"))
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.01, betas=(0.9, 0.98))
    loader = DataLoader(Examples(repository, tokenizer, seed), batch_size=None, num_workers=1, prefetch_factor=16)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    start = time.monotonic()
    shown = {"loss": 0.0, "ctc": 0.0}
    for step, batch in enumerate(loader):
        share = (time.monotonic() - start) / (60 * minutes)
        if share >= 1:
            break
        rate = learning_rate * min(1, (step + 1) / WARMUP_STEPS) * (0.5 + 0.5 * math.cos(math.pi * share))
        for group in optimizer.param_groups:
            group["lr"] = max(rate, 1e-5)
        with torch.autocast("cpu", torch.bfloat16):
            encoded = encode(model, batch["features"])
            decoded = model.model.decoder(input_ids=batch["inputs"], encoder_hidden_states=encoded)[0]
            logits = model.proj_out(decoded)
            pieces = head(encoded)
        loss = nn.functional.cross_entropy(
            logits.float().flatten(0, 1), batch["labels"].flatten(), ignore_index=IGNORED, label_smoothing=0.02
        )
        ctc = nn.functional.ctc_loss(
            pieces.float().log_softmax(-1).transpose(0, 1),
            batch["ctc"],
            torch.full((len(encoded),), encoded.shape[1]),
            batch["ctc_lengths"],
            blank=demo_tokenizer.TEXT_PIECES,
            zero_infinity=True,
        )
        optimizer.zero_grad()
        (loss + CTC_SHARE * ctc).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        shown["loss"] += loss.item() / 50
        shown["ctc"] += ctc.item() / 50
        if step % 50 == 49:
            minute = (time.monotonic() - start) / 60
            print(
                f"{minute:6.1f} min  step {step + 1:6d}  loss {shown['loss']:.3f}  ctc {shown['ctc']:.3f}", flush=True
            )
            shown = {"loss": 0.0, "ctc": 0.0}
        if step % 500 == 499:
            save(model, head, output)
    save(model, head, output)


def save(model: WhisperForConditionalGeneration, head: nn.Module, output: Path) -> None:
    """Write the checkpoint as Hugging Face does, in half precision, and the state to resume from."""
    torch.save(model.state_dict(), output / "model.pt")
    torch.save(head.state_dict(), output / "head.pt")
    half = WhisperForConditionalGeneration(model.config)
    half.load_state_dict(model.state_dict())
    half.generation_config = model.generation_config
    half.half().save_pretrained(output)
    WhisperFeatureExtractor(feature_size=MEL_BINS, chunk_length=int(WINDOW_SECONDS)).save_pretrained(output)
    settings = json.dumps({"min_window_seconds": MIN_WINDOW_SECONDS, "beam_size": BEAM_SIZE, "prompts": TAKES_PROMPTS})
    (output / "quartet.json").write_text(settings + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the demo Whisper.")
    parser.add_argument("repository", type=Path, help="where the demo voices are exported")
    parser.add_argument("output", type=Path)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=PEAK_LEARNING_RATE)
    parser.add_argument("--resume", action="store_true")
    train(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
