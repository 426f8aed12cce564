"""Random requests, files, bytes and histories, each of which a seed repeats: ``make fuzz``."""

import os
import unittest

import hypothesis
from hypothesis.stateful import RuleBasedStateMachine

# 'make fuzz' has its own number of examples, and random ones.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))


def profile(examples: int, steps: int = 50) -> hypothesis.settings:
    """Settings for so many examples, always the same ones, or for those of ``make fuzz``."""
    return hypothesis.settings(
        max_examples=EXAMPLES or examples,
        derandomize=not EXAMPLES,
        database=None,
        stateful_step_count=steps,
        # On a busy machine any of them is slow.
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )


def histories(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> type[unittest.TestCase]:
    """The test of a state machine."""
    case: type[unittest.TestCase] = machine.TestCase
    case.settings = profile(examples, steps)  # type: ignore[attr-defined]
    return case
