"""One operation of the API over many items."""
