"""Money: the bill of a request, reservations, charges and the ledger. ``docs/billing.md`` explains it on one page."""
