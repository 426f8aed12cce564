"""One question each, whose answer a document cites."""
