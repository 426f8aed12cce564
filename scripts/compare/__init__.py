"""What int8 changes on somebody's own texts."""
