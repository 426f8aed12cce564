"""Work beside the event loop: other processes, threads, what is repeated, and memory that is shared."""
