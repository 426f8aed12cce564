"""/admin/v1 and its page: keys, organisations, wallets and what was changed, for whoever has the admin key."""
