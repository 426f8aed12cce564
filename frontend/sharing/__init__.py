"""What several frontends on the same Tritons share in Redis: request counters, shares of the Tritons, locks."""
