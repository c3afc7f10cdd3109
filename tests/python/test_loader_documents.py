"""The Python of README and how-to pages runs as it stands, on data of ours."""

import os
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import kill_support
import pytest

import headrace


@pytest.fixture(scope="module")
def reviews(tmp_path_factory, headrace):
    folder = tmp_path_factory.mktemp("documents")
    archive = kill_support.write_archive(folder / "raw.tar.gz", kill_support.reviews(400))
    headrace("prepare", archive, folder / "data", "--encoder", "hash:512")
    return folder


def code_of(root, page: str, folder) -> str:
    text = (root / page).read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert code
    urls = {"s3://datasets/runs/1": folder / "run", "s3://datasets/reviews": folder / "data"}
    for url, path in {**urls, "s3://datasets/news": folder / "data"}.items():
        code = code.replace(url, str(path))
    return code.replace("batch_size=128", "batch_size=8")


PAGES = ["README.md", *(f"docs/how-to/{name}.md" for name in ("from-tf-data", "resume", "mixtures"))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(root, reviews, page):
    names = {"model": headrace.models.dense_classifier(seed=1)}
    exec(compile(code_of(root, page, reviews), page, "exec"), names)
    assert names["loader"].step > 0 or "mixtures" in page
    if "resume" in page:
        assert names["rest"].step == 150
