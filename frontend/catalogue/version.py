"""The version of Quartet, as in pyproject.toml."""

VERSION = "1.0.0"
