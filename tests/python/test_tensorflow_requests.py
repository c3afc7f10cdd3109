"""The cost of TensorFlow's use of a store in requests and bytes, as the server sees them."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tensorflow as tf
from fault_support import traced
from faultproxy.proxy import Exchange

from headrace import tensorflow as paths  # noqa: F401

pytestmark = pytest.mark.slow

gfile = tf.io.gfile


@pytest.fixture
def trace(monkeypatch) -> Iterator[Callable[[], list[Exchange]]]:
    """The exchanges since the last call, of requests that go through a proxy; none of them is disturbed."""
    with traced() as (url, exchanges):
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        yield exchanges


def methods(exchanges: list[Exchange]) -> list[str]:
    return [exchange.method for exchange in exchanges]


def received(exchanges: list[Exchange]) -> int:
    return sum(exchange.received_bytes for exchange in exchanges)


def test_reading_fetches_each_byte_once(trace, s3_url):
    path = f"{s3_url}/a.tfrecord"
    with tf.io.TFRecordWriter(path) as writer:
        for seed in range(60):
            writer.write(np.random.default_rng(seed).bytes(1_000_000))
    trace()
    assert sum(1 for _ in tf.data.TFRecordDataset(path)) == 60
    seen = trace()
    assert {(exchange.method, exchange.status) for exchange in seen} == {("GET", 206)}
    assert received(seen) <= 1.1 * 60_000_000
    assert len(seen) <= 20


def test_two_reads_that_follow_one_another_cost_little_more(trace, s3_url):
    tf.io.write_file(f"{s3_url}/large", np.random.default_rng(1).bytes(20_000_000))
    trace()
    with gfile.GFile(f"{s3_url}/large", "rb") as file:
        file.seek(5_000_000)
        for _ in range(2):
            file.read(300_000)
    assert received(trace()) <= 4 * 600_000


def test_a_part_of_a_checkpoint_costs_that_part(trace, s3_url):
    variables = {f"v{i:02}": tf.Variable(tf.random.stateless_uniform([1_500_000], [i, 0])) for i in range(20)}
    path = tf.train.Checkpoint(**variables).write(f"{s3_url}/checkpoint")
    trace()
    two = {name: tf.Variable(tf.zeros([1_500_000])) for name in ("v03", "v11")}
    tf.train.Checkpoint(**two).read(path).expect_partial()
    assert all((two[name].numpy() == variables[name].numpy()).all() for name in two)
    ranges = [
        exchange for exchange in trace() if exchange.method == "GET" and "list-type" not in exchange.query
    ]
    assert {exchange.status for exchange in ranges} == {206}
    assert received(ranges) <= 1.1 * 2 * 6_000_000


def test_a_checkpoint_is_sent_once_and_never_copied(trace, s3_url):
    large = tf.Variable(tf.random.stateless_uniform([10_000_000], [1, 2]))
    checkpoint = tf.train.Checkpoint(large=large)
    checkpoint.write(f"{s3_url}/warm")
    trace()
    checkpoint.write(f"{s3_url}/checkpoint")
    seen = trace()
    assert sum(exchange.sent_bytes for exchange in seen) <= 1.01 * 40_000_000
    puts = [exchange for exchange in seen if exchange.method == "PUT"]
    assert {exchange.path.rpartition("/")[2] for exchange in puts} == {
        "checkpoint.data-00000-of-00001",
        "checkpoint.index",
    }
    assert all(exchange.received_bytes < 1_000 for exchange in puts), "no answers of copies"
    assert "DELETE" not in methods(seen)


def test_small_files_cost_one_request_each(trace, s3_url):
    with gfile.GFile(f"{s3_url}/a", "w") as file:
        file.write("text")
    assert methods(trace()) == ["PUT"]
    assert [line.numpy() for line in tf.data.TextLineDataset(f"{s3_url}/a")] == [b"text"]
    assert methods(trace()) == ["GET"]


def test_what_is_found_out_costs_little(trace, s3_url):
    for i in range(30):
        with gfile.GFile(f"{s3_url}/d/{i}", "w") as file:
            file.write("text")
    trace()
    assert len(gfile.glob(f"{s3_url}/d/*")) == 30
    assert methods(trace()) == ["GET"]
    assert gfile.exists(f"{s3_url}/d/7")
    assert methods(trace()) == ["HEAD"]
    assert len(gfile.listdir(f"{s3_url}/d")) == 30
    assert len(trace()) <= 6
    gfile.rmtree(f"{s3_url}/d")
    assert len(trace()) <= 6


def test_a_log_costs_what_is_logged(trace, s3_url):
    tf.summary.create_file_writer(f"{s3_url}/first").close()  # finds out whether conditions are honoured
    trace()
    writer = tf.summary.create_file_writer(f"{s3_url}/log")
    with writer.as_default():
        for step in range(20):
            tf.summary.histogram("weights", tf.random.stateless_normal([1_000], [step, 0]), step=step)
            writer.flush()
    writer.close()
    seen = trace()
    logged = sum(gfile.stat(path).length for path in gfile.glob(f"{s3_url}/log/*"))
    assert sum(exchange.sent_bytes for exchange in seen) <= 1.05 * logged
    assert len(seen) - methods(seen).count("PUT") <= 6, "TensorFlow looks for the folder once"
