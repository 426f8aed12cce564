from tests.unit.commands.conftest import new_terminal as new_terminal
from tests.unit.commands.conftest import terminal as terminal
