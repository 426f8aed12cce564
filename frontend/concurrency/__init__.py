"""Tools for asyncio: work that repeats, calls in parallel, turns."""
