"""The demo Whisper's tokenizer: a small byte-level BPE, then Whisper's own special tokens in Whisper's order.

As in every multilingual Whisper one piece of text is empty: by that CTranslate2 knows that a model has languages. Here
it is the piece of a byte that no UTF-8 text has.
"""

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, WhisperTokenizerFast
from transformers.models.whisper.tokenization_whisper import LANGUAGES as WHISPER_LANGUAGES

from scripts.export_models.demo.sentences import LANGUAGES, sentences

TEXT_PIECES = 600
TIMESTAMP_STEP_SECONDS = 0.02
# The byte 0xFF, as byte-level BPE writes it.
_UNUSED_PIECE = "ÿ"
_CORPUS_SEED = 5
_CORPUS_SENTENCES = 4000


def add_special_tokens(bpe: Tokenizer, window_seconds: float) -> list[str]:
    """Whisper's special tokens in order, and timestamps up to the length of a window; answers those without a time."""
    special = [
        "<|endoftext|>",
        "<|startoftranscript|>",
        *(f"<|{code}|>" for code in WHISPER_LANGUAGES),
        "<|translate|>",
        "<|transcribe|>",
        "<|startoflm|>",
        "<|startofprev|>",
        "<|nospeech|>",
        "<|notimestamps|>",
    ]
    times = (TIMESTAMP_STEP_SECONDS * step for step in range(round(window_seconds / TIMESTAMP_STEP_SECONDS) + 1))
    bpe.add_special_tokens(special)
    bpe.add_tokens([AddedToken(f"<|{time:.2f}|>", normalized=False) for time in times])
    return special


def generation_settings(tokenizer: WhisperTokenizerFast, **others: Any) -> GenerationConfig:
    """What generate and CTranslate2's converter read: languages, tasks and special tokens, and ``others``."""
    token, end = tokenizer.convert_tokens_to_ids, tokenizer.eos_token_id
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
        begin_suppress_tokens=[end],
        return_timestamps=False,
        **others,
    )


def build(folder: Path, window_seconds: float) -> WhisperTokenizerFast:
    """Train the BPE on the stated vocabulary and save the tokenizer in Hugging Face layout."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TEXT_PIECES, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    texts = (" " + text for language in LANGUAGES for text in sentences(language, _CORPUS_SEED, _CORPUS_SENTENCES))
    bpe.train_from_iterator(texts, trainer)
    trained = json.loads(bpe.to_str())
    vocabulary = trained["model"]["vocab"]
    vocabulary[""] = vocabulary.pop(_UNUSED_PIECE)
    bpe = Tokenizer.from_str(json.dumps(trained))
    special = add_special_tokens(bpe, window_seconds)
    tokenizer = WhisperTokenizerFast(
        tokenizer_object=bpe,
        unk_token="<|endoftext|>",
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=special[1:],
    )
    tokenizer.save_pretrained(folder)
    return tokenizer
