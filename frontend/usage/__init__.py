"""Usage and billing: bills, wallets, the ledger and reports."""
