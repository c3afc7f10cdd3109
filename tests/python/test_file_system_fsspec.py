"""fsspec's own tests of what a file system does, on ours."""

import headrace.fsspec
import pytest
from fsspec.tests import abstract

pytestmark = pytest.mark.slow


@pytest.fixture(params=["s3", "file"])
def place(request, s3_url, tmp_path):
    """A file system, and an empty folder in it."""
    if request.param == "s3":
        return headrace.fsspec.S3FileSystem(), s3_url.removeprefix("s3://")
    return headrace.fsspec.FileFileSystem(), f"{tmp_path}/store"


class Fixtures(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self, place):
        return place[0]

    @pytest.fixture
    def fs_path(self, place):
        return place[1]

    @pytest.fixture
    def fs_join(self):
        return lambda *parts: "/".join(parts)

    @pytest.fixture
    def supports_empty_directories(self):
        return False


class TestCopy(abstract.AbstractCopyTests, Fixtures):
    pass


class TestGet(abstract.AbstractGetTests, Fixtures):
    pass


class TestPut(abstract.AbstractPutTests, Fixtures):
    pass


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    pass


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    pass
