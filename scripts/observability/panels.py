"""What the dashboard shows: a row for each subject, a panel for each question, a query for each line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    """``queries`` by their legends; ``unit`` is one of Grafana's, ``kind`` a time series or a number."""

    title: str
    unit: str
    queries: Mapping[str, str]
    kind: str = "timeseries"


def _rate(metric: str, by: str = "") -> str:
    summed = f"sum by ({by})" if by else "sum"
    return f"{summed} (rate({metric}[$__rate_interval]))"


def _mean(metric: str, by: str) -> str:
    return f"{_rate(f'{metric}_sum', by)} / {_rate(f'{metric}_count', by)}"


def _quantile(quantile: float, metric: str, by: str) -> str:
    return f"histogram_quantile({quantile}, {_rate(f'{metric}_bucket', f'{by}, le')})"


def _stat(title: str, unit: str, query: str) -> Panel:
    return Panel(title, unit, {"": query}, "stat")


ROWS: Mapping[str, Sequence[Panel]] = {
    "Overview": (
        _stat("Requests a second", "reqps", _rate("quartet_requests_total")),
        _stat("In flight", "short", "sum(quartet_requests_in_flight)"),
        _stat("Failed", "percentunit", "max(quartet:request_failures:ratio_rate5m)"),
        _stat("Demand over the bound, busiest pool", "percentunit", "max(quartet:pool_demand:ratio)"),
        _stat("Tritons up", "short", "sum(max by (pool) (quartet_backends_up))"),
        _stat("Models away", "short", "count(max by (model) (quartet_model_ready) == 0) or vector(0)"),
        Panel("Versions", "short", {"{{version}}": "count by (version) (quartet_build_info)"}),
        Panel("Alerts", "short", {"{{alertname}}": 'count by (alertname) (ALERTS{alertstate="firing"}) or vector(0)'}),
    ),
    "Operations": (
        Panel("Requests", "reqps", {"{{operation}} {{status}}": _rate("quartet_requests_total", "operation, status")}),
        Panel("By tier", "reqps", {"{{tier}}": _rate("quartet_requests_total", "tier")}),
        Panel("95 % answered within", "s", {"{{operation}} {{tier}}": "quartet:request_seconds:p95_5m"}),
        Panel("Failed", "percentunit", {"{{operation}}": "quartet:request_failures:ratio_rate5m"}),
        Panel("Refused", "reqps", {"{{operation}} {{reason}}": _rate("quartet_refusals_total", "operation, reason")}),
        Panel(
            "Bytes",
            "Bps",
            {
                "in {{operation}}": _rate("quartet_body_bytes_sum", "operation"),
                "out {{operation}}": _rate("quartet_answer_bytes_sum", "operation"),
            },
        ),
        Panel(
            "Connections",
            "short",
            {"open": "sum(quartet_connections)", "refused": _rate("quartet_connections_refused_total")},
        ),
        Panel("Bytes held", "bytes", {"{{instance}}": "sum by (instance) (quartet_held_bytes)"}),
    ),
    "Queue and tiers": (
        Panel("Waiting", "short", {"{{model}} {{tier}}": "sum by (model, tier) (quartet_queue_waiting)"}),
        Panel(
            "In flight",
            "short",
            {
                "{{model}}": "sum by (model) (quartet_in_flight)",
                "{{model}} at most": "sum by (model) (quartet:bound:sum)",
            },
        ),
        Panel("95 % are sent within", "s", {"{{model}} {{tier}}": "quartet:queue_seconds:p95_5m"}),
        Panel(
            "Refused calls", "reqps", {"{{model}} {{reason}}": _rate("quartet_queue_refused_total", "model, reason")}
        ),
        Panel("Work of a batch", "short", {"{{model}}": "max by (model) (quartet_batch_work)"}),
        Panel("A call's part of a batch", "percentunit", {"{{model}}": _mean("quartet_batch_fill_ratio", "model")}),
        Panel(
            "How full a batch is",
            "percentunit",
            {
                "{{model}}": f"{_rate('quartet_batch_fill_ratio_sum', 'model')} / "
                f"{_rate('nv_inference_exec_count', 'model')}"
            },
        ),
        Panel("Work a second while calls wait", "short", {"{{model}}": "sum by (model) (quartet_throughput)"}),
    ),
    "Pools and Tritons": (
        Panel("Demand over the bound", "percentunit", {"{{pool}}": "quartet:pool_demand:ratio"}),
        Panel("Calls that fill it", "short", {"{{pool}}": "quartet:pool_bound:sum"}),
        Panel("Demand", "short", {"{{pool}}": "quartet:pool_demand:sum"}),
        Panel(
            "Tritons",
            "short",
            {
                "{{pool}}": "max by (pool) (quartet_backends)",
                "{{pool}} up": "min by (pool) (quartet_backends_up)",
                "{{pool}} that calls fill": "quartet:pool_demand:tritons",
            },
        ),
        Panel("95 % of calls take", "s", {"{{model}}": _quantile(0.95, "quartet_call_seconds", "model")}),
        Panel("Failed calls", "reqps", {"{{model}} {{error}}": _rate("quartet_backend_errors_total", "model, error")}),
        Panel("Models ready", "bool", {"{{model}}": "min by (model) (quartet_model_ready)"}),
        Panel(
            "Loaded anew", "short", {"{{model}} {{outcome}}": _rate("quartet_model_reloads_total", "model, outcome")}
        ),
        Panel(
            "Requests in a batch",
            "short",
            {"{{model}}": f"{_rate('nv_inference_count', 'model')} / {_rate('nv_inference_exec_count', 'model')}"},
        ),
        Panel(
            "Triton's queue by its work",
            "percentunit",
            {
                "{{model}}": f"{_rate('nv_inference_queue_duration_us', 'model')} / "
                f"{_rate('nv_inference_compute_infer_duration_us', 'model')}"
            },
        ),
    ),
    "Money": (
        Panel("Audio", "s", {"{{model}}": _rate("quartet_audio_seconds_total", "model")}),
        Panel("Characters", "short", {"{{model}}": _rate("quartet_characters_total", "model")}),
        Panel("Tokens", "short", {"{{model}}": _rate("quartet_tokens_total", "model")}),
        Panel(
            "CHF an hour",
            "currencyCHF",
            {"{{operation}}": f"3.6e-3 * {_rate('quartet_charged_micro_chf_total', 'operation')}"},
        ),
        Panel("Charges that wait", "short", {"{{instance}}": "sum by (instance) (quartet_usage_waiting)"}),
        Panel("Charges cannot be written", "bool", {"{{instance}}": "max by (instance) (quartet_usage_unwritable)"}),
    ),
    "Workers and stores": (
        Panel(
            "Processes and threads",
            "short",
            {
                "{{pool}}": 'sum by (pool) (quartet_in_flight_bound{pool=~"audio|text|threads"})',
                "{{pool}} busy": 'sum by (pool) (quartet_in_flight{pool=~"audio|text|threads"})',
                "{{model}} queued": 'sum by (model) (quartet_queue_waiting{model=~"audio|text|threads"})',
            },
        ),
        Panel(
            "Workers of a frontend",
            "short",
            {
                "{{instance}} accept": "max by (instance) (quartet_group_accepting)",
                "{{instance}} leave": "max by (instance) (quartet_group_leaving)",
                "{{instance}} died": "max by (instance) (quartet_group_restarts)",
            },
        ),
        Panel("Draining", "bool", {"{{instance}}": "max by (instance) (quartet_draining)"}),
        Panel("Killed", "short", {"{{pool}} {{reason}}": _rate("quartet_workers_killed_total", "pool, reason")}),
        Panel("Event loop late, 99 %", "s", {"{{instance}}": "quartet:loop_delay_seconds:p99_5m"}),
        Panel("Redis, 99 %", "s", {"{{use}}": _quantile(0.99, "quartet_redis_seconds", "use")}),
        Panel("Redis fails", "short", {"{{use}}": _rate("quartet_redis_errors_total", "use")}),
        Panel("Limits are counted apart", "bool", {"{{instance}}": "max by (instance) (quartet_limiter_degraded)"}),
        Panel("Database, 99 %", "s", {"{{instance}}": _quantile(0.99, "quartet_database_seconds", "instance")}),
        Panel("Database fails", "short", {"{{instance}}": _rate("quartet_database_errors_total", "instance")}),
        Panel("Log lines dropped", "short", {"{{instance}}": _rate("quartet_log_dropped_total", "instance")}),
    ),
}
