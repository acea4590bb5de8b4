import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    """Lend a client of two workers, which are threads of this process."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(**settings, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
