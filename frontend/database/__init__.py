"""The database: how it is opened, its tables, and the migrations that lead to them."""
