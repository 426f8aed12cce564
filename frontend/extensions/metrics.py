"""The metrics of extensions; ``make documents`` lists them in docs/metrics.md."""

from frontend.observe.table import Group

GROUP = Group("Extensions")
LIVE_SESSIONS = GROUP.gauge("quartet_live_sessions", "Open live sessions.", "sessions", "tier")
CHAT_ESTIMATES = GROUP.counter(
    "quartet_chat_estimates_total",
    "Chat answers whose tokens were estimated from their text, because the upstream's usage was absent or unreadable.",
    "answers",
    "reason",
)
# Create label sets at 0: rate() ignores the first sample of a new series.
for _reason in ("absent", "unreadable"):
    CHAT_ESTIMATES.labels(_reason)
