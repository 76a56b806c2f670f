"""Reads and writes the part of GGUF that the demo's checkpoint needs: F32 and BF16 tensors. numpy only."""

import struct

import numpy as np

ALIGNMENT = 32
TENSOR_TYPES = {"f32": 0, "bf16": 30}
VALUE_TYPES = {"u32": (4, "<I"), "f32": (6, "<f"), "bool": (7, "<?"), "str": (8, None), "array": (9, None),
               "f64": (12, "<d")}
FORMATS = {number: form for number, form in VALUE_TYPES.values() if form}


def bf16_bits(x):
    """Round to nearest, ties to even."""
    b = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def text_bytes(text):
    b = text.encode()
    return struct.pack("<Q", len(b)) + b


def value_bytes(kind, value):
    return text_bytes(value) if kind == "str" else struct.pack(VALUE_TYPES[kind][1], value)


def key_bytes(key, kind, value):
    """kind "[str]" is an array of strings."""
    if kind[0] != "[":
        return text_bytes(key) + struct.pack("<I", VALUE_TYPES[kind][0]) + value_bytes(kind, value)
    head = struct.pack("<IIQ", VALUE_TYPES["array"][0], VALUE_TYPES[kind[1:-1]][0], len(value))
    return text_bytes(key) + head + b"".join(value_bytes(kind[1:-1], v) for v in value)


def write(path, keys, tensors):
    """keys: (key, kind, value); tensors: (name, "f32" or "bf16", array)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(key_bytes(*k) for k in keys)
    data = b""
    for name, kind, x in tensors:
        head += text_bytes(name) + struct.pack("<I%dQ" % x.ndim, x.ndim, *reversed(x.shape))
        head += struct.pack("<IQ", TENSOR_TYPES[kind], len(data))
        data += (bf16_bits(x) if kind == "bf16" else np.ascontiguousarray(x, np.float32)).tobytes()
        data += b"\0" * (-len(data) % ALIGNMENT)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGNMENT) + data)


def read(path):
    """The tensors by name, as float32."""
    with open(path, "rb") as f:
        d = f.read()
    at = 8

    def number(form):
        nonlocal at
        at += struct.calcsize(form)
        return struct.unpack_from(form, d, at - struct.calcsize(form))[0]

    def text():
        nonlocal at
        n = number("<Q")
        at += n
        return d[at - n:at].decode()

    def value(kind):
        if kind == VALUE_TYPES["str"][0]:
            return text()
        if kind == VALUE_TYPES["array"][0]:
            kind, n = number("<I"), number("<Q")
            return [value(kind) for _ in range(n)]
        return number(FORMATS[kind])

    n_tensors, n_keys = number("<Q"), number("<Q")
    for _ in range(n_keys):
        text()
        value(number("<I"))
    infos = [(text(), [number("<Q") for _ in range(number("<I"))], number("<I"), number("<Q"))
             for _ in range(n_tensors)]
    base, tensors = at + -at % ALIGNMENT, {}
    for name, dims, kind, offset in infos:
        bf16 = kind == TENSOR_TYPES["bf16"]
        x = np.frombuffer(d, np.uint16 if bf16 else np.float32, int(np.prod(dims)), base + offset)
        tensors[name] = ((x.astype(np.uint32) << 16).view(np.float32) if bf16 else x.copy()).reshape(dims[::-1])
    return tensors
