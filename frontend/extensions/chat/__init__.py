"""Chat completions and responses, answered by a server of the operator's choice."""
