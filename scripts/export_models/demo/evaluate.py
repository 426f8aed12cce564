"""Word error and language of the demo Whisper over sentences that it was never trained on.

    python -m scripts.export_models.demo.evaluate --count 35

Speaks sentences of unseen seeds with the exported demo voices, hears them with the exported Whisper, without Triton.
With ``--prompt`` every window has that prompt; ``--prompt like`` gives each another sentence of its language.
"""

import argparse
import sys
from pathlib import Path

import jiwer

from scripts.export_models.demo.sentences import FIRST_UNSEEN_SEED, sentences, words
from scripts.export_models.demo.speech_corpus import Speakers
from scripts.export_models.demo.voices import VOICES
from scripts.export_models.whisper.served import recognizer_module

_MOST_WORD_ERROR = 0.03
_LEAST_LANGUAGE = 0.98


def main() -> int:
    parser = argparse.ArgumentParser(description="Evaluate the demo Whisper on unseen sentences.")
    parser.add_argument("--count", type=int, default=35, help="sentences a voice")
    parser.add_argument("--seed", type=int, default=FIRST_UNSEEN_SEED)
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    parser.add_argument("--whisper", type=Path, default=None, help="a converted folder; default: the exported one")
    parser.add_argument("--prompt", default="")
    arguments = parser.parse_args()
    module = recognizer_module()
    folder = arguments.whisper or arguments.repository / "whisper_turbo" / "1" / "whisper"
    recognizer = module.Recognizer(folder, threads=2)
    speakers = Speakers(arguments.repository)
    all_said: list[str] = []
    all_heard: list[str] = []
    all_right = 0
    for voice in VOICES:
        texts = list(sentences(voice.language, arguments.seed, arguments.count))
        prompts = [arguments.prompt] * len(texts)
        if arguments.prompt == "like":
            prompts = list(sentences(voice.language, arguments.seed + 1, arguments.count))
        spoken = zip(texts, prompts, strict=True)
        windows = [module.Window(speakers.demo_voice(text, voice.name), prompt=prompt) for text, prompt in spoken]
        results = recognizer.transcribe(windows)
        said = [" ".join(words(text)) for text in texts]
        heard = [" ".join(words("".join(s.text for s in r.segments))) or "-" for r in results]
        right = sum(result.language == voice.language for result in results)
        print(f"{voice.name:10} word error {jiwer.wer(said, heard):6.2%}  language {right / len(texts):7.2%}")
        all_said, all_heard, all_right = all_said + said, all_heard + heard, all_right + right
    error, language = jiwer.wer(all_said, all_heard), all_right / len(all_said)
    print(f"{'all':10} word error {error:6.2%}  language {language:7.2%}")
    return 0 if error <= _MOST_WORD_ERROR and language >= _LEAST_LANGUAGE else 1


if __name__ == "__main__":
    sys.exit(main())
