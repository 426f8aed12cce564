"""Wallets and reports of consumption, for operators and for the dashboard."""
