"""A dress rehearsal of ``make run MODELS=hub``: look-alikes of all checkpoints, a stand-in of the hub, and a report."""
