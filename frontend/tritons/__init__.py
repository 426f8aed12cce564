"""The servers that run the models: calls, probes, and models that are loaded anew."""
