"""The commands of the administration."""

from frontend.administration.commands import audit, keys, usage

COMMANDS = (keys, usage, audit)
