"""What was consumed and what it costs: the ledger, prices and wallets have their room here."""
