"""/admin/v1: keys, organisations, wallets and the audit log, for holders of the admin key."""
