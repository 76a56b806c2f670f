#!/usr/bin/env python3
"""Makes src/demo/font.c from a font of X.Org: printable ASCII, a fixed cell. Needs Debian's xfonts-base.

    python3 tools/demo/make_font.py /usr/share/fonts/X11/misc/10x20-ISO8859-1.pcf.gz > src/demo/font.c

The PCF format: https://fontforge.org/docs/techref/pcf-format.html
"""
import gzip
import struct
import sys

METRICS, BITMAPS, ENCODINGS, ACCELERATORS = 4, 8, 32, 2
FIRST, LAST = ord(" "), ord("~")


class Table:
    """A PCF table: its own format word says in which order its numbers' bytes are."""

    def __init__(self, blob, kind):
        count = struct.unpack_from("<I", blob, 4)[0]
        entries = [struct.unpack_from("<4I", blob, 8 + 16 * i) for i in range(count)]
        self.at = next(offset for k, _, _, offset in entries if k == kind)
        self.blob = blob
        self.format = struct.unpack_from("<I", blob, self.at)[0]
        self.at += 4

    def take(self, kinds):
        kinds = (">" if self.format & 4 else "<") + kinds
        values = struct.unpack_from(kinds, self.blob, self.at)
        self.at += struct.calcsize(kinds)
        return values


def glyph_numbers(blob):
    """Of each printable character."""
    table = Table(blob, ENCODINGS)
    low, high, first_row, last_row, _ = table.take("5h")
    assert first_row <= 0 <= last_row and low <= FIRST and LAST <= high
    numbers = table.take(f"{high - low + 1}H")
    return [numbers[c - low] for c in range(FIRST, LAST + 1)]


def metrics(blob):
    """Of each glyph: left and right bearing, width, ascent, descent."""
    table = Table(blob, METRICS)
    if table.format & 0x100:  # compressed
        (count,) = table.take("H")
        return [[v - 0x80 for v in table.take("5B")] for _ in range(count)]
    (count,) = table.take("I")
    return [table.take("5hH")[:5] for _ in range(count)]


def bitmaps(blob):
    """Of each glyph: where it starts in the bits that follow, and the bytes of a row's padding."""
    table = Table(blob, BITMAPS)
    (count,) = table.take("I")
    offsets = table.take(f"{count}I")
    sizes = table.take("4I")
    padding = table.format & 3
    assert table.format & 8 and (table.format >> 4) & 3 == 0, "expected the highest bit first, in single bytes"
    return offsets, blob[table.at:table.at + sizes[padding]], 1 << padding


def read_font(blob):
    """Width and height of the cell; of each character, the rows: whether each pixel is ink."""
    assert blob[:4] == b"\x01fcp", "expected a PCF font"
    accelerators = Table(blob, ACCELERATORS)
    accelerators.take("8B")
    ascent, descent = accelerators.take("2I")
    sizes, (offsets, bits, padding) = metrics(blob), bitmaps(blob)
    glyphs = []
    for number in glyph_numbers(blob):
        left, right, width, up, down = sizes[number]
        stride = -(-(right - left) // (8 * padding)) * padding
        rows = [[False] * width for _ in range(ascent + descent)]
        for y in range(up + down):
            for x in range(right - left):
                byte = bits[offsets[number] + y * stride + x // 8]
                rows[ascent - up + y][left + x] = bool(byte >> (7 - x % 8) & 1)
        glyphs.append(rows)
    width = len(glyphs[0][0])
    assert width <= 16 and all(len(rows[0]) == width for rows in glyphs), "expected a fixed cell of up to 16 columns"
    return width, ascent + descent, glyphs


def main():
    name = sys.argv[1].rsplit("/", 1)[-1]
    width, height, glyphs = read_font(gzip.open(sys.argv[1]).read())
    print(f"/* {name} of X.Org's font-misc-misc (Debian's xfonts-base), whose licence is\n"
          ' * "Public domain font.  Share and enjoy." Made by tools/demo/make_font.py. */')
    print('#include "demo/font.h"\n')
    print(f'_Static_assert(DEMO_FONT_WIDTH == {width} && DEMO_FONT_HEIGHT == {height}, "the cell of {name}");\n')
    print("/* clang-format off */")
    print("const uint16_t demo_font[DEMO_FONT_LAST - DEMO_FONT_FIRST + 1][DEMO_FONT_HEIGHT] = {")
    for c, rows in enumerate(glyphs, FIRST):
        words = [f"0x{sum(ink << (width - 1 - x) for x, ink in enumerate(row)):03x}" for row in rows]
        half = (height + 1) // 2
        print(f"    {{ {', '.join(words[:half])}, /* {chr(c)} */\n      {', '.join(words[half:])} }},")
    print("};\n/* clang-format on */")


main()
