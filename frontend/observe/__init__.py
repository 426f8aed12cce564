"""What the running service tells of itself: metrics and log lines."""

# Where several workers add up their metrics; prometheus_client itself reads this variable when it is imported.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
