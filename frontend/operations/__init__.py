"""The four operations, one room each: protocol, pipeline, handler."""
