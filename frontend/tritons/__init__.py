"""The servers that run the models: calls, probes and reloads."""
