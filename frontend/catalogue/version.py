"""The version of Quartet, as in pyproject.toml."""

VERSION = "0.1.0"
