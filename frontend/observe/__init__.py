"""Metrics, traces and logs."""

# The folder in which several workers add up their metrics. prometheus_client reads this variable when it is imported.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
# The number in the names of a worker's files there.
METRICS_NUMBER = "METRICS_NUMBER"
