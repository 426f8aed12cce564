"""Small random checkpoints with the real architectures and file layouts, in folders with their names on the hub."""

from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    GenerationConfig,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
    XLMRobertaTokenizerFast,
)
from transformers.models.whisper.tokenization_whisper import LANGUAGES

_LETTERS = "abcdefghijklmnopqrstuvwxyzäöüéè0123456789.,?!'"
_TEXT_PIECES = 50_257
# A time token every 0.02 s of a window of 30 s.
_TIMES = [f"<|{step * 0.02:.2f}|>" for step in range(1501)]
_SPECIAL = [
    "<|endoftext|>",
    "<|startoftranscript|>",
    *(f"<|{code}|>" for code in LANGUAGES),
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
]


def whisper_tokenizer() -> WhisperTokenizerFast:
    """Whisper's special tokens at Whisper's own ids, after 50,257 text pieces, the first 256 of which are bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: index for index, piece in enumerate(letters)}
    vocabulary.update({f"Ġfiller{index}": index for index in range(len(letters), _TEXT_PIECES - 1)})
    # CTranslate2 recognises a multilingual Whisper by the empty piece.
    vocabulary[""] = _TEXT_PIECES - 1
    bpe = Tokenizer(models.BPE(vocabulary, []))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens(_SPECIAL)
    bpe.add_tokens([AddedToken(time, normalized=False) for time in _TIMES])
    end = "<|endoftext|>"
    return WhisperTokenizerFast(tokenizer_object=bpe, unk_token=end, bos_token=end, eos_token=end, pad_token=end)


def whisper(folder: Path) -> None:
    """A Whisper with large-v3's 128 mel bins and 51,866 entries, windows of 8 s, and texts of 8 tokens."""
    folder.mkdir(parents=True)
    tokenizer = whisper_tokenizer()
    tokenizer.save_pretrained(folder)
    token = tokenizer.convert_tokens_to_ids
    end = tokenizer.eos_token_id
    torch.manual_seed(0)
    model = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=len(tokenizer),
            num_mel_bins=128,
            d_model=128,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=256,
            decoder_ffn_dim=256,
            max_source_positions=400,
            max_target_positions=16,
            decoder_start_token_id=token("<|startoftranscript|>"),
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
        )
    )
    # With the initial small weights, all tokens would be equally likely; with larger ones, int8 would write others.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    model.generation_config = GenerationConfig(
        is_multilingual=True,
        lang_to_id={f"<|{code}|>": token(f"<|{code}|>") for code in ("en", "de", "fr", "it")},
        task_to_id={"transcribe": token("<|transcribe|>"), "translate": token("<|translate|>")},
        no_timestamps_token_id=token("<|notimestamps|>"),
        alignment_heads=[[0, 0], [0, 1]],
        decoder_start_token_id=token("<|startoftranscript|>"),
        eos_token_id=end,
        pad_token_id=end,
        max_initial_timestamp_index=50,
        max_length=40,
        suppress_tokens=[token("<|startofprev|>")],
        begin_suppress_tokens=[end],
    )
    model.save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=128, chunk_length=8).save_pretrained(folder)


def _xlmr_tokenizer(folder: Path) -> int:
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in _LETTERS] + [(f"▁{letter}", -2.5) for letter in _LETTERS]
    unigram = Tokenizer(models.Unigram(pieces, unk_id=3))
    unigram.normalizer = normalizers.NFKC()
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.decoder = decoders.Metaspace()
    unigram.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    XLMRobertaTokenizerFast(tokenizer_object=unigram).save_pretrained(folder)
    return len(pieces) + 1


def text_model(folder: Path, *, reranker: bool) -> None:
    """An XLM-RoBERTa with M3's 8194 positions and its tokenizer's layout of texts and pairs."""
    folder.mkdir(parents=True)
    config = XLMRobertaConfig(
        vocab_size=_xlmr_tokenizer(folder),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=8194,
        type_vocab_size=1,
        num_labels=1,
    )
    if not reranker:
        (folder / "quartet.json").write_text(
            '{"stands_in": true, "cosine_score": {"slope": 12, "middle": 0.2}}', encoding="utf-8"
        )
    torch.manual_seed(1)
    model = XLMRobertaForSequenceClassification(config) if reranker else XLMRobertaModel(config)
    model.save_pretrained(folder)
