"""The commands of ``quartet`` except ``serve``."""
