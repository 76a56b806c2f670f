#!/usr/bin/env python3
"""Lists a GGUF file: its keys (name, type, value bytes in hex) and its tensors (name, type, shape with the slowest
dimension first, FNV-1a 64 of the bytes).

    list_gguf.py FILE > LIST"""
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf

FNV = b"""#include <stddef.h>
#include <stdint.h>
uint64_t fnv1a64(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3;
    return hash;
}
"""


def load_fnv(directory):
    library = Path(directory, "fnv.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-xc", "-", "-o", library], input=FNV, check=True)
    fnv = ctypes.CDLL(str(library)).fnv1a64
    fnv.restype, fnv.argtypes = ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_size_t]
    return fnv


TYPES = {"UINT32": "u32", "FLOAT32": "f32", "FLOAT64": "f64", "STRING": "string"}


def main():
    reader = gguf.GGUFReader(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        fnv = load_fnv(directory)
        for name, field in reader.fields.items():
            if not name.startswith("GGUF."):
                print("key", name, TYPES[field.types[0].name], field.parts[field.data[0]].tobytes().hex())
        for tensor in reader.tensors:
            shape = "x".join(str(n) for n in reversed(tensor.shape.tolist()))
            digest = fnv(tensor.data.ctypes.data, tensor.n_bytes)
            print("tensor", tensor.name, tensor.tensor_type.name.lower(), shape, f"{digest:016x}")


if __name__ == "__main__":
    main()
