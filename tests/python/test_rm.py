"""`headrace rm`: what a URL means does not depend on what the store holds."""

import http.server
import threading
import urllib.parse
import xml.etree.ElementTree
from collections.abc import Iterator

import pytest


def files(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def make(folder, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def test_a_name_with_brackets_is_never_taken_for_a_pattern(headrace, tmp_path):
    make(tmp_path, "exp[1]/a", "exp1/a", "note[2]", "note2")
    headrace("rm", "-r", "--yes", tmp_path / "exp[1]")
    again = headrace("rm", "-r", "--yes", tmp_path / "exp[1]", check=False)
    assert again.returncode == 1 and "there is nothing at" in again.stderr
    headrace("rm", tmp_path / "note\\[2\\]")
    assert headrace("rm", "--yes", tmp_path / "note[2]", check=False).returncode == 1
    assert files(tmp_path) == ["exp1/a", "note2"]
    headrace("rm", "--yes", tmp_path / "note[2]*")  # a pattern, for its star
    assert files(tmp_path) == ["exp1/a"]


def test_a_pattern_that_is_also_a_name_removes_nothing(headrace, tmp_path):
    make(tmp_path, "a*b", "axb", "c?/d", "cx/d")
    for words in (["a*b"], ["-r", "c?"]):
        done = headrace("rm", "--yes", *words[:-1], tmp_path / words[-1], check=False)
        assert done.returncode == 1 and "nothing was removed" in done.stderr
    assert files(tmp_path) == ["a*b", "axb", "c?/d", "cx/d"]
    headrace("rm", tmp_path / "a\\*b")
    headrace("rm", "-r", "--yes", tmp_path / "c\\?")
    assert files(tmp_path) == ["axb", "cx/d"]
    headrace("rm", "--yes", tmp_path / "a*b")
    assert files(tmp_path) == ["cx/d"]


def test_a_trailing_slash_names_folders_only(headrace, tmp_path):
    make(tmp_path, "object", "folder/a", "folder-2/a", "folder-object")
    done = headrace("rm", "-r", "--yes", f"{tmp_path}/object/", check=False)
    assert done.returncode == 1 and "there is no folder" in done.stderr
    done = headrace("rm", "--yes", f"{tmp_path}/folder*/", check=False)
    assert done.returncode == 1 and "-r removes" in done.stderr
    headrace("rm", "-r", "--yes", f"{tmp_path}/folder*/")
    assert files(tmp_path) == ["folder-object", "object"]


class ServerOfKeys(http.server.BaseHTTPRequestHandler):
    """S3 as far as rm needs it. Unlike most test servers, it lets an object be called as a folder is."""

    keys: set[str]

    def do_HEAD(self) -> None:
        self.answer(b"", 200 if self.key() in self.keys else 404)

    def do_GET(self) -> None:
        if self.key() != "/bucket":  # after a HEAD that found nothing
            return self.answer(b"<Error><Code>NoSuchKey</Code></Error>", 404)
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter")
        found = set()
        for key in self.keys:
            folder, slash, _ = key[len(prefix) :].partition("/")
            if key.startswith(prefix):
                found.add(prefix + folder + "/" if delimiter and slash else key)
        entries = "".join(
            f"<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"
            if key.endswith("/")
            else f"<Contents><Key>{key}</Key><Size>1</Size><ETag>e</ETag></Contents>"
            for key in sorted(found)
        )
        self.answer(
            f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()
        )

    def do_POST(self) -> None:
        document = xml.etree.ElementTree.fromstring(self.rfile.read(int(self.headers["Content-Length"])))
        named = (element for element in document.iter() if element.tag.endswith("Key"))
        self.keys.difference_update(element.text for element in named)
        self.answer(b"<DeleteResult></DeleteResult>")

    def do_DELETE(self) -> None:
        self.keys.discard(self.key())
        self.answer(b"", 204)

    def key(self) -> str:
        return urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).removeprefix("/bucket/")

    def answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def remove(headrace) -> Iterator:
    """Runs `rm --yes` on a bucket with these keys, and returns the exit code and what is left."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ServerOfKeys) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }

        def run(keys: set[str], *words: str) -> tuple[int, set[str]]:
            ServerOfKeys.keys = set(keys)
            done = headrace("rm", "--yes", *words, check=False, env=environment)
            return done.returncode, ServerOfKeys.keys

        yield run
        server.shutdown()


def test_an_object_called_as_a_folder_goes_with_the_folder_or_alone(remove):
    keys = {"a", "a/1", "a/2", "ab"}
    assert remove(keys, "-r", "s3://bucket/a/") == (0, {"a", "ab"})
    assert remove({"a", "ab"}, "-r", "s3://bucket/a/") == (1, {"a", "ab"})
    assert remove(keys, "s3://bucket/a") == (0, {"a/1", "a/2", "ab"})
    assert remove({"a/1", "a/2", "ab"}, "s3://bucket/a") == (1, {"a/1", "a/2", "ab"})
    assert remove(keys, "-r", "s3://bucket/a") == (0, {"ab"})
    assert remove(keys, "-r", "s3://bucket/a*/") == (0, {"a", "ab"})
