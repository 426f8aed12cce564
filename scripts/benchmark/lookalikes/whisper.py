"""A Whisper of turbo's or large-v3's size whose every answer has the same number of tokens, whoever decodes it.

The weights are random but for a few dimensions that the layers leave alone: each position of the decoder carries the
direction of the one letter that comes next there, or of the end token behind the last of them; nothing answers to the
direction that the timestamps need.
"""

from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GenerationConfig,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizerFast,
)
from transformers.models.whisper.tokenization_whisper import LANGUAGES

TOKENS = 40
# Of the decoder.
TURBO_LAYERS = 4
_TEXT_PIECES = 50_257
# What comes before the text: start, language, task, and one for timestamps or their absence.
_TASK = 4
_SURE, _LOUD = 30.0, 4.0
_ENDING, _TIMING, _FIRST_LETTER = 0, 1, 2
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
_ALIGNMENT_HEADS = [[2, 4], [2, 11], [3, 3], [3, 6], [3, 11], [3, 14]]
# Of a window of 30 s, a time every 0.02 s.
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


def tokenizer() -> WhisperTokenizerFast:
    """Whisper's special tokens at Whisper's own ids, behind 50,257 text pieces of which 256 are bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: index for index, piece in enumerate(letters)}
    vocabulary.update({f"Ġfiller{index}": index for index in range(len(letters), _TEXT_PIECES - 1)})
    # By the empty piece CTranslate2 knows that a Whisper is multilingual.
    vocabulary[""] = _TEXT_PIECES - 1
    bpe = Tokenizer(models.BPE(vocabulary, []))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens(_SPECIAL)
    bpe.add_tokens([AddedToken(time, normalized=False) for time in _TIMES])
    end = "<|endoftext|>"
    return WhisperTokenizerFast(tokenizer_object=bpe, unk_token=end, bos_token=end, eos_token=end, pad_token=end)


def write(
    folder: Path,
    *,
    layers: int = 32,
    width: int = 1280,
    decoder_layers: int = TURBO_LAYERS,
    gain: float = 1.0,
) -> None:
    """A checkpoint of turbo's layout in ``folder``: 128 mel bins, 51,866 entries; large-v3 has more ``decoder_layers``.

    Every answer has 40 tokens. The weights of the encoder's layers are ``gain`` times those that
    training begins with.
    """
    folder.mkdir(parents=True)
    its = tokenizer()
    its.save_pretrained(folder)
    token, end = its.convert_tokens_to_ids, its.eos_token_id
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=len(its),
        num_mel_bins=128,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=decoder_layers,
        encoder_attention_heads=width // 64,
        decoder_attention_heads=width // 64,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        decoder_start_token_id=token("<|startoftranscript|>"),
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
    )
    model = WhisperForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.model.encoder.layers.parameters():
            if parameter.dim() > 1:
                parameter.mul_(gain)
    _fix_the_answer(model, [token(letter) for letter in _LETTERS], end, token("<|notimestamps|>") + 1)
    model.generation_config = _settings(its, decoder_layers, config.decoder_attention_heads)
    model.half().save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=128, chunk_length=30).save_pretrained(folder)


def _settings(its: WhisperTokenizerFast, layers: int, heads: int) -> GenerationConfig:
    """What generate and CTranslate2's converter read: languages, tasks and special tokens."""
    token, end = its.convert_tokens_to_ids, its.eos_token_id
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
        suppress_tokens=[],
        # CTranslate2 reads beyond its arrays for heads that a smaller model does not have.
        alignment_heads=[head for head in _ALIGNMENT_HEADS if head[1] < heads] or [[layers - 1, 0]],
        max_length=448,
        return_timestamps=False,
    )


def _fix_the_answer(model: WhisperForConditionalGeneration, letters: list[int], end: int, first_timestamp: int) -> None:
    decoder, taken = model.model.decoder, _FIRST_LETTER + len(letters)
    with torch.no_grad():
        words, places = decoder.embed_tokens.weight, decoder.embed_positions.weight
        words[:, :taken] = 0
        words[end, _ENDING] = _LOUD
        words[first_timestamp:, _TIMING] = -1
        places[:, :taken] = 0
        places[:, _ENDING] = -_SURE
        for at, letter in enumerate(letters):
            words[letter, _FIRST_LETTER + at] = _LOUD
            # What a position says is what comes behind it.
            places[_TASK + at - 1, _FIRST_LETTER + at] = _SURE
        places[_TASK + len(letters) - 1 :, _ENDING] = _SURE
        for layer in decoder.layers:
            for part in (layer.self_attn.out_proj, layer.encoder_attn.out_proj, layer.fc2):
                part.weight[:taken] = 0
                part.bias[:taken] = 0
        decoder.layer_norm.bias[_TIMING] = _SURE
