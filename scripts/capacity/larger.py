"""What was measured, on a Triton of other cores: with the threads and instances that ``make run`` would fit to them.

By Amdahl's law ("Validity of the single processor approach to achieving large scale computing capabilities", 1967) from
what two cores were to one, where all that a product does counts. More than two were not measured.
"""

import dataclasses

from scripts.capacity.fits import Fits, ModelFit
from scripts.run.fit import Fit

# How many times as fast as one core two were, in docs/benchmarks.md; a voice has one thread.
_TWO_CORES = {"m3_": 1.63, "whisper_": 1.72}
_MEMORY_A_CORE = 4 * 10**9


def fitted_to(fits: Fits, cores: int) -> Fits:
    """The same models on ``cores`` with 4 GB each; as they are where so many were measured."""
    if cores == fits.cores:
        return fits
    fit = Fit.of(cores, cores * _MEMORY_A_CORE)
    return dataclasses.replace(
        fits, cores=cores, models={name: _fitted(name, model, fit) for name, model in fits.models.items()}
    )


def _fitted(name: str, model: ModelFit, fit: Fit) -> ModelFit:
    if name.startswith("piper_"):
        return dataclasses.replace(model, instances=fit.voices)
    (two,) = (times for prefix, times in _TWO_CORES.items() if name.startswith(prefix))
    serial = 2 / two - 1
    before, after = (serial + (1 - serial) / threads for threads in (model.cores, fit.threads))
    instances = fit.whispers if name.startswith("whisper_") else model.instances
    line = model.line.times(after / before)
    return dataclasses.replace(model, line=line, cores=float(fit.threads), instances=instances)
