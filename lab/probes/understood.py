"""How many words of each voice Whisper mishears: python -m lab.probes.understood URL KEY --voices amy paola --worst 5

A voice says the 60 sentences of its language, and ``stt-1-hd`` hears them. Both texts are brought to
one spelling (``lab.peers.alike``). With ``--read-aloud`` it says texts full of signs instead, 15 of them Markdown, and
the words wrong are those that differ from how a native speaker reads them (``read_aloud``: kind, text, reading).
Whisper's own errors count too, so compare only voices of one language, heard by the same model. ``--folder`` scores
WAV files 1.wav to 60.wav of any other speaker.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from client.api import KEY, URL, address, required
from client.verify.questions import Questions
from lab.peers.alike import wrong
from scripts.benchmark.common.sentences import LANGUAGES, sentences

_HEARD_BY = "stt-1-hd"


_READ_ALOUD = Path(__file__).parent / "read_aloud"


@dataclass(frozen=True)
class Sentence:
    """A sentence of a kind such as "dates", and how it is read."""

    kind: str
    text: str
    reading: str


@dataclass(frozen=True)
class Heard:
    """A sentence of a kind such as "dates", what Whisper heard in a WAV file, and the numbers of words and errors."""

    kind: str
    said: str
    heard: str
    sound: bytes = field(repr=False)
    words: int
    wrong: int


def percent(heard: Sequence[Heard]) -> str:
    return f"{100 * sum(each.wrong for each in heard) / sum(each.words for each in heard):.1f}"


async def hear(product: Questions, sound: bytes, language: str) -> str:
    def form() -> aiohttp.FormData:
        fields = aiohttp.FormData({"model": _HEARD_BY, "language": language})
        fields.add_field("file", sound, filename="a.wav")
        return fields

    return str(json.loads(await product.ask("POST", "/audio/transcriptions", data=form))["text"])


def plain(language: str) -> list[Sentence]:
    return [Sentence(kind, text, text) for kind, text in sentences(language)]


def read_aloud(language: str) -> list[Sentence]:
    lines = (_READ_ALOUD / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    return [Sentence(*(field.replace("\\n", "\n") for field in line.split("\t"))) for line in lines]


async def measure(
    product: Questions,
    language: str,
    voice: str,
    texts: Sequence[Sentence],
    folder: Path | None = None,
    at_once: int = 1,
) -> list[Heard]:
    """Every sentence, said by a voice of the product, or by the files of a folder."""
    turn = asyncio.Semaphore(at_once)

    async def one(number: int, said: Sentence) -> Heard:
        async with turn:
            sound = (folder / f"{number}.wav").read_bytes() if folder else await product.speak(said.text, voice)
            heard = await hear(product, sound, language)
        return Heard(said.kind, said.text, heard, sound, *wrong(said.reading, heard, language))

    return await asyncio.gather(*(one(number, each) for number, each in enumerate(texts, 1)))


def store(heard: Sequence[Heard], folder: Path) -> None:
    """Write the WAV files, and a table of the transcripts."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["number\twords\twrong\tsaid\theard"]
    for number, each in enumerate(heard, 1):
        (folder / f"{number}.wav").write_bytes(each.sound)
        lines.append(f"{number}\t{each.words}\t{each.wrong}\t{each.said}\t{each.heard}")
    (folder / "heard.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


async def voices(url: str) -> dict[str, str]:
    """The language of each voice that the product at an address with /v1 serves."""
    offer = url.removesuffix("/v1") + "/offer.json"
    async with aiohttp.ClientSession() as session, session.get(offer) as response:
        response.raise_for_status()
        return {voice["name"]: voice["language"] for voice in (await response.json())["voices"]}


def show(name: str, language: str, heard: Sequence[Heard], worst: int, by_kind: bool) -> None:
    print(f"| {name} | {language} | {sum(each.words for each in heard)} | {percent(heard)} % |", flush=True)
    if by_kind:
        kinds = dict.fromkeys(each.kind for each in heard)
        print("  " + ", ".join(f"{kind} {percent([one for one in heard if one.kind == kind])}" for kind in kinds))
    for each in sorted(heard, key=lambda each: -each.wrong)[:worst]:
        print(f"  {each.wrong} of {each.words}, {each.kind}\n    said   {each.said}\n    heard  {each.heard}")


async def run(given: argparse.Namespace) -> None:
    async with Questions(address(given.url), required(given.key, KEY)) as product:
        served: dict[str, Any] = {} if given.folder else await voices(product.url)
        said = {given.folder.name: given.language} if given.folder else served
        print("| voice | language | words said | words wrong |\n|---|---|---|---|")
        for name in given.voices or said:
            texts = read_aloud(said[name]) if given.read_aloud else plain(said[name])
            heard = await measure(product, said[name], name, texts, given.folder, given.at_once)
            if given.keep:
                store(heard, given.keep / name)
            show(name, said[name], heard, given.worst, given.kinds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?", default=os.environ.get(URL, ""), help=f"address of the product ({URL})")
    parser.add_argument("key", nargs="?", default=os.environ.get(KEY, ""), help=f"a key of it ({KEY})")
    parser.add_argument("--voices", nargs="+", help="names of voices; default: all that are served")
    parser.add_argument("--folder", type=Path, help="hear these WAV files instead, in --language")
    parser.add_argument("--language", choices=LANGUAGES)
    parser.add_argument("--read-aloud", action="store_true", help="say the texts of lab/probes/read_aloud")
    parser.add_argument("--keep", type=Path, help="write WAV files and transcripts to a folder for each voice")
    parser.add_argument("--worst", type=int, default=0, help="sentences with most errors to print for each voice")
    parser.add_argument("--kinds", action="store_true", help="print the percentage for each kind of sentence")
    parser.add_argument("--at-once", type=int, default=2, help="sentences at once")
    given = parser.parse_args()
    if given.folder and (not given.language or given.voices):
        parser.error("--folder needs --language, and no --voices")
    asyncio.run(run(given))


if __name__ == "__main__":
    main()
