"""HTTP as callers send it: connections, bodies that arrive, answers that go out."""
