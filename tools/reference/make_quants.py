#!/usr/bin/env python3
"""Makes tests/data/quants.json: what Python's gguf package decodes blocks to, and what it encodes values as.

    pip install -r tools/reference/requirements-gguf.txt
    python3 tools/reference/make_quants.py > tests/data/quants.json

Bytes are hexadecimal, and so are the values to encode, as float32 in little endian; hashes are 64-bit FNV-1a over such.
tests/kernels/test_quants.c makes the blocks of "many" by the same recipe.
"""
import json

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants

# values and bytes of a block, where its half-precision scales are
TYPES = {T.Q8_0: (32, 34, [0]), T.Q4_0: (32, 18, [0]), T.Q4_1: (32, 20, [0, 2]), T.Q5_0: (32, 22, [0]),
         T.Q5_1: (32, 24, [0, 2]), T.Q2_K: (256, 84, [80, 82]), T.Q3_K: (256, 110, [108]), T.Q4_K: (256, 144, [0, 2]),
         T.Q5_K: (256, 176, [0, 2]), T.Q6_K: (256, 210, [208])}
ENCODED = [T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1]
MANY = 256
SHOWN = [0, 1, 15, 16, 31, 32, 63, 64, 100, 127, 128, 170, 255]


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) % (1 << 64)
    return f"{h:016x}"


class Random:
    def __init__(self, seed):
        self.s = seed

    def next(self):
        self.s = (self.s * 1664525 + 1013904223) % (1 << 32)
        return self.s


def put_half(block, at, bits):
    block[at:at + 2] = np.frombuffer(np.uint16(bits).tobytes(), np.uint8)


def many(kind):
    """Random blocks; their scales are any halves but infinities and NaNs."""
    _, size, halves = TYPES[kind]
    r = Random(kind)
    blocks = np.array([r.next() >> 24 for _ in range(MANY * size)], np.uint8).reshape(MANY, size)
    for block in blocks:
        for at in halves:
            bits = r.next() >> 16
            put_half(block, at, bits & 0xBFFF if bits & 0x7C00 == 0x7C00 else bits)
    return blocks


def hard_blocks(kind):
    """Name, bytes: the ends of codes and scales."""
    _, size, halves = TYPES[kind]
    r = Random(1000 + kind)
    out = []
    for name, fill, bits in [("all zero", 0, 0), ("all ones", 255, 0x3C00), ("largest scale", None, 0x7BFF),
                             ("largest negative scale", None, 0xFBFF), ("smallest scale", None, 1),
                             ("negative zero", None, 0x8000)]:
        block = np.array([r.next() >> 24 if fill is None else fill for _ in range(size)], np.uint8)
        for i, at in enumerate(halves):
            put_half(block, at, bits ^ (0x8000 if i and bits else 0))
        out.append((name, block))
    return out


def decode(kind, blocks):
    return quants.dequantize(blocks.reshape(1, -1), kind).astype(np.float32).reshape(-1)


def decoding(kind):
    name, blocks = kind.name.lower(), many(kind)
    hard = []
    for title, block in hard_blocks(kind):
        values = decode(kind, block)
        assert np.isfinite(values).all()
        hard.append({"name": title, "bytes": block.tobytes().hex(), "hash": fnv(values.tobytes()),
                     "values": {str(i): float(values[i]) for i in SHOWN if i < len(values)}})
    return {"type": name, "many": {"seed": int(kind), "blocks": MANY, "bytes": fnv(blocks.tobytes()),
                                   "hash": fnv(decode(kind, blocks).tobytes())}, "blocks": hard}


def hard_values():
    """Name, 32 float32: zeros, ties, equals, and scales that f16 can't hold at either end."""
    k = np.arange(32, dtype=np.float32) - 16
    ties8, ties4, ties_up, negative = k + 0.5, k * 0.5, k + 0.5, np.full(32, -0.0, np.float32)
    ties8[0], ties4[0], ties_up[0], negative[5], negative[9] = 127, -8, -127, 1, -0.25
    equal = np.arange(32, dtype=np.float32) / 32
    equal[3], equal[7] = 5, -5
    other = equal.copy()
    other[3], other[7] = -5, 5
    bell = np.array([sum(r.next() for _ in range(12)) / 2 ** 32 - 6 for r in [Random(7)] for _ in range(32)])
    return [("zeros", np.zeros(32)), ("negative zeros", np.full(32, -0.0)), ("ties of q8_0", ties8),
            ("ties of q8_0, negative scale", ties_up), ("ties of q4_0", ties4), ("ties of q4_0, other sign", -ties4),
            ("two as far from 0", equal), ("in the other order", other), ("all the same", np.full(32, -3.5)),
            ("negative zeros among others", negative), ("bell", bell), ("the scale is subnormal as f16", k * 2.0 ** -18),
            ("the scale is 0 as f16, its inverse is not", k * 2.0 ** -120), ("subnormal", k * 2.0 ** -149),
            ("the largest scales that f16 holds", k * np.float32(65504 / 16)),
            ("the scale overflows f16", k * np.float32(1e30)), ("the largest float32", np.sign(k) * np.float32(3.4e38))]


def encoding(name, values):
    x = np.asarray(values, np.float32)
    out = {"name": name, "values": x.tobytes().hex(), "encoded": []}
    for kind in ENCODED:
        with np.errstate(all="ignore"):
            encoded = quants.quantize(x.reshape(1, -1), kind)
            decoded = decode(kind, encoded)
        entry = {"type": kind.name.lower(), "bytes": encoded.tobytes().hex()}
        if np.isfinite(decoded).all():
            entry["hash"] = fnv(decoded.tobytes())
        out["encoded"].append(entry)
    return out


print(json.dumps({"decode": [decoding(kind) for kind in TYPES],
                  "encode": [encoding(name, values) for name, values in hard_values()]}, indent=1))
