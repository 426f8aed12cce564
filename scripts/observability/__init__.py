"""The dashboard, and what its queries answer on the running product."""
