import pytest

from frontend.database.engine import DatabaseUrlError, open_engine


@pytest.mark.parametrize("url", ["", "quartet", "mysql://a/b", "sqlite://", "sqlite:///:memory:"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(DatabaseUrlError):
        open_engine(url)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2", "postgresql+asyncpg"])
def test_every_name_of_postgres_is_taken(scheme: str) -> None:
    assert open_engine(f"{scheme}://a:b@host/name").url.drivername == "postgresql+asyncpg"


def test_the_ssl_mode_of_libpq_is_passed_on() -> None:
    assert dict(open_engine("postgresql://a:b@host/name?sslmode=require").url.query) == {"ssl": "require"}
