#!/usr/bin/env python3
"""Makes tests/data/small.safetensors with the format's own package. Needs safetensors (written with 0.8.0).

    python3 tools/reference/make_safetensors.py

tests/file/test_safetensors.c holds the same values, as bits."""
import ctypes
import pathlib
import struct

import safetensors

OUT = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "data" / "small.safetensors"


buffers = []  # alive until they are written


def tensor(dtype, shape, form, *values):
    data = struct.pack(f"<{len(values)}{form}", *values)
    buffers.append(ctypes.create_string_buffer(data, max(len(data), 1)))
    return safetensors.TensorSpec(dtype=dtype, shape=shape, data_ptr=ctypes.addressof(buffers[-1]), data_len=len(data))


def bfloat16(*values):
    return [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values]  # of values that need no rounding


OUT.write_bytes(safetensors.serialize({
    "model.norm.weight": tensor("float32", [3], "f", 1.0, -0.5, 3.25),
    "model.proj.weight": tensor("bfloat16", [2, 3], "H", *bfloat16(1.5, -2.0, 0.0, 0.25, 96.0, -0.0078125)),
    "model.half": tensor("float16", [1, 2, 1, 2], "e", 1.5, -2.0, 65504.0, 0.0),
    "normalize.count": tensor("int64", [], "q", 1234567890123),
    "empty": tensor("float32", [2, 0, 3], "f"),
    "gr\u00f6\u00dfe.mask": tensor("bool", [3], "B", 1, 0, 1),
}, {"format": "pt"}))
