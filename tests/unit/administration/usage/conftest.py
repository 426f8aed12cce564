from tests.unit.usage.conftest import engine as engine
from tests.unit.usage.conftest import queries as queries
