"""For test_serve_crafted.py: the requests, as bytes, and what a server should do with each."""

import dataclasses
import gzip
import json
import struct
import zlib

HALF = "/v1/models/half:predict"
INFER = "/v2/models/half/infer"
GOOD = b'{"instances": [2.0]}'


@dataclasses.dataclass(frozen=True)
class Crafted:
    """A connection that sends `data`. It is answered by one of these statuses, once, or if there is none by
    nothing; then the server ends it."""

    name: str
    data: bytes
    statuses: tuple[int, ...]
    ends_sending: bool = False  # the client says that nothing more will come


def request(
    method: str = "GET",
    target: str = "/v1/models/half",
    *headers: str,
    body: bytes = b"",
    version: str = "HTTP/1.1",
    host: str = "Host: a",
) -> bytes:
    """A request without a length for its body, unless a header says it."""
    lines = [f"{method} {target} {version}", *([host] if host else []), "Connection: close", *headers]
    return "\r\n".join(lines).encode("latin-1", "surrogateescape") + b"\r\n\r\n" + body


def post(body: bytes, target: str = HALF, *headers: str) -> bytes:
    return request("POST", target, f"Content-Length: {len(body)}", *headers, body=body)


def chunked(body: bytes, *headers: str) -> bytes:
    return request("POST", HALF, "Transfer-Encoding: chunked", *headers, body=body)


def one_line(line: bytes) -> bytes:
    return line + b"\r\nHost: a\r\nConnection: close\r\n\r\n"


def with_header(line: bytes) -> bytes:
    """A good request with one more line in its head."""
    head, _, _ = request().partition(b"\r\n\r\n")
    return head + b"\r\n" + line + b"\r\n\r\n"


HIDDEN = b"GET /v1/models/half HTTP/1.1\r\nHost: a\r\n\r\n"  # what a smuggler would have answered, too

FIRST_LINES = [
    Crafted("no host", request(host=""), (400,)),
    Crafted("two hosts", request("GET", "/v1/models/half", "Host: b"), (400,)),
    Crafted("no host in HTTP/1.0", request(host="", version="HTTP/1.0"), (200,)),
    Crafted("HTTP/2.0", request(version="HTTP/2.0"), (505,)),
    Crafted("HTTP/1.2", request(version="HTTP/1.2"), (505,)),
    Crafted("HTTP/0.9", b"GET /v1/models/half\r\n\r\n", (400,)),
    Crafted("http in lower case", request(version="http/1.1"), (400,)),
    Crafted("HTTP/11", request(version="HTTP/11"), (400, 505)),
    Crafted("preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9, (505,)),
    Crafted("TLS", bytes.fromhex("16030100c8010000c40303") + b"\x11" * 200, (400,)),
    Crafted("a banner of SSH", b"SSH-2.0-OpenSSH_9.2\r\n", (408,)),
    Crafted("frames of gRPC", b"\0\0\0\0\x05hello" * 3, (400,)),
    Crafted("zeros", b"\0" * 4096, (400,)),
    Crafted("no target", one_line(b"GET HTTP/1.1"), (400,)),
    Crafted("two spaces", one_line(b"GET  /v1/models/half HTTP/1.1"), (400,)),
    Crafted("a tab", one_line(b"GET\t/v1/models/half HTTP/1.1"), (400,)),
    Crafted("a space at the end", one_line(b"GET /v1/models/half HTTP/1.1 "), (400,)),
    Crafted("a space before", one_line(b" GET /v1/models/half HTTP/1.1"), (400,)),
    Crafted("a target with a space", one_line(b"GET /v1/models/ha lf HTTP/1.1"), (400,)),
    Crafted("a target with NUL", one_line(b"GET /v1/models/\0half HTTP/1.1"), (400,)),
    Crafted("a target with a control character", one_line(b"GET /v1/\x01 HTTP/1.1"), (400,)),
    Crafted("a target of other bytes", one_line(b"GET /v1/models/\xff\xfe HTTP/1.1"), (400, 404)),
    Crafted("a target without a slash", one_line(b"GET v1/models/half HTTP/1.1"), (400,)),
    Crafted("an absolute target", one_line(b"GET http://b/v1/models/half HTTP/1.1"), (200,)),
    Crafted("an absolute target without a path", one_line(b"GET http://b HTTP/1.1"), (400,)),
    Crafted("a target of another scheme", one_line(b"GET file:///etc/passwd HTTP/1.1"), (400,)),
    Crafted("the target *", request("OPTIONS", "*"), (400,)),
    Crafted("an endless target", request("GET", "/" + "a" * 20_000), (431,)),
    Crafted("a bare LF", b"GET /v1/models/half HTTP/1.1\nHost: a\n\n", (400,)),
    Crafted("a bare CR", b"GET /v1/models/half HTTP/1.1\rHost: a\r\r", (), True),
    Crafted("an empty line first", b"\r\n" + request(), (200,)),
    Crafted("nothing but lines", b"\r\n" * 10_000, (), True),
    Crafted("CONNECT", request("CONNECT", "b:80"), (501,)),
    *(
        Crafted(f"the verb {verb[:9]}", request(verb), statuses)
        for verb, statuses in [
            *((verb, (400,)) for verb in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "get", "PROPFIND")),
            ("G" * 5000, (400,)),
            ("GE(T", (400,)),
            ("G\xe9T", (400,)),
            ("HEAD", (400,)),
        ]
    ),
    Crafted("POST to the status", request("POST", "/v1/models/half", "Content-Length: 0"), (400,)),
    Crafted("GET of predict", request("GET", HALF), (400,)),
    Crafted("POST to the page", request("POST", "/", "Content-Length: 0"), (405,)),
]

HEADERS = [
    *(
        Crafted(f"the header {name}", with_header(line), (400,))
        for name, line in [
            ("on two lines", b"A: b\r\n c"),
            ("on two lines by a tab", b"A: b\r\n\tc"),
            ("with a bare LF", b"A: b\nContent-Length: 5"),
            ("with a bare CR", b"A: b\rC: d"),
            ("with NUL", b"A: b\0c"),
            ("with a control character", b"A: \x01"),
            ("with DEL", b"A: \x7f"),
            ("with a space before the colon", b"A : b"),
            ("with a tab before the colon", b"Content-Length\t: 5"),
            ("without a name", b": b"),
            ("without a colon", b"nothing"),
            ("with a name in brackets", b"A[1]: b"),
            ("with a name of other bytes", b"\xffA: b"),
            ("Content-Length, negative", b"Content-Length: -1"),
            ("Content-Length with a plus", b"Content-Length: +5"),
            ("Content-Length, hexadecimal", b"Content-Length: 0x5"),
            ("Content-Length, empty", b"Content-Length:"),
            ("Content-Length, a decimal", b"Content-Length: 5.0"),
            ("Content-Length of 2^64", b"Content-Length: 18446744073709551616"),
            ("Content-Length, a list", b"Content-Length: 5, 6"),
            ("Content-Length with a space", b"Content-Length: 5 5"),
            ("Content-Length twice", b"Content-Length: 5\r\nContent-Length: 6"),
            ("Transfer-Encoding twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            ("Transfer-Encoding with Content-Length", b"Transfer-Encoding: chunked\r\nContent-Length: 5"),
            ("Content-Length with Transfer-Encoding", b"Content-Length: 5\r\nTransfer-Encoding: chunked"),
            (
                "Transfer-Encoding: identity with a length",
                b"Transfer-Encoding: identity\r\nContent-Length: 5",
            ),
        ]
    ),
    *(
        Crafted(
            f"Transfer-Encoding: {value!r}", with_header(f"Transfer-Encoding: {value}".encode()), statuses
        )
        for value, statuses in [
            ("identity", (501,)),
            ("gzip", (501,)),
            ("gzip, chunked", (501,)),
            ("chunked, chunked", (400, 501)),
            ("chunked, gzip", (400, 501)),
            ("xchunked", (501,)),
            ("chunked;q=1", (400, 501)),
            ('"chunked"', (400, 501)),
            ("\x0bchunked", (400,)),
            ("", (400, 501)),
        ]
    ),
    Crafted("chunks in HTTP/1.0", chunked(b"0\r\n\r\n").replace(b"HTTP/1.1", b"HTTP/1.0"), (400,)),
    Crafted("101 headers", with_header(b"\r\n".join(b"A%d: b" % i for i in range(101))), (431,)),
    Crafted("a header of 20 kB", with_header(b"A: " + b"b" * 20_000), (431,)),
    Crafted("an endless head", b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 20_000, (431,)),
    Crafted("a name of 20 kB", with_header(b"A" * 20_000 + b": b"), (431,)),
    Crafted("another expectation", request("POST", HALF, "Content-Length: 5", "Expect: 200"), (417,)),
    Crafted("Upgrade: h2c", with_header(b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk"), (200,)),
    Crafted("Upgrade: websocket", with_header(b"Upgrade: websocket\r\nSec-WebSocket-Key: eA=="), (200,)),
    *(
        Crafted(f"X-Request-Timeout-Ms: {value}", post(GOOD, HALF, f"X-Request-Timeout-Ms: {value}"), (400,))
        for value in ("-1", "0", "x", "1e3", "99999999999999999999", "")
    ),
    Crafted("a token that nobody asked for", with_header(b"Authorization: Bearer " + b"x" * 5000), (200,)),
]

# The hidden request must not be answered: neither server in a row may take it for one of its own.
SMUGGLED = [
    Crafted(
        "CL.TE",
        request("POST", HALF, "Content-Length: 6", "Transfer-Encoding: chunked", body=b"0\r\n\r\nG"),
        (400,),
    ),
    Crafted(
        "TE.CL",
        request(
            "POST",
            HALF,
            "Transfer-Encoding: chunked",
            "Content-Length: 4",
            body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
        ),
        (400,),
    ),
    Crafted("TE.TE", chunked(b"0\r\n\r\n" + HIDDEN, "Transfer-Encoding: x"), (400,)),
    Crafted(
        "two lengths",
        request("POST", HALF, "Content-Length: 0", f"Content-Length: {len(HIDDEN)}", body=HIDDEN),
        (400,),
    ),
    Crafted("a length with a fold", request("POST", HALF, "Content-Length:\r\n 0", body=HIDDEN), (400,)),
    Crafted(
        "a space before the colon",
        request("POST", HALF, "Transfer-Encoding : chunked", "Content-Length: 0", body=HIDDEN),
        (400,),
    ),
    Crafted(
        "a length by LF",
        b"POST " + HALF.encode() + b" HTTP/1.1\r\nHost: a\r\nX: y\nContent-Length: 5\r\n\r\n" + HIDDEN,
        (400,),
    ),
    Crafted("a chunk's size by LF", chunked(b"0\n\r\n" + HIDDEN), (400,)),
    Crafted("a chunk that is longer", chunked(b"2\r\n" + b"{}" + HIDDEN), (400,)),
    Crafted("an extension by LF", chunked(b"2;\nxx\r\n{}\r\n0\r\n\r\n" + HIDDEN), (400,)),
    Crafted("behind the end of a connection", request() + HIDDEN, (200,)),
    Crafted("behind a bad request", request(host="") + HIDDEN, (400,)),
    Crafted(
        "a body of GET",
        request("GET", "/v1/models/half", f"Content-Length: {len(HIDDEN)}", body=HIDDEN),
        (200,),
    ),
    Crafted(
        "a body of GET in chunks",
        request(
            "GET",
            "/v1/models/half",
            "Transfer-Encoding: chunked",
            body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
        ),
        (200,),
    ),
]

CHUNKS = [
    Crafted("good chunks", chunked(b"5\r\n" + GOOD[:5] + b"\r\nf\r\n" + GOOD[5:] + b"\r\n0\r\n\r\n"), (200,)),
    Crafted("chunks with extensions", chunked(b'14;a=b;c="d"\r\n' + GOOD + b"\r\n0;x\r\n\r\n"), (200,)),
    Crafted("chunks with a trailer", chunked(b"14\r\n" + GOOD + b"\r\n0\r\nA: b\r\n\r\n"), (200,)),
    Crafted(
        "a length in a trailer", chunked(b"14\r\n" + GOOD + b"\r\n0\r\nContent-Length: 3\r\n\r\n"), (400,)
    ),
    *(
        Crafted(f"a chunk of the size {size!r}", chunked(size + b"\r\n" + GOOD + b"\r\n0\r\n\r\n"), statuses)
        for size, statuses in [
            (b"-1", (400,)),
            (b"0x14", (400,)),
            (b"+14", (400,)),
            (b" 14", (400,)),
            (b"g", (400,)),
            (b"", (400,)),
            (b"fffffffffffffff", (413,)),
            (b"ffffffffffffffff", (413,)),
            (b"10000000000000014", (400, 413)),
            (b"7fffffffffffffff", (413,)),
        ]
    ),
    Crafted("a chunk without its end", chunked(b"14\r\n" + GOOD + b"0\r\n\r\n"), (400,)),
    Crafted("an endless extension", chunked(b"14;" + b"a" * 40_000), (400, 431)),
    Crafted("200 trailers", chunked(b"0\r\n" + b"A: b\r\n" * 200 + b"\r\n"), (400, 431)),
    Crafted("a trailer on two lines", chunked(b"14\r\n" + GOOD + b"\r\n0\r\nA: b\r\n c\r\n\r\n"), (200,)),
    Crafted("20 MB in small chunks", chunked((b"4000\r\n" + b" " * 0x4000 + b"\r\n") * 1300), (413,)),
]


def squeezed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


BOMB = squeezed(b"[" * (15 << 20))
ENCODINGS = [
    *(
        Crafted(f"the encoding {name}", post(body, HALF, f"Content-Encoding: {encoding}"), statuses)
        for name, encoding, body, statuses in [
            ("gzip", "gzip", squeezed(GOOD), (200,)),
            ("deflate", "deflate", zlib.compress(GOOD), (200,)),
            ("gzip in two members", "gzip", squeezed(GOOD[:5]) + squeezed(GOOD[5:]), (200, 400)),
            ("gzip, a bomb", "gzip", squeezed(b" " * (200 << 20)), (413,)),
            ("gzip, a bomb of brackets", "gzip", BOMB, (400, 413)),
            ("gzip, a bomb in a bomb", "gzip", squeezed(squeezed(b" " * (200 << 20))), (400,)),
            ("deflate, a bomb", "deflate", zlib.compress(b" " * (200 << 20)), (413,)),
            ("gzip, cut off", "gzip", squeezed(GOOD)[:-9], (400,)),
            ("gzip with a wrong checksum", "gzip", squeezed(GOOD)[:-8] + b"\0" * 8, (400,)),
            ("gzip with more behind", "gzip", squeezed(GOOD) + b"more", (200, 400)),
            ("gzip that is none", "gzip", GOOD, (400,)),
            ("gzip of nothing", "gzip", b"", (400,)),
            ("br", "br", GOOD, (415,)),
            ("gzip, gzip", "gzip, gzip", squeezed(squeezed(GOOD)), (415,)),
            ("of 10 kB", "x" * 10_000, GOOD, (415,)),
        ]
    ),
]


def instances(text: str) -> bytes:
    return ('{"instances": ' + text + "}").encode("utf-8", "surrogateescape")


BODIES = [
    *(
        Crafted(f"the body {name}", post(body), statuses)
        for name, body, statuses in [
            ("that is good", GOOD, (200,)),
            ("of nothing", b"", (400,)),
            ("of no JSON", b"instances=1", (400,)),
            ("of a list", b"[1]", (400,)),
            ("that is cut off", GOOD[:-2], (400,)),
            ("of NUL", b"\0" * 100, (400,)),
            ("with NUL in a string", b'{"signature_name": "a\0b", "instances": [1]}', (400,)),
            ("with a byte order mark", b"\xef\xbb\xbf" + GOOD, (200,)),
            ("in UTF-16", GOOD.decode().encode("utf-16"), (400,)),
            ("of bad UTF-8", b'{"instances": ["\xff\xfe"]}', (400,)),
            ("of overlong UTF-8", b'{"instances": ["\xc0\xaf"]}', (400,)),
            ("with half a surrogate", b'{"instances": ["\\ud800"]}', (400,)),
            ("nested 100,000 deep", b"[" * 100_000, (400,)),
            ("nested 100,000 deep and closed", instances("[" * 100_000 + "]" * 100_000), (400,)),
            ("of 100,000 objects in each other", b'{"a":' * 100_000, (400,)),
            ("with a number of 100,000 digits", instances("[" + "1" * 100_000 + "]"), (200, 400)),
            ("with a number beyond double", instances("[1e999]"), (400,)),
            ("with a number of little", instances("[1e-999]"), (200,)),
            ("with two forms", b'{"instances": [1], "inputs": [1]}', (400,)),
            ("without rows", instances("[]"), (400,)),
            ("of null", instances("null"), (400,)),
            ("of an object", instances('{"x": 1}'), (400,)),
            ("with a row of null", instances("[null]"), (400,)),
            ("with a row of text", instances('["1"]'), (400,)),
            ("with a row of a boolean", instances("[true]"), (400,)),
            ("with a row of a list", instances("[[1]]"), (400,)),
            ("with a row of an empty list", instances("[[]]"), (400,)),
            ("with a row of {}", instances("[{}]"), (400,)),
            ("with an unknown input", instances('[{"z": 1}]'), (400,)),
            ("with an input twice", instances('[{"x": 1, "x": 2}]'), (400,)),
            ("with rows of two kinds", instances('[1, {"x": 1}]'), (200, 400)),
            ("with too many rows", instances("[" + "1," * 200_000 + "1]"), (400,)),
            ("of 10 MB of commas", instances("[" + "," * (10 << 20) + "]"), (400,)),
            ("of 10 MB of brackets", instances("[" + "[]," * (3 << 20) + "1]"), (400,)),
            ("of 10 MB of a key", b'{"' + b"a" * (10 << 20) + b'": 1, "instances": [2]}', (200,)),
            ("with 100,000 members", b"{" + b'"a":1,' * 100_000 + b'"instances": [2]}', (200,)),
            ("with an unknown signature", b'{"signature_name": "none", "instances": [1]}', (400,)),
            (
                "with a signature of 1 MB",
                b'{"signature_name": "' + b"s" * (1 << 20) + b'", "instances": [1]}',
                (400,),
            ),
            ("with a signature of null", b'{"signature_name": null, "instances": [1]}', (400,)),
            ("with a signature that is a path", b'{"signature_name": "../x", "instances": [1]}', (400,)),
            (
                "of mixed rows without an input",
                b'{"signature_name": "mixed", "instances": [{"texts": "a"}]}',
                (400,),
            ),
            (
                "of lists of other sizes",
                b'{"signature_name": "mixed", "instances": [{"texts": "a", "numbers": [[1], [2, 3]]}]}',
                (400,),
            ),
            (
                "of columns of other lengths",
                b'{"signature_name": "mixed", "inputs": {"texts": ["a"], "numbers": [[[1],[2]],[[1],[2]]]}}',
                (400,),
            ),
            (
                "with a fraction for an integer",
                b'{"signature_name": "mixed", "instances": [{"texts": "a", "numbers": [[1.5], [2]]}]}',
                (400,),
            ),
            (
                "with an integer of 2^63",
                b'{"signature_name": "mixed",'
                b' "instances": [{"texts": "a", "numbers": [[9223372036854775808], [2]]}]}',
                (400,),
            ),
            (
                "with damaged base64",
                b'{"signature_name": "mixed", "instances": [{"texts": {"b64": "?"}, "numbers": [[1], [2]]}]}',
                (400,),
            ),
            (
                "with b64 of a number",
                b'{"signature_name": "mixed", "instances": [{"texts": {"b64": 1}, "numbers": [[1], [2]]}]}',
                (400,),
            ),
            ("of another size for a whole tensor", b'{"signature_name": "total", "inputs": [1, 2]}', (400,)),
            ("of rows for a whole tensor", b'{"signature_name": "total", "instances": [[1, 2, 3]]}', (400,)),
        ]
    ),
    Crafted("no length at all", request("POST", HALF, body=GOOD), (400, 411)),
    Crafted("a length of 10 GB", request("POST", HALF, "Content-Length: 10000000000", body=b"{"), (413,)),
    Crafted(
        "a length of 2^63", request("POST", HALF, "Content-Length: 9223372036854775808", body=b"{"), (413,)
    ),
    Crafted("a length that is too large", request("POST", HALF, "Content-Length: 30", body=GOOD), (), True),
    Crafted(
        "10 GB that are announced",
        request("POST", HALF, "Content-Length: 10000000000", "Expect: 100-continue"),
        (413,),
    ),
    Crafted("GET with a body", request("GET", "/v1/models/half", "Content-Length: 20", body=GOOD), (200,)),
    Crafted("GET with 10 GB", request("GET", "/v1/models/half", "Content-Length: 10000000000"), (413,)),
    Crafted("examples for predict", post(b'{"examples": [{"x": 1}]}'), (400,)),
    Crafted("instances for classify", post(GOOD, "/v1/models/half:classify"), (400,)),
    Crafted(
        "examples for a signature without",
        post(b'{"examples": [{"x": 1}]}', "/v1/models/half:classify"),
        (400,),
    ),
    Crafted(
        "a context of 1 MB for 1,000 examples",
        post(
            b'{"context": {"a": "' + b"x" * (1 << 20) + b'"}, "examples": [' + b"{}," * 999 + b"{}]}",
            "/v1/models/half:regress",
        ),
        (429,),
    ),
]

PATHS = [
    *(
        Crafted(f"the path {target[:60]}", request("GET", target), statuses)
        for target, statuses in [
            ("/v1/models/../../etc/passwd", (400,)),
            ("/v1/models/%2e%2e%2f%2e%2e%2fetc%2fpasswd", (404,)),
            ("/v1/models/..%5c..%5cx", (404,)),
            ("/v1/models/%00", (404,)),
            ("/v1/models/half%00", (404,)),
            ("/v1/models/half%0d%0aX-Injected%20yes", (404,)),
            ("/v1/models/%ff%fe", (404,)),
            ("/v1/models/%", (404,)),
            ("/v1/models/%zz", (404,)),
            ("/v1/models/" + "n" * 10_000, (404,)),
            ("/v1/models/half/", (400,)),
            ("//v1/models/half", (400,)),
            ("/v1//models/half", (400,)),
            ("/v1/models/", (400,)),
            ("/v1/models", (400,)),
            ("/v1/models/half/versions/-1", (400,)),
            ("/v1/models/half/versions/1.0", (400,)),
            ("/v1/models/half/versions/99999999999999999999", (400,)),
            ("/v1/models/half/versions/2", (404,)),
            ("/v1/models/half/versions/1/labels/latest", (400,)),
            ("/v1/models/half/labels/%2e%2e", (404,)),
            ("/v1/models/half:predict:predict", (400,)),
            ("/v1/models/half?" + "a" * 5000, (200,)),
            ("/v1/models/half#x", (400, 404)),
            ("/v2/models/%2e%2e%2fhalf/ready", (404,)),
            ("/v2/models/half/versions/x", (400, 404)),
            ("/v2/repository/index", (400, 404)),
            ("/metrics", (400,)),
            ("/models", (400,)),
            ("/page/state/../../x", (404,)),
            ("/page/signatures/half/-1", (400,)),
            ("/page/signatures/half/1/2", (404,)),
            ("/page/signatures/%2e%2e/1", (404,)),
            ("/.git/config", (400,)),
            ("/cgi-bin/%%32%65%%32%65/", (400,)),
        ]
    ),
]


def infer(document: dict | bytes, binary: bytes = b"", length: object = None) -> bytes:
    """A request of KServe v2; `length` is what the header says of the JSON."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    said = len(text) if length is None else length
    headers = [f"Inference-Header-Content-Length: {said}"] if binary or length is not None else []
    return post(text + binary, INFER, *headers)


def tensor(shape: object = (1,), datatype: object = "FP32", size: object = None, **more) -> dict:
    out = {"name": "x", "shape": shape if not isinstance(shape, tuple) else list(shape), "datatype": datatype}
    if size is not None:
        out["parameters"] = {"binary_data_size": size}
    return {**out, **more}


def inputs(*tensors: dict, **more) -> dict:
    return {"inputs": list(tensors), **more}


ONE = struct.pack("<f", 2)
KSERVE = [
    *(
        Crafted(f"tensors: {name}", infer(*arguments), statuses)
        for name, arguments, statuses in [
            ("good", (inputs(tensor(data=[2])),), (200,)),
            ("good, binary", (inputs(tensor(size=4)), ONE), (200,)),
            ("a header that is longer than the body", (inputs(tensor(size=4)), ONE, 9999), (400,)),
            ("a header of 2^64", (inputs(tensor(size=4)), ONE, 1 << 64), (400,)),
            ("a negative header", (inputs(tensor(size=4)), ONE, -1), (400,)),
            ("a header of words", (inputs(tensor(size=4)), ONE, "x"), (400,)),
            ("a header of 0", (inputs(tensor(size=4)), ONE, 0), (400,)),
            ("a header that ends in the JSON", (inputs(tensor(size=4)), ONE, 20), (400,)),
            ("binary data that are missing", (inputs(tensor(size=4)), b"", 75), (400,)),
            ("binary data that are too long", (inputs(tensor(size=4)), ONE * 2), (400,)),
            ("a size beyond the data", (inputs(tensor(size=400)), ONE), (400,)),
            ("a size of 2^63", (inputs(tensor(size=1 << 63)), ONE), (400,)),
            ("a negative size", (inputs(tensor(size=-4)), ONE), (400,)),
            ("a size of text", (inputs(tensor(size="4")), ONE), (400,)),
            ("a size that is not a multiple", (inputs(tensor(size=3)), b"abc"), (400,)),
            ("data in both forms", (inputs(tensor(size=4, data=[2])), ONE), (200,)),
            ("no data", (inputs(tensor()),), (400,)),
            ("2^31 rows", (inputs(tensor((1 << 31,), data=[2])),), (400,)),
            ("2^31 rows, binary", (inputs(tensor((1 << 31,), size=4)), ONE), (400,)),
            ("2^62 rows", (inputs(tensor((1 << 62,), data=[2])),), (400,)),
            ("2^64 rows", (inputs(tensor((1 << 64,), data=[2])),), (400,)),
            ("sizes whose product overflows", (inputs(tensor((1 << 33, 1 << 33), data=[2])),), (400,)),
            ("a size of 0 beside a large one", (inputs(tensor((1 << 40, 0), data=[])),), (400,)),
            ("no rows", (inputs(tensor((0,), data=[])),), (400,)),
            ("a negative dimension", (inputs(tensor((-1,), data=[2])),), (400,)),
            ("1,000 dimensions", (inputs(tensor((1,) * 1000, data=[2])),), (400,)),
            ("a shape of texts", (inputs(tensor(["1"], data=[2])),), (400,)),
            ("a shape that is not a list", (inputs(tensor(7, data=[2])),), (400,)),
            ("a fraction of a dimension", (inputs(tensor([1.5], data=[2])),), (400,)),
            ("another rank", (inputs(tensor((1, 1), data=[2])),), (400,)),
            ("an unknown type", (inputs(tensor(datatype="FP128", data=[2])),), (400,)),
            ("a type that is not a text", (inputs(tensor(datatype=1, data=[2])),), (400,)),
            ("another type", (inputs(tensor(datatype="INT8", data=[2])),), (400,)),
            ("an input twice", (inputs(tensor(data=[2]), tensor(data=[2])),), (400,)),
            ("another input", (inputs({**tensor(data=[2]), "name": "y"}),), (400,)),
            ("an input without a name", (inputs({**tensor(data=[2]), "name": None}),), (400,)),
            ("no inputs", ({"inputs": []},), (400,)),
            ("an output that there is not", (inputs(tensor(data=[2]), outputs=[{"name": "z"}]),), (400,)),
            ("ragged data", (inputs(tensor((2,), data=[[1], [2, 3]])),), (400,)),
            ("an id of 1 MB", (inputs(tensor(data=[2]), id="i" * (1 << 20)),), (200, 400)),
            (
                "shared memory",
                (
                    inputs(
                        tensor(
                            data=[2], parameters={"shared_memory_region": "r", "shared_memory_byte_size": 4}
                        )
                    ),
                ),
                (400, 501),
            ),
        ]
    ),
]


def texts(count: int, binary: bytes) -> bytes:
    """Byte strings for the signature `mixed`, whose lengths may lie."""
    numbers = {"name": "numbers", "shape": [count, 2, 1], "datatype": "INT64", "data": [0] * (2 * count)}
    lying = {"name": "texts", "shape": [count], "datatype": "BYTES"}
    lying["parameters"] = {"binary_data_size": len(binary)}
    return infer({"parameters": {"signature_name": "mixed"}, "inputs": [numbers, lying]}, binary)


KSERVE += [
    Crafted("texts: good", texts(2, b"\1\0\0\0a\2\0\0\0bc"), (200,)),
    Crafted("texts: a length beyond the end", texts(1, b"\xff\xff\xff\xffa"), (400,)),
    Crafted("texts: a length that is cut off", texts(1, b"\1\0"), (400,)),
    Crafted("texts: too few", texts(2, b"\1\0\0\0a"), (400,)),
    Crafted("texts: too many", texts(1, b"\1\0\0\0a\1\0\0\0b"), (400,)),
]

CRAFTED = [*FIRST_LINES, *HEADERS, *SMUGGLED, *CHUNKS, *ENCODINGS, *BODIES, *PATHS, *KSERVE]
