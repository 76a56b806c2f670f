#!/usr/bin/env python3
"""A checkpoint whose bf16 matrices, all of them, have few levels: a policy that is damaged by a known amount, for
quality --other (docs/QUALITY.md). Blocks of 32 values are rounded to LEVELS multiples, an odd number, of one step.

    demo_coarsen.py IN.gguf OUT.gguf LEVELS        needs numpy and gguf
"""
import sys

import numpy as np
from gguf import GGUFReader


def coarsen(x, levels):
    blocks = x.reshape(-1, 32)
    step = np.abs(blocks).max(axis=1, keepdims=True) / (levels // 2)
    step[step == 0] = 1
    return (np.round(blocks / step) * step).astype(np.float32)


def main():
    source, target, levels = sys.argv[1], sys.argv[2], int(sys.argv[3])
    data = bytearray(open(source, "rb").read())
    for t in GGUFReader(source).tensors:
        if t.tensor_type.name != "BF16" or len(t.shape) != 2 or t.shape[0] % 32:
            continue
        n = int(t.n_elements)
        wide = np.frombuffer(data, np.uint16, n, t.data_offset).astype(np.uint32) << 16
        bits = coarsen(wide.view(np.float32), levels).view(np.uint32).ravel()
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        data[t.data_offset:t.data_offset + 2 * n] = bits.astype(np.uint16).tobytes()
    open(target, "wb").write(data)


main()
