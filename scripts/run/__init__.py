"""The product on one machine: what must be right first, what is started, what keeps it going."""
