"""Processes and threads: workers, tasks and shared memory."""
