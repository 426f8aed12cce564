"""Keys, organisations and wallets, as operators manage them: the registry, the audit log, /admin/v1, commands."""
