from tests.unit.billing.conftest import engine as engine
from tests.unit.billing.conftest import queries as queries
