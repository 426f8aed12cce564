"""Processes and threads: workers, tasks, background work and shared memory."""
