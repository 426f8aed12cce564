import pytest

from tests.contract.chart.helm import CHART, Helm, unpack


@pytest.fixture(scope="package")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(unpack(tmp_path_factory.mktemp("helm")), CHART)
