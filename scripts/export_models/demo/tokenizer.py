"""The demo Whisper's tokenizer: a small byte-level BPE, then Whisper's own special tokens in Whisper's order.

As in every multilingual Whisper one piece of text is empty: by that CTranslate2 knows that a model has languages. Here
it is the piece of a byte that no UTF-8 text has.
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import WhisperTokenizerFast
from transformers.models.whisper.tokenization_whisper import LANGUAGES as WHISPER_LANGUAGES

from scripts.export_models.demo.sentences import LANGUAGES, sentences

TEXT_PIECES = 600
TIMESTAMP_STEP_SECONDS = 0.02
# The byte 0xFF, as byte-level BPE writes it.
_UNUSED_PIECE = "ÿ"
_CORPUS_SEED = 5
_CORPUS_SENTENCES = 4000


def special_tokens(window_seconds: float) -> list[str]:
    """Whisper's special tokens in order, timestamps up to the length of a window."""
    steps = round(window_seconds / TIMESTAMP_STEP_SECONDS)
    return [
        "<|endoftext|>",
        "<|startoftranscript|>",
        *(f"<|{code}|>" for code in WHISPER_LANGUAGES),
        "<|translate|>",
        "<|transcribe|>",
        "<|startoflm|>",
        "<|startofprev|>",
        "<|nospeech|>",
        "<|notimestamps|>",
        *(f"<|{step * TIMESTAMP_STEP_SECONDS:.2f}|>" for step in range(steps + 1)),
    ]


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
    model = trained["model"]
    model["vocab"][""] = model["vocab"].pop(_UNUSED_PIECE)
    bpe = Tokenizer.from_str(json.dumps(trained))
    tokens = special_tokens(window_seconds)
    first_timestamp = tokens.index("<|notimestamps|>") + 1
    bpe.add_special_tokens(tokens[:first_timestamp])
    bpe.add_tokens([AddedToken(token, normalized=False) for token in tokens[first_timestamp:]])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False), encoding="utf-8")
    merges = "\n".join(" ".join(pair) for pair in model["merges"])
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    tokenizer = WhisperTokenizerFast(
        vocab_file=str(folder / "vocab.json"),
        merges_file=str(folder / "merges.txt"),
        tokenizer_object=bpe,
        unk_token="<|endoftext|>",
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=tokens[1:first_timestamp],
    )
    tokenizer.save_pretrained(folder)
    return tokenizer
