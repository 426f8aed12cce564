"""A product on a virtual clock: its own scheduler, queues, shares and bounds before machines that only take time."""
