#!/usr/bin/env python3
"""Renders the example's two camera pictures, examples/front.png and examples/wrist.jpg. Needs numpy and Pillow.

    python3 tools/render_scene.py

"pick up the black bowl and place it on the plate": a table with a bowl, a plate and cubes, seen from the front and from
the gripper. Shapes are signed distances, light is one softened lamp and the sky. Metres, z up, y away from the front.
"""
import pathlib

import numpy as np
from PIL import Image

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
HAND = np.array([-0.15, -0.07, 0.0])  # below the gripper
LAMP = np.array([-0.45, -0.55, 1.1]) / np.linalg.norm([-0.45, -0.55, 1.1])
SHARPNESS = 9  # of shadows: distance over width of the lamp

# ---- shapes: points [n, 3] -> distances [n] ----


def length(v):
    return np.sqrt((v * v).sum(axis=-1))


def box(p, at, half, angle=0.0, rounding=0.004):
    c, s = np.cos(angle), np.sin(angle)
    q = p - at
    q = np.stack([c * q[:, 0] + s * q[:, 1], c * q[:, 1] - s * q[:, 0], q[:, 2]], axis=1)
    q = np.abs(q) - (np.array(half) - rounding)
    return length(np.maximum(q, 0)) + np.minimum(q.max(axis=1), 0) - rounding


def segment(p, a, b, radius):
    """A capsule, in any number of dimensions."""
    a, b = np.array(a), np.array(b)
    t = np.clip(((p - a) @ (b - a)) / ((b - a) @ (b - a)), 0, 1)
    return length(p - a - t[:, None] * (b - a)) - radius


def around(p, at):
    """Radius and height about an upright axis."""
    q = p - at
    return np.stack([length(q[:, :2]), q[:, 2]], axis=1)


def bowl(p, at=(-0.15, -0.02, 0.0), radius=0.085, rim=-0.012, wall=0.0035):
    q = around(p, at) - (0, radius + 0.006)
    w = np.sqrt(radius * radius - rim * rim)
    beyond = rim * q[:, 0] < w * q[:, 1]
    shell = np.where(beyond, length(q - (w, rim)), np.abs(length(q) - radius)) - wall
    return np.minimum(shell, segment(around(p, at), (0.028, 0.004), (0.034, 0.004), 0.004))


def plate(p, at=(0.17, 0.02, 0.0)):
    q = around(p, at)
    flat = segment(q, (0.0, 0.006), (0.072, 0.006), 0.004)
    return np.minimum(flat, segment(q, (0.072, 0.006), (0.118, 0.020), 0.004))


def cube(x, y, half, angle):
    return lambda p: box(p, (x, y, half), (half, half, half), angle)


def table(p):
    return box(p, (0, 0.05, -0.03), (0.75, 0.50, 0.03), rounding=0.008)


def fingers(p):
    return np.minimum(*[box(p, HAND + (x, 0, 0.215), (0.007, 0.011, 0.05), rounding=0.003) for x in (-0.052, 0.052)])


def pads(p):
    return np.minimum(*[box(p, HAND + (x, 0, 0.185), (0.004, 0.009, 0.018), rounding=0.002) for x in (-0.044, 0.044)])


def hand(p):
    palm = box(p, HAND + (0, 0, 0.295), (0.085, 0.026, 0.032), rounding=0.014)
    wrist = segment(p, HAND + (0, 0, 0.33), HAND + (0, 0, 0.44), 0.036)
    return np.minimum(palm, wrist)


def arm(p):
    joint = segment(p, HAND + (-0.05, 0, 0.47), HAND + (0.05, 0, 0.47), 0.042)
    return np.minimum(joint, segment(p, HAND + (0.02, 0.03, 0.50), (0.10, 0.55, 0.85), 0.048))


def walls(p):
    return np.minimum(1.1 - p[:, 1], p[:, 2] + 0.75)


# ---- materials ----

WHITE, STEEL, RUBBER, JOINT = (0.78, 0.79, 0.80), (0.42, 0.44, 0.47), (0.03, 0.03, 0.035), (0.10, 0.11, 0.13)


def plain(*colour):
    return lambda p: np.broadcast_to(np.array(colour), p.shape)


def wood(p):
    """Planks along x, each with its own tone, and grain that wavers."""
    plank = np.floor((p[:, 1] + 1) / 0.125)
    tone = 1 + 0.07 * np.sin(plank * 12.9898 + 4)
    wave = p[:, 1] * 190 + 3.0 * np.sin(p[:, 0] * 4 + plank * 1.7) + 1.2 * np.sin(p[:, 0] * 11 + plank)
    grain = 1 + 0.045 * np.sin(wave) + 0.03 * np.sin(2.3 * wave + 1)
    gap = np.where(np.abs((p[:, 1] + 1) / 0.125 - plank - 0.5) > 0.485, 0.72, 1)
    return np.array([0.43, 0.25, 0.118]) * (tone * grain * gap)[:, None]


def china(p, at=(0.17, 0.02)):
    r = length(p[:, :2] - at)
    blue = ((r > 0.098) & (r < 0.111)) | ((r > 0.0905) & (r < 0.0935))
    return np.where(blue[:, None], (0.05, 0.12, 0.42), (0.82, 0.82, 0.80))


def plaster(p):
    return np.where((p[:, 2] < -0.74)[:, None], (0.20, 0.21, 0.22), (0.52, 0.57, 0.61))


# shape, colour, mirror (reflection head-on), gloss (size of the lamp's reflection)
THINGS = [
    (table, wood, 0.02, 30),
    (bowl, plain(0.012, 0.012, 0.014), 0.06, 200),
    (plate, china, 0.05, 120),
    (cube(0.02, -0.20, 0.026, 0.45), plain(0.62, 0.05, 0.04), 0.03, 60),
    (cube(0.02, 0.21, 0.030, -0.3), plain(0.06, 0.36, 0.10), 0.03, 60),
    (cube(0.34, -0.14, 0.024, 0.2), plain(0.78, 0.50, 0.05), 0.03, 60),
    (fingers, plain(*STEEL), 0.10, 80),
    (pads, plain(*RUBBER), 0.02, 20),
    (hand, plain(*WHITE), 0.04, 80),
    (arm, plain(*JOINT), 0.04, 80),
    (walls, plaster, 0.0, 1),
]


def scene(p):
    return np.stack([shape(p) for shape, *_ in THINGS])


def distance(p):
    return scene(p).min(axis=0)


# ---- light ----


def march(origins, directions, far=4.0, steps=110):
    """How far each ray goes."""
    t = np.full(len(origins), 0.02)
    going = np.arange(len(origins))
    for _ in range(steps):
        d = distance(origins[going] + t[going, None] * directions[going])
        t[going] += d
        going = going[(d > 4e-4) & (t[going] < far)]
        if not len(going):
            break
    return t


def normals(p):
    e = 3e-4
    axes = np.eye(3) * e
    n = np.stack([distance(p + a) - distance(p - a) for a in axes], axis=1)
    return n / np.maximum(length(n), 1e-12)[:, None]


def shadow(p):
    """1 in the lamp's light, 0 behind something, and between where something is near the ray."""
    light, t = np.ones(len(p)), np.full(len(p), 0.004)
    for _ in range(90):
        d = distance(p + t[:, None] * LAMP)
        light = np.minimum(light, np.clip(0.5 + 0.5 * SHARPNESS * d / t, 0, 1))
        t = np.minimum(t + np.clip(0.5 * d, 0.003, 0.03), 1.5)
    return light * light * (3 - 2 * light)


def openness(p, n):
    """How much of the sky a point sees."""
    hidden = sum((h - distance(p + h * n)) / 2**i for i, h in enumerate((0.012, 0.035, 0.07, 0.12)))
    return np.clip(1 - 4.5 * hidden, 0.12, 1)


def sky(d):
    """What shiny things mirror: a bright ceiling with a window, darker below."""
    up = np.clip(d[:, 2:3], -1, 1)
    base = np.where(up > 0, 0.45 + 0.35 * up, 0.30 + 0.15 * up)
    window = np.clip(30 * (d @ LAMP - 0.93), 0, 1)[:, None]
    return base * np.array([0.92, 0.97, 1.0]) + 1.6 * window


def shade(p, directions):
    n = normals(p)
    lifted = p + 0.003 * n
    which = scene(p).argmin(axis=0)
    lamp = np.clip(n @ LAMP, 0, 1) * shadow(lifted)
    hemisphere = 0.5 + 0.5 * n[:, 2]
    ambient = openness(p, n)
    light = (1.4 * lamp)[:, None] * np.array([1.0, 0.95, 0.86]) + (0.42 * ambient * hemisphere + 0.08 * ambient)[
        :, None] * np.array([0.88, 0.95, 1.06])
    facing = np.clip(-(n * directions).sum(axis=1), 0, 1)
    bounced = directions + 2 * facing[:, None] * n
    half = LAMP - directions
    half /= length(half)[:, None]
    colour = np.zeros_like(p)
    for i, (_, paint, mirror, gloss) in enumerate(THINGS):
        m = which == i
        fresnel = mirror + (1 - mirror) * (1 - facing[m]) ** 5 * (0.5 if mirror else 0)
        spot = mirror * 8 * np.clip((n[m] * half[m]).sum(axis=1), 0, 1) ** gloss * lamp[m]
        colour[m] = paint(p[m]) * light[m] + sky(bounced[m]) * (fresnel * ambient[m])[:, None] + spot[:, None]
    return colour


# ---- cameras ----


def render(width, height, eye, target, up, view_angle, samples=2):
    """samples x samples rays a pixel -> [height, width, 3] uint8."""
    forward = np.array(target) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    above = np.cross(right, forward)
    scale = np.tan(np.radians(view_angle) / 2) / (height / 2)
    total = np.zeros((height * width, 3))
    y, x = np.mgrid[0:height, 0:width].reshape(2, -1)
    for k in range(samples * samples):
        u = (x + (k % samples + 0.5) / samples - width / 2) * scale
        v = (height / 2 - y - (k // samples + 0.5) / samples) * scale
        d = forward + u[:, None] * right + v[:, None] * above
        d /= length(d)[:, None]
        o = np.broadcast_to(np.array(eye, dtype=float), d.shape)
        colour = shade(o + march(o, d)[:, None] * d, d)
        colour = colour / (1 + 0.25 * colour)  # highlights roll off
        total += np.clip(colour, 0, 1)
    linear = (total / samples**2).reshape(height, width, 3)
    srgb = np.where(linear < 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return Image.fromarray(np.rint(255 * srgb).astype(np.uint8))


def main():
    front = render(640, 480, (0.03, -0.98, 0.66), (0.03, 0.02, 0.085), (0, 0, 1), 36)
    front.save(EXAMPLES / "front.png", optimize=True)
    wrist = render(480, 360, HAND + (0, 0.085, 0.36), HAND + (0.03, 0.085, 0), (0, 1, 0), 64)
    wrist.save(EXAMPLES / "wrist.jpg", quality=90)


main()
