"""sentence-transformers in process, which sorts texts by length: <model> <batch size>. A task is a list of texts."""

import sys

from line_server import serve
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(sys.argv[1], device="cpu")
serve(lambda texts: model.encode(texts, batch_size=int(sys.argv[2])))
