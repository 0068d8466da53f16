"""Reads TensorBoard's event files by their published format; shares no line with the writer."""
import struct

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (n,), (crc,) = struct.unpack("<Q", head), struct.unpack("<I", data[at + 8:at + 12])
        assert crc == masked_crc(head), "length at byte %d" % at
        body = data[at + 12:at + 12 + n]
        assert len(body) == n, "torn record at byte %d" % at
        assert struct.unpack("<I", data[at + 12 + n:at + 16 + n])[0] == masked_crc(body), "data at byte %d" % at
        yield body
        at += 16 + n


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """{number: [values]}: ints of varints, bytes of everything else."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            n = {1: 8, 5: 4}.get(key & 7)
            if n is None:
                assert key & 7 == 2, "wire type %d" % (key & 7)
                n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            assert len(value) == n
        out.setdefault(key >> 3, []).append(value)
    return out


def double(raw):
    return struct.unpack("<d", raw)[0]


def proto_value(raw):
    f = fields(raw)
    return double(f[2][0]) if 2 in f else f[3][0].decode() if 3 in f else bool(f[4][0])


def read(data):
    """(scalars [(tag, step, value, wall)], hparams or None, [end statuses])"""
    events = [fields(r) for r in records(data)]
    assert events[0][3] == [b"brain.Event:2"]
    scalars, hparams, ends = [], None, []
    for e in events[1:]:
        for value in fields(e[5][0])[1]:
            v = fields(value)
            tag, step, wall = v[1][0].decode(), e.get(2, [0])[0], double(e[1][0])
            if 2 in v:
                scalars.append((tag, step, struct.unpack("<f", v[2][0])[0], wall))
                continue
            plugin = fields(fields(v[9][0])[1][0])
            assert plugin[1] == [b"hparams"] and fields(v[8][0]) == {1: [1], 2: [b"\x12\x00"]}
            content = fields(plugin[2][0])
            if tag == "_hparams_/session_start_info":
                start = fields(content[3][0])
                entries = [fields(entry) for entry in start.get(1, [])]
                hparams = {entry[1][0].decode(): proto_value(entry[2][0]) for entry in entries}
            else:
                assert tag == "_hparams_/session_end_info"
                ends.append(fields(content[4][0])[1][0])
    return scalars, hparams, ends
