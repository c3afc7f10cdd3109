"""tools/reviews.py: the reviews as an archive of aclImdb's layout, always the same bytes."""

import collections
import statistics
import tarfile

import pytest
import reviews


@pytest.fixture(scope="session")
def snippets():
    return reviews.read_snippets(reviews.fetch_source())


def members(path):
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def test_every_labelled_snippet_is_in_the_archive_once(tmp_path, snippets):
    count = reviews.write_archive(tmp_path / "a.tar.gz", reviews.snippet_files(snippets))
    texts = members(tmp_path / "a.tar.gz")
    readme = texts.pop("aclImdb/README")
    assert b"MIT licence" in readme
    assert count == len(texts) == len(snippets) == 10_605 - 37
    assert sorted(texts.values()) == sorted(snippet.text for snippet in snippets)
    assert texts["aclImdb/train/neg/3_4.txt"] == b"Effective but too tepid biopic"


def test_ratings_are_those_of_their_label_and_a_fifth_is_for_testing(snippets):
    ratings = collections.defaultdict(set)
    for snippet in snippets:
        ratings[snippet.label].add(snippet.rating)
    assert ratings == {"pos": {7, 8, 9, 10}, "neg": {1, 2, 3, 4}}
    share = statistics.mean(snippet.split == "test" for snippet in snippets)
    assert share == pytest.approx(0.2, abs=0.012)  # three standard deviations


def test_the_same_input_gives_the_same_bytes(tmp_path, snippets):
    for name in ("a", "b"):
        reviews.write_archive(tmp_path / name, reviews.snippet_files(snippets))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_synthetic_texts_have_the_lengths_of_aclimdb(tmp_path, snippets):
    reviews.write_archive(tmp_path / "a.tar.gz", reviews.synthetic_files(snippets, 4001, seed=7))
    texts = members(tmp_path / "a.tar.gz")
    del texts["aclImdb/README"]
    lengths = [len(text) for text in texts.values()]
    folders = collections.Counter(name.rpartition("/")[0] for name in texts)
    assert statistics.mean(lengths) == pytest.approx(1293, rel=0.05)
    assert max(lengths) <= reviews.LONGEST_TEXT_BYTES
    assert sorted(folders.values()) == [1000, 1000, 1000, 1001]


def test_a_file_that_is_not_the_package_is_refused(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(b"no archive")
    with pytest.raises(SystemExit, match="is not vaderSentiment==3.3.2 as published"):
        reviews.read_snippets(tmp_path / "a.tar.gz")
