"""The first import of the process from which task processes are forked: none of them counts in a worker's files."""

import os

from frontend.observe import METRICS_FOLDER

os.environ.pop(METRICS_FOLDER, None)
