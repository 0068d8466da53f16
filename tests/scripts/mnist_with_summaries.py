#!/usr/bin/env python3
"""Writes TensorBoard event files as katib's tf-mnist-with-summaries does: one folder for each of train and test; by hand, as
nothing else is installed. It cannot resume."""
import argparse
import os
import struct
import time

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--learning-rate", type=float, default=0.01)
parser.add_argument("--log-path", default="./logs")
args = parser.parse_args()


def table():
    out = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        out.append(n)
    return out


TABLE = table()


def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


class Writer:
    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.f = open(os.path.join(folder, "events.out.tfevents.%d.host.%d.0.v2" % (time.time(), os.getpid())), "ab")
        self.event(field(3, b"brain.Event:2"))

    def event(self, rest):
        data = b"\x09" + struct.pack("<d", time.time()) + rest
        size = struct.pack("<Q", len(data))
        self.f.write(size + struct.pack("<I", masked(size)) + data + struct.pack("<I", masked(data)))
        self.f.flush()

    def scalar(self, step, tag, value):
        data = field(1, field(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
        self.event(b"\x10" + bytes([step]) + field(5, data))


train, test = Writer(os.path.join(args.log_path, "train")), Writer(os.path.join(args.log_path, "test"))
for epoch in range(args.epochs):
    time.sleep(0.2 * float(os.environ.get("PACE", "1")))
    train.scalar(epoch, "loss", 1 / (epoch + 1))
    test.scalar(epoch, "accuracy", 1 - 1 / (2 + args.learning_rate * (epoch + 1)))
