"""For test_serve_crafted.py: what is sent to the port of gRPC, frame by frame (RFC 9113)."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8


def frame(kind: int, flags: int, stream: int, payload: bytes = b"", length: int | None = None) -> bytes:
    """`length`: what the frame says of its payload."""
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


OPENING = PREFACE + frame(SETTINGS, 0, 0)


def field(name: bytes, value: bytes) -> bytes:
    """A header as a literal, which no table keeps."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


FIELDS = b"".join(
    [
        field(b":method", b"POST"),
        field(b":scheme", b"http"),
        field(b":path", b"/tensorflow.serving.PredictionService/Predict"),
        field(b":authority", b"a"),
        field(b"te", b"trailers"),
        field(b"content-type", b"application/grpc"),
    ]
)


def call(stream: int = 1, fields: bytes = FIELDS, flags: int = END_HEADERS) -> bytes:
    return frame(HEADERS, flags, stream, fields)


def message(data: bytes, stream: int = 1, length: int | None = None, compressed: int = 0) -> bytes:
    size = len(data) if length is None else length
    return frame(DATA, END_STREAM, stream, bytes([compressed]) + struct.pack(">I", size) + data)


STREAMS = range(1, 4001, 2)
FRAMES = {
    "a request of HTTP/1.1": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a request of REST": b"POST /v1/models/half:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
    "zeros": b"\0" * 10_000,
    "TLS": bytes.fromhex("16030100c8010000c40303") + b"\x11" * 200,
    "half a preface": PREFACE[:12],
    "a preface alone": PREFACE,
    "a preface twice": PREFACE * 2,
    "a frame of 16 MB": OPENING + frame(DATA, 0, 1, b"x" * 100, (1 << 24) - 1),
    "settings of 5 bytes": PREFACE + frame(SETTINGS, 0, 0, b"abcde"),
    "settings of a stream": PREFACE + frame(SETTINGS, 0, 1),
    "an acknowledgement with content": PREFACE + frame(SETTINGS, ACK, 0, b"abcdef"),
    "a window of 2^31": PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 31)),
    "a frame size of 0": PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 5, 0)),
    "100,000 settings": OPENING + frame(SETTINGS, 0, 0) * 100_000,
    "100,000 pings": OPENING + frame(PING, 0, 0, b"12345678") * 100_000,
    "a ping of 7 bytes": OPENING + frame(PING, 0, 0, b"1234567"),
    "headers of stream 0": OPENING + frame(HEADERS, END_HEADERS, 0, FIELDS),
    "headers of an even stream": OPENING + call(2),
    "data of stream 0": OPENING + frame(DATA, 0, 0, b"x"),
    "data of no stream": OPENING + message(b"x", 99),
    "a continuation of nothing": OPENING + frame(CONTINUATION, END_HEADERS, 1, FIELDS),
    "endless continuations": OPENING
    + frame(HEADERS, 0, 1, FIELDS)
    + frame(CONTINUATION, 0, 1, field(b"a", b"b" * 100)) * 20_000,
    "empty continuations": OPENING + frame(HEADERS, 0, 1, FIELDS) + frame(CONTINUATION, 0, 1) * 100_000,
    "streams that are reset": OPENING
    + b"".join(call(each) + frame(RST_STREAM, 0, each, b"\0\0\0\x08") for each in STREAMS),
    "streams that say nothing": OPENING + b"".join(call(each) for each in STREAMS),
    "streams that go backwards": OPENING + call(9) + call(3),
    "a window update of 0": OPENING + frame(WINDOW_UPDATE, 0, 0, b"\0" * 4),
    "a window that overflows": OPENING + frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2,
    "a promise of a client": OPENING + frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\x02" + FIELDS),
    "an unknown frame": OPENING + frame(99, 0, 0, b"x" * 100),
    "more padding than frame": OPENING + frame(HEADERS, END_HEADERS | PADDED, 1, b"\xff" + FIELDS[:10]),
    "a goaway": OPENING + frame(GOAWAY, 0, 0, b"\0" * 8),
    "fields of no table": OPENING + call(fields=b"\xff\xff\xff\xff\x7f"),
    "field 0": OPENING + call(fields=b"\x80"),
    "a field that is cut off": OPENING + call(fields=b"\0\x7fab"),
    "a table of 1 GB": OPENING + call(fields=b"\x3f\xe1\xff\xff\xff\x03" + FIELDS),
    # One field of 3 kB is put into the table, and then named 12,000 times: 36 MB of headers.
    "a bomb of fields": OPENING
    + call(fields=b"\x40\x01a\x7f\xb1\x16" + b"b" * (127 + 0x31 + (0x16 << 7)) + b"\xbe" * 12_000),
    "no method": OPENING + call(fields=field(b":path", b"/")) + message(b""),
    "no fields": OPENING + call(fields=b"") + message(b""),
    "a field in capitals": OPENING + call(fields=FIELDS + field(b"Upper", b"a")) + message(b""),
    "a field with a line end": OPENING + call(fields=FIELDS + field(b"a", b"b\r\nc: d")) + message(b""),
    "a path of NUL": OPENING + call(fields=field(b":path", b"/\0" * 40)) + message(b""),
    "a message of 4 GB": OPENING + call() + message(b"x", length=(1 << 32) - 1),
    "a message that is shorter": OPENING + call() + message(b"x" * 100, length=3),
    "two messages": OPENING
    + call()
    + frame(DATA, 0, 1, b"\0\0\0\0\x01x")
    + frame(DATA, END_STREAM, 1, b"\0\0\0\0\x01x"),
    "a message that is compressed by nothing": OPENING + call() + message(b"x", compressed=1),
    "a flag of 255": OPENING + call() + message(b"x", compressed=255),
    "a message of groups": OPENING + call() + message(b"\x0b" * 10_000),
    "a message of a varint without end": OPENING + call() + message(b"\xff" * 10_000),
    "a deadline of nothing": OPENING + call(fields=FIELDS + field(b"grpc-timeout", b"-1S")) + message(b""),
    "a deadline of 10^9 hours": OPENING
    + call(fields=FIELDS + field(b"grpc-timeout", b"999999999H"))
    + message(b""),
}
