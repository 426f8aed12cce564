"""Everything that callers and machines do to the product for an hour, and what it keeps of its promises meanwhile."""
