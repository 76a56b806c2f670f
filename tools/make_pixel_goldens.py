#!/usr/bin/env python3
"""Makes tests/data/pixels.json: what SmolVLA's resize-with-pad gives. Needs numpy and PyTorch.

    python3 tools/make_pixel_goldens.py > tests/data/pixels.json

The numbers are those of torch.nn.functional.interpolate and pad, called as LeRobot calls them. Each is checked here
against bilinear interpolation in float64 before it is written. The pictures are a formula of x, y and channel, which
tests/image/test_fit.c repeats.
"""
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F

CASES = [("640x480", 640, 480, 512), ("480x640", 480, 640, 512), ("1920x1080", 1920, 1080, 512), ("97x61", 97, 61, 512),
         ("100x100", 100, 100, 512), ("512x512", 512, 512, 512), ("1x1", 1, 1, 512), ("3000x2", 3000, 2, 512),
         ("2x3000", 2, 3000, 512), ("640x480 to 32", 640, 480, 32), ("97x61 to 100", 97, 61, 100)]


def picture(width, height):
    """[height, width, 3] uint8: the upper byte of a 64-bit mix."""
    y, x, c = np.mgrid[0:height, 0:width, 0:3].astype(np.uint64)
    v = (x * np.uint64(0x9E3779B97F4A7C15)) ^ (y * np.uint64(0xC2B2AE3D27D4EB4F)) ^ (c * np.uint64(0x165667B19E3779F9))
    v = (v ^ (v >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (v >> np.uint64(56)).astype(np.uint8)


def sides(width, height, size):
    ratio = max(width / size, height / size)
    return max(1, int(width / ratio)), max(1, int(height / ratio))  # LeRobot has no answer where a side comes to 0


def by_torch(rgb, size):
    width, height = sides(rgb.shape[1], rgb.shape[0], size)
    image = torch.from_numpy(rgb).permute(2, 0, 1)[None].contiguous().float() / 255
    image = F.interpolate(image, size=(height, width), mode="bilinear", align_corners=False)
    image = F.pad(image, (size - width, 0, size - height, 0), value=0)
    return image[0].permute(1, 2, 0).numpy()


def by_definition(rgb, size):
    width, height = sides(rgb.shape[1], rgb.shape[0], size)

    def taps(n, m):
        at = np.maximum(n / m * (np.arange(m) + 0.5) - 0.5, 0)
        lo = np.minimum(at.astype(int), n - 1)
        return lo, np.minimum(lo + 1, n - 1), at - lo

    y0, y1, fy = taps(rgb.shape[0], height)
    x0, x1, fx = taps(rgb.shape[1], width)
    v = rgb.astype(np.float64) / 255
    v = v[y0] * (1 - fy)[:, None, None] + v[y1] * fy[:, None, None]
    v = v[:, x0] * (1 - fx)[None, :, None] + v[:, x1] * fx[None, :, None]
    out = np.zeros((size, size, 3))
    out[size - height:, size - width:] = v
    return out


def indices(width, height, size):
    """Every 1009th value, and the corners of the square and of the picture in it, on both sides of the padding."""
    left, top = size - width, size - height
    xs = {0, max(left - 1, 0), left, size - 1}
    ys = {0, max(top - 1, 0), top, size - 1}
    corners = {(y * size + x) * 3 + c for y in ys for x in xs for c in range(3)}
    return sorted(corners | set(range(0, 3 * size * size, 1009)))


def main():
    cases, worst = [], 0
    for name, width, height, size in CASES:
        rgb = picture(width, height)
        got, want = by_torch(rgb, size), by_definition(rgb, size)
        worst = max(worst, float(np.abs(got - want).max()))
        at = indices(*sides(width, height, size), size)
        values = [float(f"{v:.9g}") for v in got.reshape(-1)[at]]
        cases.append({"name": name, "width": width, "height": height, "size": size, "indices": at, "values": values})
    assert worst < 1e-4, worst
    print(f"torch {torch.__version__} and float64 differ by {worst:.3g}", file=sys.stderr)
    lines = ",\n".join("  " + json.dumps(case, separators=(",", ":")) for case in cases)
    print('{\n "about": "tools/make_pixel_goldens.py: values of the [size, size, 3] output, by PyTorch",\n'
          f' "cases": [\n{lines}\n ]\n}}')


main()
