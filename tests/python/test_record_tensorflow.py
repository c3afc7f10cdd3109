"""Record and codec formats against TensorFlow and TensorBoard, both ways, through headrace_record_probe."""

import gzip
import random
import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf

EXAMPLES = 10_000


# ---- Examples as plain data: {name: {"bytes": [hex] | "float32": [bits] | "int64": [value]}} ---------------


def float_bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def random_feature(rng: random.Random) -> dict:
    count = rng.choice([0, 1, 1, 2, 5, 40])
    kind = rng.choice(["bytes", "float32", "int64"])
    if kind == "bytes":
        return {kind: [rng.randbytes(rng.randrange(30)).hex() for _ in range(count)]}
    if kind == "float32":
        special = [0.0, -0.0, float("inf"), float("-inf"), 1e-42]
        values = [rng.choice(special) if rng.random() < 0.1 else rng.gauss(0, 100) for _ in range(count)]
        return {kind: [float_bits(value) for value in values]}
    special = [0, -1, 1, 2**63 - 1, -(2**63)]
    return {kind: [rng.choice([*special, rng.randrange(-(2**40), 2**40)]) for _ in range(count)]}


def random_example(rng: random.Random) -> dict:
    names = rng.sample(["a", "b", "label", "sentence", "text", "zürich", ""], rng.randrange(5))
    return {name: random_feature(rng) for name in names}


@pytest.fixture(scope="module")
def examples():
    rng = random.Random(44)
    return [random_example(rng) for _ in range(EXAMPLES)]


def from_tensorflow(example: "tf.train.Example") -> dict:
    out = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "bytes_list":
            out[name] = {"bytes": [value.hex() for value in feature.bytes_list.value]}
        elif kind == "float_list":
            bits = np.asarray(feature.float_list.value, np.float32).view(np.uint32)
            out[name] = {"float32": [int(value) for value in bits]}
        elif kind == "int64_list":
            out[name] = {"int64": list(feature.int64_list.value)}
        else:
            out[name] = None
    return out


def to_tensorflow(example: dict) -> "tf.train.Example":
    out = tf.train.Example()
    for name, values in example.items():
        feature = out.features.feature[name]
        ((kind, items),) = values.items()
        if kind == "bytes":
            feature.bytes_list.value.extend(bytes.fromhex(item) for item in items)
            feature.bytes_list.SetInParent()
        elif kind == "float32":
            feature.float_list.value.extend(np.array(items, np.uint32).view(np.float32).tolist())
            feature.float_list.SetInParent()
        else:
            feature.int64_list.value.extend(items)
            feature.int64_list.SetInParent()
    return out


# ---- the wire format, written by hand: what TensorFlow itself does not write but every parser must read


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def unknown(rng: random.Random) -> bytes:
    fields = [field(17, b"unknown"), varint(100 << 3) + varint(5), varint(9 << 3 | 5) + b"1234"]
    return rng.choice([b"", b"", b"", *fields])


def list_message(kind: str, items: list, rng: random.Random) -> bytes:
    if kind == "bytes":
        return b"".join(field(1, bytes.fromhex(item)) for item in items)
    cut = rng.randrange(len(items) + 1)
    out = b""
    for part in (items[:cut], items[cut:]):
        packed = rng.random() < 0.5
        if kind == "float32":
            out += (
                field(1, struct.pack(f"<{len(part)}I", *part))
                if packed
                else b"".join(b"\x0d" + struct.pack("<I", item) for item in part)
            )
        else:
            out += (
                field(1, b"".join(map(varint, part)))
                if packed
                else b"".join(b"\x08" + varint(item) for item in part)
            )
    return out


def any_encoding(example: dict, rng: random.Random) -> bytes:
    def entry(name: str, values: dict) -> bytes:
        ((kind, items),) = values.items()
        number = {"bytes": 1, "float32": 2, "int64": 3}[kind]
        feature = unknown(rng) + field(number, list_message(kind, items, rng)) + unknown(rng)
        # Not within the entry: Python's protobuf (upb) then drops it, C++'s does not.
        return field(1, field(1, name.encode()) + field(2, feature))

    names = list(example)
    rng.shuffle(names)
    features = b""
    for name in names:
        if rng.random() < 0.2:
            features += entry(name, random_feature(rng))  # overridden: of equal names the last counts
        features += unknown(rng) + entry(name, example[name])
    return unknown(rng) + field(1, features) + unknown(rng)


# ---- reading -----------------------------------------------------------------------------------------------


def write_records(path, records, compression=""):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_reads_what_tensorflow_writes(probe, examples, tmp_path, compression):
    path = tmp_path / "shard"
    write_records(path, (to_tensorflow(example).SerializeToString() for example in examples), compression)
    assert probe("read", path) == examples


def test_reads_every_encoding_as_protobuf_does(probe, examples, tmp_path):
    rng = random.Random(7)
    records = [any_encoding(example, rng) for example in examples]
    for record, example in zip(records, examples, strict=True):
        assert from_tensorflow(tf.train.Example.FromString(record)) == example
    write_records(tmp_path / "shard", records)
    assert probe("read", tmp_path / "shard") == examples


def test_reads_multi_member_files(probe, examples, tmp_path):
    write_records(tmp_path / "plain", (to_tensorflow(example).SerializeToString() for example in examples))
    plain = (tmp_path / "plain").read_bytes()
    cuts = sorted(random.Random(1).sample(range(len(plain)), 20))  # also within records
    pieces = [plain[a:b] for a, b in zip([0, *cuts], [*cuts, len(plain)], strict=True)]
    (tmp_path / "gzip").write_bytes(b"".join(map(gzip.compress, pieces)) + bytes(100))
    (tmp_path / "zlib").write_bytes(b"".join(map(zlib.compress, pieces)))
    for name in ("gzip", "zlib"):
        assert probe("read", tmp_path / name) == examples, name


def encoding_that_parse_example_reads(example: dict, rng: random.Random) -> bytes:
    """Like any_encoding, but a list is in one piece and of one kind, and all fields are known."""

    def entry(name: str, values: dict) -> bytes:
        ((kind, items),) = values.items()
        if kind == "bytes":
            content = b"".join(field(1, bytes.fromhex(item)) for item in items)
        else:
            encoded = [struct.pack("<I", item) if kind == "float32" else varint(item) for item in items]
            tag = b"\x0d" if kind == "float32" else b"\x08"
            packed = rng.random() < 0.5
            content = field(1, b"".join(encoded)) if packed else b"".join(tag + item for item in encoded)
        number = {"bytes": 1, "float32": 2, "int64": 3}[kind]
        return field(1, field(1, name.encode()) + field(2, field(number, content)))

    entries = [entry(name, values) for name, values in example.items()]
    rng.shuffle(entries)
    if rng.random() < 0.2:  # of equal names the last counts
        entries.insert(0, entry("label", {"int64": [rng.randrange(100)] * 2}))
    return field(1, b"".join(entries))


def random_row(rng: random.Random) -> dict:
    row = {
        "sentence": {"float32": [rng.getrandbits(30) for _ in range(8)]},
        "label": {"int64": [rng.randrange(-(2**62), 2**62) >> rng.randrange(62) for _ in range(2)]},
        "text": {"bytes": [rng.randbytes(rng.randrange(20)).hex()]},
        "ragged": {"int64": [rng.randrange(-500, 500) for _ in range(rng.randrange(4))]},
        "floats": {"float32": [rng.getrandbits(30) for _ in range(rng.randrange(4))]},
        "texts": {"bytes": [rng.randbytes(rng.randrange(3)).hex() for _ in range(rng.randrange(3))]},
        "other": random_feature(rng),
    }
    return {name: values for name, values in row.items() if name == "label" or rng.random() < 0.8}


@pytest.mark.parametrize("seed", range(5))
def test_decodes_columns_as_parse_example_does(probe, tmp_path, seed):
    rng = random.Random(seed)
    records = [encoding_that_parse_example_reads(random_row(rng), rng) for _ in range(EXAMPLES)]
    write_records(tmp_path / "shard", records, rng.choice(["", "GZIP"]))
    parsed = tf.io.parse_example(
        records,
        {
            "label": tf.io.FixedLenFeature([2], tf.int64),
            "text": tf.io.FixedLenFeature([1], tf.string, [b"none"]),
            "sentence": tf.io.FixedLenFeature([8], tf.float32, [-1.5] * 8),
            "ragged": tf.io.RaggedFeature(tf.int64),
            "floats": tf.io.RaggedFeature(tf.float32),
            "texts": tf.io.RaggedFeature(tf.string),
        },
    )
    columns = ["label:int64:2", "text:bytes:1:none", "sentence:float32:8:-1.5", "ragged:int64"]
    decoded = probe("read", tmp_path / "shard", *columns, "floats:float32", "texts:bytes")

    def column(name: str, kind: str) -> list:
        return [row[name][kind] for row in decoded]

    def ragged(name: str) -> list:
        return np.split(parsed[name].values.numpy(), parsed[name].row_splits.numpy()[1:-1])

    assert len(decoded) == EXAMPLES
    assert column("label", "int64") == parsed["label"].numpy().tolist()
    assert column("text", "bytes") == [[row[0].hex()] for row in parsed["text"].numpy()]
    assert column("sentence", "float32") == parsed["sentence"].numpy().view(np.uint32).tolist()
    assert column("ragged", "int64") == [row.tolist() for row in ragged("ragged")]
    assert column("floats", "float32") == [row.view(np.uint32).tolist() for row in ragged("floats")]
    assert column("texts", "bytes") == [[value.hex() for value in row] for row in ragged("texts")]


def test_names_the_column_that_does_not_fit(probe, tmp_path):
    short = to_tensorflow({"sentence": {"float32": [0] * 510}})
    write_records(tmp_path / "shard", [short.SerializeToString()])
    done = probe("read", tmp_path / "shard", "sentence:float32:512", check=False)
    assert done.returncode == 1
    assert 'feature "sentence": expected float32[512], found float32[510]' in done.stderr


def test_a_damaged_file_is_an_error(probe, examples, tmp_path):
    records = [to_tensorflow(example).SerializeToString() for example in examples[:100]]
    write_records(tmp_path / "shard", records, "GZIP")
    stored = (tmp_path / "shard").read_bytes()
    plain = bytearray(gzip.decompress(stored))
    plain[len(plain) // 2] ^= 4
    damaged = {"cut": stored[:-20], "flipped": gzip.compress(bytes(plain)), "junk": stored + b"junk"}
    for name, data in damaged.items():
        (tmp_path / name).write_bytes(data)
        assert probe("read", tmp_path / name, check=False).returncode == 1, name


# ---- writing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compression", "member_records"), [("none", 1000), ("gzip", 100_000), ("gzip", 700)]
)
def test_tensorflow_reads_what_is_written(probe, examples, tmp_path, compression, member_records):
    path = tmp_path / "shard"
    probe("write", path, compression, member_records, lines=examples)
    dataset = tf.data.TFRecordDataset(str(path), "" if compression == "none" else "GZIP")
    records = list(dataset.as_numpy_iterator())
    assert [from_tensorflow(tf.train.Example.FromString(record)) for record in records] == examples
    # The canonical form is protobuf's deterministic serialization (where no name begins another: Python's
    # then puts the longer one first, C++'s the shorter one).
    for record, example in zip(records, examples, strict=True):
        assert "" in example or record == to_tensorflow(example).SerializeToString(deterministic=True)


def test_every_member_is_reached_through_the_index(probe, examples, tmp_path):
    path = tmp_path / "shard"
    probe("write", path, "gzip", 700, lines=examples)
    (index,) = probe("index", path)
    stored = path.read_bytes()
    assert (index["records"], index["shard_bytes"]) == (EXAMPLES, len(stored))
    assert len(index["members"]) == -(-EXAMPLES // 700)
    whole = gzip.decompress(stored)
    assert index["stream_bytes"] == len(whole)
    for offset, size, plain_offset, plain_size, first_record, records in index["members"]:
        content = zlib.decompress(stored[offset : offset + size], 31)
        assert content == whole[plain_offset : plain_offset + plain_size]
        assert (first_record % 700, records) == (0, min(700, EXAMPLES - first_record))
