"""kokoro-onnx: <graph> <styles> <style> <language>. A task is a list of texts, which are spoken at once."""

import sys
from concurrent.futures import ThreadPoolExecutor

from kokoro_onnx import Kokoro
from line_server import serve

graph, styles, style, language = sys.argv[1:]
kokoro = Kokoro(graph, styles)


def _spoken(texts: list[str]) -> None:
    with ThreadPoolExecutor(len(texts)) as callers:
        list(callers.map(lambda text: kokoro.create(text, style, lang=language), texts))


serve(_spoken)
