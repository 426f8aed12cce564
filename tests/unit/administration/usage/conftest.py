from tests.unit.billing.conftest import broken as broken
from tests.unit.billing.conftest import engine as engine
from tests.unit.billing.conftest import mended as mended
from tests.unit.billing.conftest import queries as queries
