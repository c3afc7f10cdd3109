"""docs/formats/order.md, implemented a second time from the page alone: both give its vectors."""

import math
import struct

MASK = (1 << 64) - 1


def version(is_arranged: bool) -> int:
    """The version that a state names."""
    return 3 if is_arranged else 2


def rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & MASK


def siphash(key: tuple[int, int], data: bytes) -> int:
    low, high = key
    v = [
        low ^ 0x736F6D6570736575,
        high ^ 0x646F72616E646F6D,
        low ^ 0x6C7967656E657261,
        high ^ 0x7465646279746573,
    ]

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = data + b"\0" * (7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def derive(seed: int, label: str, a: int, b: int) -> tuple[int, int]:
    data = label.encode("ascii") + b"\0" + struct.pack("<QQ", a, b)
    return siphash((seed, 0x6865616472616365), data), siphash((seed, 0x6563617264616568), data)


def permute(key: tuple[int, int], n: int, i: int) -> int:
    if n <= 1:
        return i
    bits = 2
    while 1 << bits < n:
        bits += 2
    half = bits // 2
    mask = (1 << half) - 1
    x = i
    while True:
        left, right = x >> half, x & mask
        for r in range(6):
            left, right = right, left ^ (siphash(key, struct.pack("<Q", (r << 56) | right)) & mask)
        x = (left << half) | right
        if x < n:
            return x


def window_order(
    seed: int, epoch: int, blocks: list[tuple[int, int]], window_bytes: int
) -> list[tuple[int, int]]:
    block_key = derive(seed, "block", epoch, 0)
    windows: list[list[int]] = []
    size = 0
    for j in range(len(blocks)):
        block = permute(block_key, len(blocks), j)
        if not windows or size >= window_bytes:
            windows.append([])
            size = 0
        windows[-1].append(block)
        size += blocks[block][1]
    order = []
    for number, window in enumerate(windows):
        records = [(block, record) for block in window for record in range(blocks[block][0])]
        key = derive(seed, "record", epoch, number)
        order += [records[permute(key, len(records), i)] for i in range(len(records))]
    return order


def arrangement_seed(seed: int, epoch: int, window: int) -> int:
    return derive(seed, "arrange", epoch, window)[0]


def class_of(values: list[float] | None, count: int) -> int | None:
    """The value for `balance` of a record whose feature has these values (None: it lacks the feature), and
    ought to have `count` of them."""
    if not values or len(values) != count:
        return None
    if count == 1:
        return int(values[0])
    ones = [i for i, value in enumerate(values) if value != 0]
    if not ones:
        return -1
    return ones[0] if len(ones) == 1 and values[ones[0]] == 1 else None


def balanced(classes: list[int | None], s: int) -> list[int]:
    """For each position of a window, the i of its record; `classes` are those of R(0), R(1), …"""
    members: dict[int, list[int]] = {}
    for i, value in enumerate(classes):
        if value is not None:
            members.setdefault(value, []).append(i)
    by_number = [members[value] for value in sorted(members)]
    k, key = len(by_number), derive(s, "classes", 0, 0)
    order, t = [], 0
    for i, value in enumerate(classes):
        if value is None:
            order.append(i)
            continue
        r = t // k
        (j,) = (j for j in range(k) if r * k + (permute(key, k, j) + r) % k == t)
        t += 1
        m = len(by_number[j])
        order.append(by_number[j][permute(derive(s, "class", j, r // m), m, r % m)])
    return order


def bucketed(lengths: list[int | None], s: int, first: int, batch_size: int) -> list[int]:
    """The same of a window that begins at position `first`."""
    order = list(range(len(lengths)))
    whole = [
        g * batch_size - first for g in range(-(-first // batch_size), (first + len(lengths)) // batch_size)
    ]
    for h in range(0, len(whole), 64):
        begins = whole[h : h + 64]
        records = [i for begin in begins for i in range(begin, begin + batch_size)]
        records.sort(key=lambda i: (lengths[i] or 0, i))
        key = derive(s, "bucket", h // 64, 0)
        for b, begin in enumerate(begins):
            piece = permute(key, len(begins), b) * batch_size
            order[begin : begin + batch_size] = sorted(records[piece : piece + batch_size])
    return order


def test_siphash_reference_vector() -> None:
    assert siphash((0x0706050403020100, 0x0F0E0D0C0B0A0908), bytes(range(15))) == 0xA129CA6149BE45E5


def test_published_vectors() -> None:
    key = derive(44, "block", 7, 0)
    assert key == (14501533419883614185, 14733560130696183215)
    assert [permute(key, 10, i) for i in range(10)] == [6, 1, 3, 4, 8, 7, 2, 5, 0, 9]
    assert permute(key, 1_000_000_007, 123_456_789) == 890920872
    blocks = [(3, 300), (5, 500), (2, 200), (4, 400)]
    order = window_order(44, 1, blocks, 600)
    assert [10 * block + record for block, record in order] == [
        13,
        12,
        14,
        11,
        1,
        2,
        0,
        10,
        33,
        30,
        31,
        20,
        32,
        21,
    ]
    assert sorted(order) == [
        (block, record) for block, (count, _) in enumerate(blocks) for record in range(count)
    ]


def mixture_source(weights: list[int], position: int) -> int:
    begin, end = 0, len(weights)
    while end - begin > 1:
        middle = begin + (end - begin + 1) // 2
        left, right = sum(weights[begin:middle]), sum(weights[middle:end])

        def lefts(p: int, left: int = left, both: int = left + right) -> int:
            return (p * left + both // 2) // both

        before = lefts(position)
        if lefts(position + 1) > before:
            position, end = before, middle
        else:
            position, begin = position - before, middle
    return begin


def test_mixtures_as_published() -> None:
    weights = [2**20, round(0.3 / 0.7 * 2**20)]
    assert [mixture_source(weights, p) for p in range(10)] == [0, 1, 0, 0, 1, 0, 0, 0, 1, 0]
    assert [mixture_source([1, 1, 1], p) for p in range(9)] == [0, 2, 1, 0, 2, 1, 0, 2, 1]
    shares = [sum(mixture_source([5, 3, 1, 7], p) == s for p in range(1600)) for s in range(4)]
    assert shares == [500, 300, 100, 700]


def spread(counts: list[int]) -> list[tuple[int, list[int]]]:
    """Thousandths of shards without any: the first, and how many records of each from there on."""
    total, begin, out = sum(counts), 0, []
    for count in counts:
        of_records = [1000 * r // total for r in range(begin, begin + count)]
        begin += count
        first = of_records[0]
        out.append((first, [of_records.count(t) for t in range(first, of_records[-1] + 1)]))
    return out


def dataset_order(shards: list[tuple[int, list[int]]]) -> list[int]:
    return sorted(range(len(shards)), key=lambda shard: shards[shard][0])


def cut(shards: list[tuple[int, list[int]]], count: int) -> list[int]:
    """How many records of each shard are among the first `count` of a range."""
    fronts = [0] * len(shards)
    for thousandth in range(1000):
        for shard in dataset_order(shards):
            first, records = shards[shard]
            here = records[thousandth - first] if 0 <= thousandth - first < len(records) else 0
            taken = min(here, count)
            fronts[shard] += taken
            count -= taken
    return fronts


def test_ranges_as_published() -> None:
    two = [(0, [1, 2, 0, 3]), (1, [2, 2])]
    fronts = ["00", "10", "20", "30", "31", "32", "33", "34", "44", "54", "64"]
    assert ["".join(map(str, cut(two, count))) for count in range(11)] == fronts
    assert dataset_order([(500, [1, 1]), (0, [3]), (500, [2])]) == [1, 0, 2]
    assert cut([*spread([3, 7]), (250, [2, 2])], 7) == [3, 0, 4]
    assert [max(1, math.ceil(1000 * f - 1e-6)) for f in (0.1, 0.07, 0.0001, 0.9999)] == [100, 70, 1, 1000]


def test_ranks_as_published() -> None:
    r, w, b = 1, 3, 24
    rows = [(r * m // w * (b // m), (r + 1) * m // w * (b // m) - 1) for m in (24, 12, 8, 4)]
    assert rows == [(8, 15), (8, 15), (6, 14), (6, 11)]


CLASSES = [0, 0, 1, None, 0, 0, 0, 7, 1, 0]
LENGTHS = [9, 3, 3, None, 40, 1, 7, 3, 22, 5, 2, 8]


def test_arrangements_as_published() -> None:
    s = arrangement_seed(44, 1, 2)
    assert s == 10208797545828837415
    assert balanced(CLASSES, s) == [0, 8, 7, 3, 7, 6, 2, 2, 7, 9]
    assert bucketed(LENGTHS, s, 10, 4) == [0, 1, 4, 6, 8, 9, 2, 3, 5, 7, 10, 11]


def test_classes_as_published() -> None:
    assert [class_of(values, 1) for values in ([7], [-3], [1, 2], [], None)] == [7, -3, None, None, None]
    hot = [[0, 1, 0], [0, 0, 0], [0, 2, 0], [1, 1, 0], [1], [], None]
    assert [class_of(values, 3) for values in hot] == [1, -1, None, None, None, None, None]


def test_a_balanced_window_has_every_class_and_record_equally_often() -> None:
    classes = [int(i % 20 == 3) for i in range(400)]
    order = balanced(classes, arrangement_seed(44, 0, 0))
    assert [sum(classes[i] == c for i in order) for c in (0, 1)] == [200, 200]
    times = [order.count(i) for i in range(400)]
    assert {times[i] for i in range(400) if classes[i] == 1} == {10}
    assert {times[i] for i in range(400) if classes[i] == 0} == {0, 1}


def test_a_bucketed_window_has_every_record_once_and_less_padding() -> None:
    lengths = [i * i % 97 for i in range(1000)]
    order = bucketed(lengths, arrangement_seed(44, 0, 0), 5, 10)
    assert sorted(order) == list(range(1000))
    assert order[:5] == list(range(5)) and order[-5:] == list(range(995, 1000))

    def padded(positions: list[int]) -> int:
        return sum(10 * max(lengths[i] for i in positions[b : b + 10]) for b in range(5, 995, 10))

    assert padded(order) < 1.1 * sum(lengths) < 0.7 * padded(list(range(1000)))
