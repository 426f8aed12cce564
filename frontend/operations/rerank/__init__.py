"""Query and documents to relevance scores."""
