"""Bad input of `headrace prepare`: a row that cannot be used is named with file, row and column, and costs
itself alone; what is not an input at all ends the command, and nothing is published."""

import gzip
import io
import itertools
import json
import os
import pathlib
import random
import resource
import shlex
import struct
import subprocess
import tarfile
import zlib
from collections.abc import Iterable

import boto3
import published_support
import pytest
from held_store import HeldStore
from prepared_support import examples, png, report

SCHEMA = """
[features.n]
type = "int64"
optional = true

[features.x]
type = "float32"
optional = true

[features.t]
type = "string"
optional = true
"""
HEADER = b"n,x,t\n"
GOOD = b"".join(b"%d,%d.5,text %d\n" % (i, i, i) for i in range(5))


@pytest.fixture
def schema(tmp_path) -> pathlib.Path:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return path


@pytest.fixture
def fails(headrace, tmp_path):
    """Prepares `source`, which cannot be used. Gives the message, after a look that nothing was published."""

    def run(source, *options, words: Iterable[str], **more) -> str:
        done = headrace("prepare", source, tmp_path / "failed", "--quiet", *options, check=False, **more)
        assert done.returncode == 1, done.stdout + done.stderr
        for word in (pathlib.Path(source).name, *words):
            assert word in done.stderr, done.stderr
        assert not published_support.manifests(tmp_path / "failed")
        return done.stderr

    return run


@pytest.fixture
def rejects(headrace, fails, tmp_path):
    """Prepares `source`, whose rows `bad` (number → reason, and words of what the report tells of it) are
    rejected: with none allowed, and with one too few, the command fails. Gives the folder that is made when
    so many are allowed."""
    numbers = itertools.count()

    def run(source, *options, bad: dict[int, tuple[str, str]], written: int) -> pathlib.Path:
        count = len(bad)
        fails(source, *options, words=["row ", "rejected", "--max-rejects"])
        fails(source, *options, "--max-rejects", count - 1, words=["row ", "rejected", "--max-rejects"])
        folder = tmp_path / f"data{next(numbers)}"
        done = headrace("prepare", source, folder, "--json", "--max-rejects", count, *options)
        counts = json.loads(done.stdout)["counts"]
        assert counts == {
            "in": written + count,
            "written": written,
            "rejected": count,
            "dropped": 0,
            "ignored": 0,
        }
        lines = {line["row"]: line for line in report(folder)}
        assert lines.keys() == bad.keys()
        for row, (reason, detail) in bad.items():
            assert lines[row]["reason"] == reason and detail in lines[row]["detail"], lines[row]
            assert lines[row]["source"].endswith(pathlib.Path(source).name)
        return folder

    return run


def written(path: pathlib.Path, content: bytes) -> pathlib.Path:
    path.write_bytes(content)
    return path


# Tables


def test_rows_with_quotes_out_of_place_cost_themselves(rejects, schema, tmp_path):
    sound = b'6,1,"a ""word"",\r\nand a line"\n'
    bad = b'7,1,"a"b\n8,2,c,d\n9,"x\n'
    data = rejects(
        written(tmp_path / "t.csv", HEADER + GOOD + sound + bad + GOOD),
        "--schema",
        schema,
        bad={
            8: ("text after a closing quote", 'column 3 ("t")'),
            9: ("wrong number of cells", "4 cells, where the header has 3"),
            10: ("quote that is not closed", f'column 2 ("x"): the {5 + len(GOOD)} bytes from its row'),
        },
        written=6,
    )
    assert {6: [b'a "word",\r\nand a line']}.items() <= {
        row["n"][0]: row["t"] for row in examples(data, "train")
    }.items()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_marks_and_line_ends_do_not_change_the_records(headrace, schema, tmp_path, mark, end):
    table = written(tmp_path / "t.csv", mark + (HEADER + GOOD).replace(b"\n", end))
    headrace("prepare", table, tmp_path / "data", "--schema", schema)
    rows = sorted(examples(tmp_path / "data", "train"), key=lambda row: row["n"])
    assert rows == [{"n": [i], "x": [i + 0.5], "t": [b"text %d" % i]} for i in range(5)]


UTF16 = (HEADER + GOOD).decode()
LINES_16 = '{"n": 1}\n{"n": 2}\n'
NO_INPUT = {
    "UTF-16": ("t.csv", UTF16.encode("utf-16"), ["is UTF-16", "convert it to UTF-8"]),
    "UTF-16, big end first": ("t.csv", b"\xfe\xff" + UTF16.encode("utf-16-be"), ["is UTF-16"]),
    "UTF-16 without a mark": ("t.tsv", UTF16.encode("utf-16-le"), ["zero bytes in its header", "UTF-16"]),
    "UTF-16 in gzip": ("t.csv.gz", gzip.compress(UTF16.encode("utf-16")), ["is UTF-16"]),
    "UTF-16 of JSON": ("t.jsonl", LINES_16.encode("utf-16"), ["is UTF-16"]),
    "CR alone": ("t.csv", (HEADER + GOOD * 2000).replace(b"\n", b"\r"), ["end with CR alone", "LF"]),
    "nothing": ("t.csv", b"", ["is empty", "header"]),
    "empty lines": ("t.csv", b"\n\r\n\n", ["is empty", "header"]),
    "only a header": ("t.csv", HEADER, ["no row"]),
    "no line": ("t.jsonl", b"", ["no row"]),
    "a column twice": ("t.csv", b"n,x,n\n1,2,3\n", ["names column 3 as column 1", '"n"', "rename"]),
    "gzip that is cut": ("t.csv.gz", gzip.compress(HEADER + GOOD)[:-12], ["are truncated at offset"]),
}


@pytest.mark.parametrize("kind", NO_INPUT)
@pytest.mark.parametrize("has_schema", [True, False])
def test_a_file_that_is_no_table_is_told_in_words(fails, schema, tmp_path, kind, has_schema):
    name, content, words = NO_INPUT[kind]
    options = ("--schema", schema) if has_schema else ()
    fails(written(tmp_path / name, content), *options, "--max-rejects", "100%", words=words)


def test_text_of_another_encoding_among_utf8(rejects, headrace, schema, tmp_path):
    content = HEADER + "1,1,Zürich\n".encode() + "2,2,Zürich\n3,3,Genève\n".encode("latin-1")
    table = written(tmp_path / "t.csv", content)
    rejects(
        table,
        "--schema",
        schema,
        bad={row: ("text that is not utf-8", "column t: in 1 places") for row in (3, 4)},
        written=1,
    )
    schema.write_text('encoding_errors = "replace"\n' + SCHEMA)
    headrace("prepare", table, tmp_path / "replaced", "--schema", schema)
    assert {row["t"][0].decode() for row in examples(tmp_path / "replaced", "train")} == {
        "Zürich",
        "Z\ufffdrich",
        "Gen\ufffdve",
    }


def test_zero_bytes_are_text_and_no_number(rejects, schema, tmp_path):
    table = written(tmp_path / "t.csv", HEADER + b"1,1,a\0b\n2\0,2,c\n3,\0,d\n")
    problem = "not a number, or out of range"
    data = rejects(
        table, "--schema", schema, bad={3: (problem, "column n"), 4: (problem, "column x")}, written=1
    )
    assert examples(data, "train")[0]["t"] == [b"a\0b"]


def test_numbers_that_are_too_large_are_rejected_and_those_that_are_none_are_kept(rejects, schema, tmp_path):
    long = b"9" * 1_000_000
    rows = [b"1,nan,", b"2,-inf,", b"9223372036854775807,3.4028235e38,", b"4,0." + b"3" * 1_000_000 + b","]
    rows += [b"9223372036854775808,1,", b"-9223372036854775809,1,", b"1,1e999,", b"1,-3.5e38,"]
    rows += [long + b",1,", b"1," + long + b",", b"1.5,1,", b"1e3,1,", b"0x1,1,", b"1,one,"]
    wrong = dict.fromkeys(range(6, 16), "column n")
    wrong |= dict.fromkeys((8, 9, 11, 15), "column x")
    data = rejects(
        written(tmp_path / "t.csv", HEADER + b"\n".join(rows)),
        "--schema",
        schema,
        bad={row: ("not a number, or out of range", column) for row, column in wrong.items()},
        written=4,
    )
    by_n = {row["n"][0]: row["x"][0] for row in examples(data, "train")}
    assert by_n[1] != by_n[1] and by_n[2] == -float("inf")
    assert by_n[2**63 - 1] == pytest.approx(3.4028235e38) and by_n[4] == pytest.approx(1 / 3)


def limit_memory_to(size_bytes: int):
    """Limits the process's own memory; allocations beyond the limit fail."""
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (size_bytes, size_bytes))


@pytest.mark.slow
@pytest.mark.parametrize(
    "size_bytes", [300_000_000, pytest.param(4_000_000_000, marks=pytest.mark.soak, id="4GB")]
)
@pytest.mark.parametrize("quote", [b"", b'"'])
def test_a_huge_cell_costs_its_row_and_no_memory(headrace, schema, tmp_path, size_bytes, quote):
    table = tmp_path / "t.csv"
    with table.open("wb") as file:
        file.write(HEADER + GOOD + b"6,1," + quote)
        file.seek(size_bytes, os.SEEK_CUR)
        file.write(quote + b"\n" + GOOD)
    options = ("--schema", schema, "--max-rejects", 1, "--max-cell", "1MB", "--json")
    done = headrace(
        "prepare", table, tmp_path / "data", *options, preexec_fn=limit_memory_to(250_000_000), timeout=590
    )
    assert json.loads(done.stdout)["counts"]["written"] == 10
    (line,) = report(tmp_path / "data")
    assert (line["row"], line["reason"]) == (7, "row larger than the limit")
    assert f"{size_bytes + 5 + 2 * len(quote)} bytes, at most" in line["detail"]


def test_a_cell_that_is_larger_than_allowed_is_named(rejects, schema, tmp_path):
    table = written(tmp_path / "t.csv", HEADER + GOOD + b"6,1," + b"x" * 1001 + b"\n" + GOOD)
    bad = {7: ("cell larger than the limit", 'column 3 ("t"): 1001 bytes, at most 1000')}
    rejects(table, "--schema", schema, "--max-cell", "1000", bad=bad, written=10)


# Lines of JSON


def test_lines_that_are_no_sound_objects_cost_themselves(rejects, schema, tmp_path):
    lines = [b'{"n": 1}', b'{"t": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", b'{"t": ' + b"[" * 10_000]
    lines += [b"[1, 2]", b'"text"', b"null", b'{"n": 1, "n": 2}', b'{"n": 3', b'{"t": "Z\xfcrich"}']
    lines += [b'{"x": 1e999}', b'{"n": 9223372036854775808}', b'{"x": NaN}', b'{"n": 1.5}', b'{"n": 2}']
    bad = {
        2: ("JSON that nests too deep", "deeper than 64 levels"),
        3: ("JSON that nests too deep", "deeper than 64 levels"),
        **{row: ("not a JSON object", f"line {row}") for row in (4, 5, 6)},
        7: ("repeated key", 'column "n"'),
        8: ("not JSON", "line 8"),
        9: ("not JSON", "UTF-8"),
        10: ("number too large", "line 10"),
        11: ("number too large", 'column "n"'),
        12: ("not JSON", "line 12"),
        13: ("not a number, or out of range", "column n"),
    }
    table = written(tmp_path / "t.jsonl", b"\n".join(lines))
    data = rejects(table, "--schema", schema, bad=bad, written=2)
    assert sorted(row["n"][0] for row in examples(data, "train")) == [1, 2]


# Images


def encoded(image, image_format: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, image_format, **options)
    return out.getvalue()


def noise() -> tuple[bytes, bytes]:
    """A picture as PNG and as JPEG."""
    import PIL.Image

    pixels = random.Random(44).randbytes(64 * 48 * 3)
    image = PIL.Image.frombytes("RGB", (64, 48), pixels)
    return encoded(image, "png"), encoded(image, "jpeg")


def empty_png(side: int, has_pixels: bool) -> bytes:
    """A PNG of side × side pixels of one bit, with all of its compressed pixels, or with none."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    packer = zlib.compressobj()
    lines = side if has_pixels else 0
    pixels = b"".join(packer.compress(bytes(side // 8 + 2)) for _ in range(lines)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + content


def lying_jpeg(jpeg: bytes) -> bytes:
    """The JPEG with a frame header that claims 65,535 × 65,535 pixels."""
    size = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:size] + b"\xff" * 4 + jpeg[size + 4 :]


@pytest.fixture
def image_table(tmp_path):
    """Writes images, and a table of their names; those of None are not there."""

    def write(images: dict[str, bytes | None], more: str = "") -> tuple[pathlib.Path, pathlib.Path]:
        for name, content in images.items():
            if content is not None:
                (tmp_path / name).write_bytes(content)
        table = tmp_path / "images.csv"
        table.write_text("image,n\n" + "".join(f"{name},{n}\n" for n, name in enumerate(images)))
        schema = tmp_path / "images.toml"
        schema.write_text(
            f'[features.n]\ntype = "int64"\n[features.image]\ntype = "image"\nuri = true\n{more}'
        )
        return table, schema

    return write


RESIZE = 'resize = [4, 6]\nencode = "png"\n'


@pytest.mark.parametrize("more", [RESIZE, "verify = true\n"])
def test_what_is_no_sound_image_is_named_with_what_it_is(rejects, image_table, more):
    import PIL.Image

    png_bytes, jpeg = noise()
    frames = [PIL.Image.new("P", (8, 8), n) for n in (0, 1)]
    bad = {
        "cut.png": (png_bytes[: len(png_bytes) // 2], "damaged image", "the PNG is damaged or truncated"),
        "cut.jpg": (jpeg[: len(jpeg) // 2], "damaged image", "the JPEG is damaged or truncated"),
        "flipped.png": (png_bytes[:300] + b"\0\1\2" + png_bytes[303:], "damaged image", "the PNG is damaged"),
        "zero.png": (b"", "damaged image", "an image of zero bytes"),
        "lie.jpg": (lying_jpeg(jpeg), "image with too many pixels", "65535 × 65535"),
        "lie.png": (empty_png(65_535, False), "image with too many pixels", "65535 × 65535"),
        "moves.gif": (
            encoded(frames[0], "gif", save_all=True, append_images=frames[1:]),
            "image of a kind that is not read",
            "it is a GIF",
        ),
        "other.jpg": (
            encoded(PIL.Image.new("RGB", (8, 8)), "webp"),
            "image of a kind that is not read",
            "WebP",
        ),
        "page.png": (b"<html>404</html>", "no image, or smaller than the crop", "neither JPEG nor PNG"),
        "none.png": (None, "not there", "none.png"),
    }
    good = {"good.png": png_bytes, "good.jpg": jpeg}
    table, schema = image_table({name: content for name, (content, *_) in bad.items()} | good, more)
    expected = {row: (reason, detail) for row, (_, reason, detail) in enumerate(bad.values(), 2)}
    data = rejects(table, "--schema", schema, bad=expected, written=2)
    assert all(line["detail"].startswith("column image: ") for line in report(data))


@pytest.mark.exhaustive
@pytest.mark.parametrize("more", ["", "max_pixels = 5000000000\n"])
def test_a_png_that_unpacks_to_gigabytes_takes_no_memory(headrace, image_table, tmp_path, more):
    bomb = empty_png(60_000, True)
    assert len(bomb) < 1_000_000
    table, schema = image_table({"good.png": png((1, 2, 3)), "bomb.png": bomb}, RESIZE + more)
    options = ("--schema", schema, "--max-rejects", 1)
    headrace("prepare", table, tmp_path / "data", *options, preexec_fn=limit_memory_to(600_000_000))
    (line,) = report(tmp_path / "data")
    assert (line["row"], line["reason"]) == (3, "image with too many pixels")
    assert "60000 × 60000" in line["detail"]
    assert [row["n"] for row in examples(tmp_path / "data", "train")] == [[0]]


def test_images_that_only_look_bad_are_read(headrace, image_table, tmp_path):
    import PIL.Image
    import tensorflow as tf

    cmyk = PIL.Image.new("CMYK", (8, 8), (10, 200, 30, 40))
    frames = [PIL.Image.new("RGB", (8, 8), color) for color in ((9, 200, 30), (200, 1, 1))]
    images = {
        "sixteen.png": (encoded(PIL.Image.new("I;16", (8, 8), 0x1234), "png"), [0x12]),
        "cmyk.jpg": (encoded(cmyk, "jpeg", quality=100), cmyk.convert("RGB").getpixel((0, 0))),
        "moves.png": (encoded(frames[0], "png", save_all=True, append_images=frames[1:]), (9, 200, 30)),
        "png.jpg": (png((7, 8, 9)), (7, 8, 9)),
        "jpeg.png": (encoded(PIL.Image.new("L", (8, 8), 77), "jpeg"), [77]),
    }
    table, schema = image_table({name: content for name, (content, _) in images.items()}, RESIZE)
    headrace("prepare", table, tmp_path / "data", "--schema", schema)
    rows = {row["n"][0]: row["image"][0] for row in examples(tmp_path / "data", "train")}
    for n, (name, (_, color)) in enumerate(images.items()):
        pixels = tf.io.decode_png(rows[n]).numpy()
        assert pixels.shape == (4, 6, len(color)), name
        assert abs(pixels.astype(int) - list(color)).max() <= (3 if name == "cmyk.jpg" else 0), name


# References in cells


@pytest.fixture
def as_a_limited_user(s3_url) -> dict[str, str]:
    """The environment of who may read and list everything of `s3_url` but its folder "secret"."""
    bucket, prefix = s3_url.removeprefix("s3://").split("/", 1)
    objects = f"arn:aws:s3:::{bucket}/{prefix}/"
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": f"arn:aws:s3:::{bucket}"},
            {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": f"{objects}*"},
            {"Effect": "Deny", "Action": ["s3:GetObject"], "Resource": f"{objects}secret/*"},
        ],
    }
    service = boto3.client("sts", endpoint_url=os.environ["AWS_ENDPOINT_URL_S3"], region_name="us-east-1")
    keys = service.assume_role(
        RoleArn="arn:aws:iam::1:role/x", RoleSessionName="test", Policy=json.dumps(policy)
    )["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }


@pytest.mark.slow
def test_objects_that_are_not_there_cost_their_rows(headrace, image_table, tmp_path, s3_url):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/good.png").write_bytes(png((1, 2, 3)))
    bad = {
        "none.png": ("not there", f"{s3_url}/none.png"),
        "ftp://host/a.png": ("no URL that can be read", "ftp://"),
        "s3://": ("no URL that can be read", "s3://"),
        "/etc/passwd": ("may not be read", "/etc/passwd"),
    }
    table, schema = image_table(dict.fromkeys(["good.png", *bad]))
    table.rename(tmp_path / "raw/images.csv")
    headrace("cp", "-r", tmp_path / "raw", s3_url)
    options = ("--schema", schema, "--max-rejects", len(bad))
    headrace("prepare", f"{s3_url}/images.csv", tmp_path / "data", *options)
    lines = {line["row"]: line for line in report(tmp_path / "data")}
    for row, (reason, word) in enumerate(bad.values(), 3):
        assert lines[row]["reason"] == reason and word in lines[row]["detail"], lines[row]
        assert lines[row]["detail"].startswith("column image: ")
        assert lines[row]["source"] == f"{s3_url}/images.csv"
    assert [row["n"] for row in examples(tmp_path / "data", "train")] == [[0]]


@pytest.mark.slow
@pytest.mark.parametrize("duplicates", ["keep", "drop"])
def test_an_object_that_may_not_be_read_now_costs_no_row(
    headrace, image_table, tmp_path, s3_url, as_a_limited_user, duplicates
):
    (tmp_path / "raw/secret").mkdir(parents=True)
    for name, colour in (("good.png", (1, 2, 3)), ("secret/a.png", (3, 2, 1))):
        (tmp_path / "raw" / name).write_bytes(png(colour))
    table, schema = image_table(dict.fromkeys(["good.png", "secret/a.png"]))
    table.rename(tmp_path / "raw/images.csv")
    headrace("cp", "-r", tmp_path / "raw", s3_url)
    options = ("--schema", schema, "--max-rejects", "100%", "--duplicates", duplicates)
    command = ("prepare", f"{s3_url}/images.csv", tmp_path / "data", *options)
    refused = headrace(*command, env=as_a_limited_user, check=False)
    assert refused.returncode == 1
    assert f"{s3_url}/secret/a.png" in refused.stderr and "run the same command again" in refused.stderr
    assert published_support.manifests(tmp_path / "data") == []
    headrace(*command)
    rows = examples(tmp_path / "data", "train")
    assert sorted(row["n"] for row in rows) == [[0], [1]]


def test_a_slow_store_is_waited_for(build, image_table, tmp_path, monkeypatch):
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "")
    folder = tmp_path / "held"
    folder.mkdir()
    table, schema = image_table({"a.png": png((1, 2, 3)), "slow.png": png((4, 5, 6))})
    for path in (table, tmp_path / "a.png", tmp_path / "slow.png"):
        path.rename(folder / path.name)
    store = HeldStore(folder, lambda key: key.endswith("slow.png"))
    command = [build / "bin/headrace", "prepare", f"{store.url}/images.csv", tmp_path / "data"]
    with subprocess.Popen([*command, "--schema", schema, "--quiet"]) as running:
        assert store.is_asked.wait(120) and running.poll() is None
        assert not published_support.manifests(tmp_path / "data")
        store.release()
        assert running.wait(120) == 0
    assert sorted(row["n"] for row in examples(tmp_path / "data", "train")) == [[0], [1]]


# Archives and records


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_that_is_cut_within_a_member_is_named(fails, tmp_path, mode):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for i in range(5):
            for ending, data in (("bin", random.Random(i).randbytes(6000)), ("cls", b"1")):
                entry = tarfile.TarInfo(f"sample{i}.{ending}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    packed = out.getvalue()
    tar = written(tmp_path / f"samples.tar{mode[1:].replace(':', '.')}", packed[: len(packed) * 2 // 3])
    words = ["damaged or truncated", "after entry sample", "fetch the archive again"]
    fails(tar, "--layout", "webdataset", "--max-rejects", "100%", words=words)


def record_offsets(shard: bytes) -> list[int]:
    """Where each record begins, and the last one ends."""
    offsets = [0]
    while offsets[-1] < len(shard):
        offsets.append(offsets[-1] + struct.unpack_from("<Q", shard, offsets[-1])[0] + 16)
    return offsets


RECORD_HARM = {
    "data": (lambda shard, at: shard[: at + 20] + b"\xff" + shard[at + 21 :], "data with a wrong checksum"),
    "length": (lambda shard, at: shard[: at + 9] + b"\xff\xfe" + shard[at + 11 :], "wrong checksum"),
    "cut": (lambda shard, at: shard[: at + 20], "truncated record"),
}


@pytest.mark.parametrize("kind", RECORD_HARM)
def test_a_damaged_record_is_named_with_its_offset_and_what_is_lost(
    headrace, rejects, schema, tmp_path, kind
):
    harm, reason = RECORD_HARM[kind]
    table = written(tmp_path / "t.csv", HEADER + b"".join(b"%d,1,text\n" % i for i in range(100)))
    headrace("prepare", table, tmp_path / "first", "--schema", schema, "--compression", "none")
    (shard,) = (tmp_path / "first").glob("train-*.tfrecord")
    sound = shard.read_bytes()
    offsets = record_offsets(sound)
    damaged = written(tmp_path / "damaged.tfrecord", harm(sound, offsets[40]))
    lost = 20 if kind == "cut" else offsets[41] - offsets[40]
    detail = f"record 41: at offset {offsets[40]}; what lies in the {lost} bytes from there on is lost"
    full_reason = {"length": "record length with a wrong checksum", "data": f"record {reason}"}
    data = rejects(
        damaged,
        "--schema",
        schema,
        bad={41: (full_reason.get(kind, reason), detail)},
        written=40 if kind == "cut" else 99,
    )
    expected = [row["n"][0] for row in examples(tmp_path / "first", "train")]
    del expected[40 : 41 if kind != "cut" else None]
    assert sorted(row["n"][0] for row in examples(data, "train")) == sorted(expected)


# Ids, splits, labels


def test_ids_that_cannot_be_ids_are_named(rejects, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text('id = "name"\n[features.n]\ntype = "int64"\n')
    names = ["a", "b", "a", "", "x" * 70_000, "a"]
    table = written(
        tmp_path / "t.csv", b"name,n\n" + b"".join(b"%s,%d\n" % (s.encode(), i) for i, s in enumerate(names))
    )
    bad = {
        4: ("the id occurs twice", f"column name: file://{table}, row 2 has it too"),
        5: ("missing value", "column name"),
        6: ("id that is too long", "column name: it has 70000 bytes"),
        7: ("the id occurs twice", "row 2 has it too"),
    }
    data = rejects(table, "--schema", schema, bad=bad, written=2)
    assert sorted(row["n"][0] for row in examples(data, "train")) == [0, 1]


SPLIT = 'split = "split"\n[features.n]\ntype = "int64"\n'
WHOLE = {
    "no train": (SPLIT, "n,split\n1,TEST\n2,VALIDATION\n", ["train split", "empty", "--splits-as-they-are"]),
    "all discarded": (SPLIT, "n,split\n1,DISCARD\n2,discard\n", ["none of the 2 rows", "2 ignored"]),
    "no column of splits": (SPLIT, "n,spilt\n1,TRAIN\n", ["column split", "did you mean spilt?"]),
    "no column of labels": (
        '[features.label]\ntype = "label"\n',
        "n,Label\n1,a\n",
        ["column label", "did you mean Label?"],
    ),
    "no column like it": ('[features.label]\ntype = "label"\n', "n,m\n1,2\n", ["column label", "n, m"]),
    "one label": ('[features.label]\ntype = "label"\n', "n,label\n1,a\n2,a\n", ["only one class, a"]),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_what_the_schema_wants_and_the_table_has_not_is_told(fails, tmp_path, kind):
    schema, table, words = WHOLE[kind]
    (tmp_path / "schema.toml").write_text(schema)
    options = ("--schema", tmp_path / "schema.toml", "--max-rejects", "100%")
    fails(written(tmp_path / "t.csv", table.encode()), *options, words=words)


def test_a_label_that_is_missing_is_named(rejects, tmp_path):
    (tmp_path / "schema.toml").write_text('[features.label]\ntype = "label"\n')
    table = written(tmp_path / "t.csv", b"n,label\n1,a\n2,\n3,b\n4,\n")
    bad = {row: ("missing value", "column label") for row in (3, 5)}
    rejects(table, "--schema", tmp_path / "schema.toml", bad=bad, written=2)


@pytest.mark.parametrize(("allowed", "code"), [("9", 1), ("10", 0), ("49%", 1), ("50%", 0)])
def test_a_share_or_a_number_of_rows_may_be_rejected(headrace, schema, tmp_path, allowed, code):
    table = written(tmp_path / "t.csv", HEADER + b"x,1,a\n" * 10 + b"1,1,a\n" * 10)
    done = headrace(
        "prepare",
        table,
        tmp_path / "data",
        "--schema",
        schema,
        "--max-rejects",
        allowed,
        "--quiet",
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert bool(published_support.manifests(tmp_path / "data")) == (code == 0)
    if code == 1:
        assert "than the 9 allowed" in done.stderr and "column n" in done.stderr


# The output


def content(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_output_of_another_plan_is_left_as_it_is(headrace, schema, tmp_path):
    table = written(tmp_path / "t.csv", HEADER + GOOD)
    headrace("prepare", table, tmp_path / "data", "--schema", schema)
    before = content(tmp_path / "data")
    table.write_bytes(HEADER + GOOD * 2)
    for options, word in ((("--seed", 5), "seed was 44 and is now 5"), ((), "input")):
        done = headrace(
            "prepare", table, tmp_path / "data", "--schema", schema, "--quiet", *options, check=False
        )
        assert done.returncode == 1 and word in done.stderr and "--overwrite" in done.stderr
        assert content(tmp_path / "data") == before


def test_files_of_others_in_the_output_stay(headrace, schema, tmp_path):
    table = written(tmp_path / "t.csv", HEADER + GOOD)
    (tmp_path / "data").mkdir()
    foreign = {
        str(written(tmp_path / "data" / name, b"mine")): b"mine"
        for name in ("notes.txt", "train-00000-of-00001.tfrecord")
    }
    headrace("prepare", table, tmp_path / "data", "--schema", schema)
    headrace("prepare", table, tmp_path / "data", "--schema", schema, "--seed", 5, "--overwrite")
    assert foreign.items() <= content(tmp_path / "data").items()
    headrace("verify", tmp_path / "data")


def test_an_output_that_is_a_file_or_the_input_is_refused(headrace, schema, tmp_path):
    table = written(tmp_path / "t.csv", HEADER + GOOD)
    file = written(tmp_path / "file", b"mine")
    for output in (file, table):
        done = headrace("prepare", table, output, "--schema", schema, "--quiet", check=False)
        assert done.returncode == 1 and str(output) in done.stderr
    assert file.read_bytes() == b"mine" and table.read_bytes() == HEADER + GOOD


@pytest.mark.exhaustive
def test_a_full_disk_is_named_and_with_more_room_the_same_command_goes_on(build, headrace, schema, tmp_path):
    """On a small file system where one may be mounted, in a name space that goes with the command; elsewhere
    under a limit of file sizes."""
    words = (f"text {random.Random(i).random()}" for i in range(20_000))
    table = written(
        tmp_path / "t.csv", HEADER + b"".join(b"%d,1,%s\n" % (i, t.encode()) for i, t in enumerate(words))
    )
    small = tmp_path / "small"
    small.mkdir()
    options = ["--schema", schema, "--compression", "none", "--quiet"]
    prepare = shlex.join(map(str, [build / "bin/headrace", "prepare", table, small / "data", *options]))
    unshare = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    mount = f"mount -t tmpfs -o size=300k tmpfs {shlex.quote(str(small))}"
    mounts = subprocess.run([*unshare, "sh", "-c", mount], capture_output=True, check=False).returncode == 0
    look = f"grep -l headrace.manifest -r {small} --include 'manifest-*'"
    if mounts:
        give_room = f"mount -o remount,size=20m {shlex.quote(str(small))}"
        script = f"{mount} && ({prepare}; echo $?; {look}; {give_room}; {prepare}"
    else:
        script = f"((ulimit -f 50; {prepare}); echo $?; {look}; {prepare}"
    copy = f" && cp -r {small}/data {tmp_path}/copy)"
    done = subprocess.run(
        [*(unshare if mounts else []), "sh", "-c", script + copy],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.startswith("1\n"), done.stdout + done.stderr
    assert "manifest-" not in done.stdout
    assert f"writing file://{small}/data/" in done.stderr
    assert ("free some space" if mounts else "ulimit -f") in done.stderr
    assert len(examples(tmp_path / "copy", "train")) == 20_000
    headrace("prepare", table, tmp_path / "undisturbed", *options)
    shards = [
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("train-*")}
        for name in ("copy", "undisturbed")
    ]
    assert shards[0] == shards[1]
