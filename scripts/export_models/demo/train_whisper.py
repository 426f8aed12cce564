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
import itertools
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset
from transformers import GenerationConfig, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.audio_utils import mel_filter_bank

from scripts.export_models.demo import tokenizer as demo_tokenizer
from scripts.export_models.demo.sentences import LANGUAGES
from scripts.export_models.demo.speech_corpus import SAMPLE_RATE, Corpus, Span, Window

WINDOW_SECONDS = 8.0
MIN_WINDOW_SECONDS = 2.0
# Cheap for a model of this size, and a third of the word errors of greedy decoding.
BEAM_SIZE = 5
# Even a sentence of the grammar as a prompt costs 0.9 % of the words, and what is unlike one costs up to all of them.
TAKES_PROMPTS = False
MEL_BINS = 80
HOP = 160
WIDTH = 128
BATCH = 16
POOL_BATCHES = 16
PEAK_LEARNING_RATE = 1.5e-3
WARMUP_STEPS = 400
CTC_SHARE = 0.3
IGNORED = -100
LONGEST_SEQUENCE = 224


class MelSpectrogram:
    """Whisper's log-mel features: [samples] at 16 kHz to [80, frames]."""

    def __init__(self) -> None:
        filters = mel_filter_bank(201, MEL_BINS, 0.0, 8000.0, SAMPLE_RATE, norm="slaney", mel_scale="slaney")
        self._filters = torch.tensor(filters.T, dtype=torch.float32)
        self._window = torch.hann_window(400)

    def __call__(self, audio: Tensor) -> Tensor:
        spectrum = torch.stft(audio, 400, HOP, window=self._window, return_complex=True)
        power = spectrum[..., :-1].abs() ** 2
        log = (self._filters @ power).clamp(min=1e-10).log10()
        return (torch.maximum(log, log.max() - 8.0) + 4.0) / 4.0


class Examples(IterableDataset[dict[str, Tensor]]):
    """Batches of features, decoder inputs, labels and CTC targets, grouped by length."""

    def __init__(self, repository: Path, tokenizer: Any, seed: int) -> None:
        self._repository, self._tokenizer, self._seed = repository, tokenizer, seed

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        torch.set_num_threads(1)
        worker = torch.utils.data.get_worker_info()
        seed = self._seed + (worker.id if worker else 0)
        corpus = iter(Corpus(self._repository, seed, WINDOW_SECONDS))
        mel = MelSpectrogram()
        order = np.random.default_rng(seed)
        while True:
            pool = list(itertools.islice(corpus, BATCH * POOL_BATCHES))
            pool.sort(key=lambda window: len(window.audio))
            batches = [pool[i : i + BATCH] for i in range(0, len(pool), BATCH)]
            for index in order.permutation(len(batches)):
                yield self._collate(batches[index], mel)

    def _collate(self, windows: list[Window], mel: MelSpectrogram) -> dict[str, Tensor]:
        longest = max(len(window.audio) for window in windows)
        # A multiple of a tenth of a second, as a served window has.
        length = min(math.ceil(longest / 1600) * 1600, int(WINDOW_SECONDS * SAMPLE_RATE))
        features = []
        for window in windows:
            padded = torch.zeros(length)
            padded[: len(window.audio)] = torch.from_numpy(window.audio)
            features.append(mel(padded))
        sequences = [self._sequence(window) for window in windows]
        inputs = _pad([s[:-1] for s, _, _ in sequences], self._tokenizer.eos_token_id)
        labels = _pad([labels for _, labels, _ in sequences], IGNORED)
        ctc = [c for _, _, c in sequences]
        return {
            "features": torch.stack(features),
            "inputs": inputs,
            "labels": labels,
            "ctc": torch.tensor([piece for c in ctc for piece in c]),
            "ctc_lengths": torch.tensor([len(c) for c in ctc]),
        }

    def _sequence(self, window: Window) -> tuple[list[int], list[int], list[int]]:
        """Decoder tokens, the labels of all but the first, and the text pieces alone."""
        token = self._tokenizer.convert_tokens_to_ids

        def pieces(text: str) -> list[int]:
            ids: list[int] = self._tokenizer(" " + text, add_special_tokens=False).input_ids
            return ids

        def stamp(seconds: float) -> int:
            step = demo_tokenizer.TIMESTAMP_STEP_SECONDS
            return int(token("<|0.00|>")) + min(round(seconds / step), round(WINDOW_SECONDS / step))

        def timed(span: Span) -> list[int]:
            return [stamp(span.start), *pieces(span.text), stamp(span.end)]

        prefix = [token("<|startofprev|>"), *pieces(window.prompt)] if window.prompt else []
        task = [token("<|startoftranscript|>"), token(f"<|{window.language}|>"), token("<|transcribe|>")]
        body = [piece for span in window.spans for piece in timed(span)] or [stamp(0)]
        sequence = [*prefix, *task, *body, self._tokenizer.eos_token_id]
        labels = [IGNORED] * len(prefix) + sequence[len(prefix) + 1 :]
        if not window.spans:
            labels[len(prefix)] = token("<|nospeech|>")
        return sequence, labels, [piece for span in window.spans for piece in pieces(span.text)]


def _pad(rows: list[list[int]], value: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


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
    model.generation_config = generation_settings(tokenizer)
    return model


def generation_settings(tokenizer: Any) -> GenerationConfig:
    """What generate and CTranslate2's converter read: languages, tasks, suppressed tokens."""
    token = tokenizer.convert_tokens_to_ids
    end = tokenizer.eos_token_id
    return GenerationConfig(
        is_multilingual=True,
        lang_to_id={f"<|{code}|>": token(f"<|{code}|>") for code in LANGUAGES},
        task_to_id={"transcribe": token("<|transcribe|>"), "translate": token("<|translate|>")},
        no_timestamps_token_id=token("<|notimestamps|>"),
        prev_sot_token_id=token("<|startofprev|>"),
        decoder_start_token_id=token("<|startoftranscript|>"),
        eos_token_id=end,
        bos_token_id=end,
        pad_token_id=end,
        max_initial_timestamp_index=50,
        max_length=LONGEST_SEQUENCE,
        suppress_tokens=[token("<|startoflm|>"), token("<|startofprev|>"), token("<|nospeech|>")],
        begin_suppress_tokens=[end],
        return_timestamps=False,
    )


def train(repository: Path, output: Path, minutes: float, seed: int, resume: bool, peak: float) -> None:
    tokenizer = demo_tokenizer.build(output, WINDOW_SECONDS)
    torch.manual_seed(seed)
    model = build_model(tokenizer)
    head = nn.Linear(WIDTH, demo_tokenizer.TEXT_PIECES + 1)
    if resume:
        model.load_state_dict(torch.load(output / "model.pt"))
        head.load_state_dict(torch.load(output / "head.pt"))
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=peak, weight_decay=0.01, betas=(0.9, 0.98))
    loader = DataLoader(Examples(repository, tokenizer, seed), batch_size=None, num_workers=1, prefetch_factor=16)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    start = time.monotonic()
    shown = {"loss": 0.0, "ctc": 0.0}
    for step, batch in enumerate(loader):
        share = (time.monotonic() - start) / (60 * minutes)
        if share >= 1:
            break
        rate = peak * min(1, (step + 1) / WARMUP_STEPS) * (0.5 + 0.5 * math.cos(math.pi * share))
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
    arguments = parser.parse_args()
    train(
        arguments.repository,
        arguments.output,
        arguments.minutes,
        arguments.seed,
        arguments.resume,
        arguments.learning_rate,
    )


if __name__ == "__main__":
    main()
