#!/usr/bin/env python3
"""Makes tests/data/pictures/ and what they must decode to, tests/data/pictures.json. Needs numpy, Pillow, OpenCV.

    python3 tools/make_pictures.py

PNG files are written here chunk by chunk; their pixels follow from PNG's definition, and Pillow agrees where it has
the same rules. JPEG files are written by Pillow and OpenCV, and Pillow (libjpeg-turbo) says what their pixels are.
"""
import io
import json
import pathlib
import struct
import zlib

import cv2
import numpy as np
from PIL import Image, ImageOps

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
OUT = DATA / "pictures"
facts = []


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return f"{h:016x}"


def add(name, blob, rgb):
    """A file and its pixels [h, w, 3]: all of them hashed, three in the clear."""
    assert len(blob) < 3072 and rgb.dtype == np.uint8 and rgb.shape[2] == 3, name
    (OUT / name).write_bytes(blob)
    h, w = rgb.shape[:2]
    at = [(0, 0), (w - 1, 0), (w // 3, h - 1)]
    facts.append({"file": name, "width": w, "height": h, "fnv1a64": fnv1a64(rgb.tobytes()),
                  "pixels": [[x, y] + [int(v) for v in rgb[y, x]] for x, y in at]})


# ---- PNG ----

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def filtered(rows, step):
    """Rows of bytes, each behind its filter; the filters take turns."""
    out, above = b"", None
    for y, row in enumerate(rows):
        above = above if above is not None else bytes(len(row))
        kind, line = y % 5, bytearray()
        for i, value in enumerate(row):
            a, b, c = (row[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
            line.append((value - (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]) % 256)
        out, above = out + bytes([kind]) + bytes(line), row
    return out


def packed(values, depth):
    """[h, w * samples] -> rows of bytes."""
    if depth == 16:
        return [row.astype(">u2").tobytes() for row in values]
    if depth == 8:
        return [row.astype(np.uint8).tobytes() for row in values]
    bits = (values[:, :, None] >> np.arange(depth - 1, -1, -1)) & 1
    return [np.packbits(row.reshape(-1).astype(np.uint8)).tobytes() for row in bits]


def png(values, depth, kind, interlaced=False, before=(), size=None, behind=b""):
    """values [h, w, samples] -> a file; `before` are chunks between header and data, `behind` is more data."""
    h, w = values.shape[:2]
    step = max(1, depth * SAMPLES[kind] // 8)
    grids = ADAM7 if interlaced else [(0, 0, 1, 1)]
    data = b""
    for x0, y0, dx, dy in grids:
        part = values[y0::dy, x0::dx]
        if part.size:
            data += filtered(packed(part.reshape(part.shape[0], -1), depth), step)
    header = struct.pack(">IIBBBBB", *(size or (w, h)), depth, kind, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(before) + chunk(b"IDAT", zlib.compress(data + behind, 9)) +
            chunk(b"IEND", b""))


def noise(h, w, samples, depth):
    """Any values, 0 and the largest among them."""
    i = np.arange(h * w * samples, dtype=np.uint64)
    v = ((i + 1) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - depth)).astype(np.int64)
    v[0], v[-1] = 0, 2**depth - 1
    return v.reshape(h, w, samples)


def eight(values, depth):
    return np.rint(values * 255 / (2**depth - 1)).astype(np.int64)


def on_black(rgb, alpha):
    return np.rint(rgb * alpha / 255).astype(np.uint8)


def meaning(values, depth, kind, palette=None, transparent=None):
    """PNG's definition, then vact's: 16 bits are rounded to 8, alpha is composited on black."""
    opaque = np.full(values.shape[:2] + (1,), 255)
    if kind == PALETTE:
        table = np.array(palette, dtype=np.int64)
        alphas = np.array((list(transparent or []) + [255] * len(palette))[:len(palette)])
        return on_black(table[values[:, :, 0]], alphas[values])
    colour = eight(values, depth)
    if kind in (GREY_ALPHA, RGBA):
        rgb, alpha = colour[:, :, :-1], colour[:, :, -1:]
    else:
        rgb, alpha = colour, opaque
        if transparent:
            alpha = np.where((values == np.array(transparent)).all(axis=2, keepdims=True), 0, 255)
    return on_black(np.repeat(rgb, 3, axis=2) if rgb.shape[2] == 1 else rgb, alpha)


def add_png(name, depth, kind, h=9, w=11, interlaced=False, transparent=None, extra=()):
    values = noise(h, w, SAMPLES[kind], depth)
    palette, before = None, list(extra)
    if kind == PALETTE:
        palette = [(37 * i % 256, 255 - 11 * i % 256, (5 + 91 * i) % 256) for i in range(2**depth)]
        before.append(chunk(b"PLTE", bytes(sum(palette, ()))))
        if transparent:
            before.append(chunk(b"tRNS", bytes(transparent)))
    elif transparent:
        before.append(chunk(b"tRNS", struct.pack(f">{len(transparent)}H", *transparent)))
    if transparent and kind != PALETTE:
        values[4, 5] = values[7, 2] = transparent
    blob = png(values, depth, kind, interlaced, before)
    rgb = meaning(values, depth, kind, palette, transparent)
    if depth <= 8 and transparent is None and kind in (GREY, RGB, PALETTE):
        assert np.array_equal(rgb, np.array(Image.open(io.BytesIO(blob)).convert("RGB"))), name
    add(name, blob, rgb)


def make_png():
    for depth in (1, 2, 4, 8, 16):
        add_png(f"grey_{depth}.png", depth, GREY)
    for depth in (1, 2, 4, 8):
        add_png(f"palette_{depth}.png", depth, PALETTE, h=5 if depth == 8 else 9)
    for depth in (8, 16):
        add_png(f"grey_alpha_{depth}.png", depth, GREY_ALPHA)
        add_png(f"rgb_{depth}.png", depth, RGB)
        add_png(f"rgba_{depth}.png", depth, RGBA)
        add_png(f"rgb_{depth}_transparent.png", depth, RGB, transparent=(1, 200, 255))
    add_png("palette_4_transparent.png", 4, PALETTE, transparent=[0, 128, 7, 255, 254, 1])
    add_png("grey_2_transparent.png", 2, GREY, transparent=(2,))
    add_png("grey_16_transparent.png", 16, GREY, transparent=(40000,))
    add_png("grey_1_interlaced.png", 1, GREY, h=17, w=23, interlaced=True)
    add_png("palette_4_interlaced.png", 4, PALETTE, interlaced=True, transparent=[9, 99])
    add_png("rgb_8_interlaced.png", 8, RGB, h=17, w=23, interlaced=True)
    add_png("rgba_16_interlaced.png", 16, RGBA, interlaced=True)
    for h, w in ((1, 1), (1, 5), (9, 1), (2, 3)):  # some passes have no row or no column
        add_png(f"interlaced_{w}x{h}.png", 8, RGB, h=h, w=w, interlaced=True)
    add_png("other_chunks.png", 8, RGB, extra=[
        chunk(b"gAMA", struct.pack(">I", 100000)), chunk(b"sBIT", b"\5\6\5"), chunk(b"bKGD", b"\0\1\0\2\0\3"),
        chunk(b"iCCP", b"none\0\0not deflated"), chunk(b"teSt", bytes(40)), chunk(b"tEXt", b"a\0b")])


# ---- JPEG ----


def scene(h=17, w=23):
    """Smooth colours with an edge, alike under no turn."""
    y, x = np.mgrid[0:h, 0:w]
    rgb = np.stack([255 * x / (w - 1), 255 * y / (h - 1), 128 + 100 * np.sin(x / 3 + y / 5)], axis=2)
    rgb[h // 2:, :w // 3] = (250, 20, 60)
    return np.rint(rgb).astype(np.uint8)


def pillow_jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85, **options)
    return out.getvalue()


def opencv_jpeg(sampling):
    ok, blob = cv2.imencode(".jpg", scene()[:, :, ::-1], [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling])
    assert ok
    return blob.tobytes()


def add_jpeg(name, blob):
    add(name, blob, np.array(ImageOps.exif_transpose(Image.open(io.BytesIO(blob))).convert("RGB")))


def segments(blob):
    """(offset, marker, length with marker) up to the first scan."""
    at = 2
    while blob[at + 1] != 0xDA:
        length = 2 + struct.unpack_from(">H", blob, at + 2)[0]
        yield at, blob[at + 1], length
        at += length


def without(blob, marker):
    for at, kind, length in reversed(list(segments(blob))):
        if kind == marker:
            blob = blob[:at] + blob[at + length:]
    return blob


def patched(blob, marker, offset, value):
    at = next(at for at, kind, _ in segments(blob) if kind == marker)
    return blob[:at + offset] + bytes([value]) + blob[at + offset + 1:]


def exif(order, value, kind=3, count=1, directory=8, entries=2):
    """A camera's block: a directory of its make and the orientation."""
    e = {"II": "<", "MM": ">"}[order]
    body = struct.pack(e + "HHI4s", 0x010F, 2, 4, b"abc\0")
    body += struct.pack(e + "HHIHH", 0x0112, kind, count, value, 0) if kind == 3 else \
        struct.pack(e + "HHII", 0x0112, kind, count, value)
    return b"Exif\0\0" + order.encode() + struct.pack(e + "HIH", 42, directory, entries) + body + bytes(4)


def with_exif(blob, block):
    return blob[:2] + struct.pack(">BBH", 0xFF, 0xE1, 2 + len(block)) + block + blob[2:]


def make_jpeg():
    rgb = Image.fromarray(scene())
    cmyk = Image.fromarray(np.dstack([scene(), scene()[::-1, :, 2] // 2]), "CMYK")
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        add_jpeg(f"ycc_{name}.jpg", pillow_jpeg(rgb, subsampling=sampling))
    add_jpeg("ycc_411.jpg", opencv_jpeg(cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411))
    add_jpeg("ycc_440.jpg", opencv_jpeg(cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440))
    add_jpeg("progressive_444.jpg", pillow_jpeg(rgb, subsampling=0, progressive=True))
    add_jpeg("progressive_420.jpg", pillow_jpeg(rgb, subsampling=2, progressive=True))
    add_jpeg("restart.jpg", pillow_jpeg(rgb, subsampling=2, restart_marker_blocks=1))
    add_jpeg("grey.jpg", pillow_jpeg(rgb.convert("L")))
    add_jpeg("rgb.jpg", pillow_jpeg(rgb, keep_rgb=True))
    inks = pillow_jpeg(cmyk, subsampling=0)
    add_jpeg("cmyk.jpg", inks)
    add_jpeg("cmyk_no_adobe.jpg", without(inks, 0xEE))
    add_jpeg("ycck.jpg", patched(inks, 0xEE, 15, 2))  # the same samples, read as YCCK
    add_jpeg("one_pixel.jpg", pillow_jpeg(rgb.crop((0, 0, 1, 1))))

    plain = pillow_jpeg(rgb, subsampling=2)
    for order in ("II", "MM"):
        for value in range(1, 9):
            add_jpeg(f"exif_{order}_{value}.jpg", with_exif(plain, exif(order, value)))
    upright = np.rot90(np.array(Image.open(io.BytesIO(plain))), -1)
    add("exif_6_upright.png", png(upright.astype(np.int64), 8, RGB), np.ascontiguousarray(upright))
    stored = np.array(Image.open(io.BytesIO(plain)))
    for name, block in (("value_0", exif("II", 0)), ("value_9", exif("MM", 9)), ("long", exif("II", 6, kind=4)),
                        ("two_values", exif("II", 6, count=2)), ("far_directory", exif("MM", 6, directory=0xFFFFFFF0)),
                        ("many_entries", exif("II", 3, entries=0xFFFF)[:-20]), ("cut", exif("II", 6)[:30]),
                        ("order", b"Exif\0\0MI" + exif("MM", 6)[8:]), ("no_tiff", b"Exif\0\0"),
                        ("magic", exif("MM", 6)[:9] + b"\x2b" + exif("MM", 6)[10:])):
        add(f"exif_damaged_{name}.jpg", with_exif(plain, block), stored)


# ---- refused ----


def make_refused():
    tiny = noise(1, 1, 3, 8)
    for name, size in (("zero_width", (0, 5)), ("zero_height", (5, 0)), ("wide", (16385, 1)), ("high", (1, 16385)),
                       ("large", (8193, 8192)), ("widest", (2**31 - 1, 2**31 - 1))):
        (OUT / f"refused_{name}.png").write_bytes(png(tiny, 8, RGB, size=size))
    (OUT / "refused_behind.png").write_bytes(png(tiny, 8, RGB, behind=bytes(2**25)))
    blob = pillow_jpeg(Image.fromarray(scene()))
    start = next(at for at, kind, _ in segments(blob) if kind == 0xC0)
    for name, (w, h) in (("zero_width", (0, 5)), ("zero_height", (5, 0)), ("wide", (16385, 1)), ("high", (1, 16385)),
                         ("large", (8193, 8192)), ("widest", (65535, 65535))):
        (OUT / f"refused_{name}.jpg").write_bytes(blob[:start + 5] + struct.pack(">HH", h, w) + blob[start + 9:])


OUT.mkdir(parents=True, exist_ok=True)
for old in OUT.iterdir():
    old.unlink()
make_png()
make_jpeg()
make_refused()
lines = ",\n".join("  " + json.dumps(fact) for fact in facts)
(DATA / "pictures.json").write_text(
    '{\n "about": "tools/make_pictures.py: pixels are [x, y, r, g, b]; fnv1a64 is over all RGB bytes",\n'
    f' "pictures": [\n{lines}\n ]\n}}\n')
