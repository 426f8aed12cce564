"""The first import of the process from which task processes are forked: they must not count in a worker's files."""

import os

from frontend.observe import METRICS_FOLDER

os.environ.pop(METRICS_FOLDER, None)
