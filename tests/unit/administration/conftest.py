from tests.unit.access.conftest import engine as engine
