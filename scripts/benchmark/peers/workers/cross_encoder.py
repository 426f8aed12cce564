"""sentence-transformers' CrossEncoder in process: <model> <batch size>. A task is a list of [query, document].

It does not sort, so that is done for it: the pairs lie by length as they would in the encoder.
"""

import sys

from line_server import serve
from sentence_transformers import CrossEncoder

model = CrossEncoder(sys.argv[1], device="cpu")
serve(lambda pairs: model.predict(sorted(pairs, key=lambda pair: -len(pair[1])), batch_size=int(sys.argv[2])))
