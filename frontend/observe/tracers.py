"""Which tracer there is. Where tracing is off, nothing of OpenTelemetry is imported."""

from frontend.observe.tracing import OFF, Tracer


def open_tracer(endpoint: str, ratio: float) -> Tracer:
    """One that sends the part ``ratio`` of all traces to an OTLP collector; ``OFF`` where there is no ``endpoint``."""
    if not endpoint:
        return OFF
    from frontend.observe.otlp import OtlpTracer

    return OtlpTracer(endpoint, ratio)
