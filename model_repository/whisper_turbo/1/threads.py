"""How many threads a model computes with."""

import os


def threads_of(said: str) -> int:
    """The parameter ``intra_threads``: a number, or ``auto`` for every processor that this process may use.

    Quartet's own starts replace ``auto`` by what suits the machine; this holds for a Triton that somebody else starts.
    """
    return len(os.sched_getaffinity(0)) if said == "auto" else int(said)
