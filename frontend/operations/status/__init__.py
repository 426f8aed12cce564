"""The models, the health and the metrics of this service."""
