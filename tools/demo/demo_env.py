"""The demo's table: a point gripper, three coloured blocks, one sentence. numpy only.

The unit square, x to the right, y downwards. All of it is batched over B scenes; B = 1 gives
the single table that src/demo/table.c is. docs/demo.md defines it in words.
"""

import copy

import numpy as np

SIZE = 64                                  # image edge in pixels
COLOURS = ("red", "green", "blue", "yellow")
RGB = np.array([(220, 50, 40), (50, 170, 70), (50, 90, 210), (235, 200, 40)], np.float32)
ZONES = ("left", "right", "top", "bottom")
TEMPLATES = ("move the {c} block to the {z}", "put the {c} block on the {z} side",
             "push the {c} cube to the {z} edge", "take the {c} block to the {z} side",
             "slide the {c} one to the {z}", "bring the {c} cube to the {z}",
             "place the {c} block at the {z} edge", "carry the {c} cube over to the {z} side")
HELD_OUT = ("put the {c} one at the {z} side", "take the {c} cube over to the {z} edge")  # never trained on

BLOCK, GRASP, ZONE, MAX_STEP, MAX_STEPS = 0.10, 0.05, 0.20, 0.05, 80
GRID0, CELL, JITTER = 0.24, 0.52 / 3, 0.03


def uniform(seed, i):
    """Draw i of the stream of that seed, in [0,1): splitmix64, upper 24 bits."""
    m = (1 << 64) - 1
    z = (seed * 0x100000001B3 + (i + 1) * 0x9E3779B97F4A7C15) & m
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & m
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & m
    return ((z ^ (z >> 31)) >> 40) / float(1 << 24)


def pick(n, k, draws):
    """k of range(n) without repetition: partial Fisher-Yates."""
    a = list(range(n))
    for i in range(k):
        j = i + int(draws[i] * (n - i))
        a[i], a[j] = a[j], a[i]
    return a[:k]


class Env:
    """pos [B,3,2] block centres, colour [B,3], grip [B,2], closed [B], held [B] (-1 none),
    target [B] (index of the named block), zone [B]."""

    def __init__(self, seeds):
        n = len(seeds)
        self.pos, self.colour = np.zeros((n, 3, 2)), np.zeros((n, 3), int)
        self.grip, self.closed, self.held = np.zeros((n, 2)), np.zeros(n, bool), np.full(n, -1)
        self.target, self.zone, self.template = np.zeros(n, int), np.zeros(n, int), np.zeros(n, int)
        for b, s in enumerate(seeds):
            u = [uniform(int(s), i) for i in range(17)]
            cells = pick(9, 3, u[0:3])
            for k, cell in enumerate(cells):
                self.pos[b, k, 0] = GRID0 + CELL * (cell % 3 + 0.5) + JITTER * (2 * u[3 + 2 * k] - 1)
                self.pos[b, k, 1] = GRID0 + CELL * (cell // 3 + 0.5) + JITTER * (2 * u[4 + 2 * k] - 1)
            self.colour[b] = pick(4, 3, u[9:12])
            self.grip[b] = 0.1 + 0.8 * u[12], 0.1 + 0.8 * u[13]
            self.target[b] = int(3 * u[14])
            self.zone[b] = int(4 * u[15])
            self.template[b] = int(len(TEMPLATES) * u[16])

    def inside(self, p):
        """[B,K,2] -> [B,K]: is the point in the named zone?"""
        z = self.zone[:, None]
        return np.where(z == 0, p[..., 0] < ZONE, np.where(z == 1, p[..., 0] > 1 - ZONE,
               np.where(z == 2, p[..., 1] < ZONE, p[..., 1] > 1 - ZONE)))

    def sentence(self, templates=TEMPLATES):
        c = self.colour[np.arange(len(self.target)), self.target]
        return [templates[t % len(templates)].format(c=COLOURS[c[b]], z=ZONES[self.zone[b]])
                for b, t in enumerate(self.template)]

    def opening(self):
        """1 open, 0.5 closed on a block, 0 closed on nothing."""
        return np.where(self.closed, np.where(self.held >= 0, 0.5, 0.0), 1.0)

    def state(self):
        """x, y, opening."""
        return np.concatenate([self.grip, self.opening()[:, None]], 1).astype(np.float32)

    def step(self, action):
        """action [B,3]: dx, dy, close (> 0.5)."""
        d = np.clip(np.nan_to_num(action[:, :2].astype(np.float64)), -MAX_STEP, MAX_STEP)
        self.grip = np.clip(self.grip + d, 0.0, 1.0)
        h = self.held >= 0
        self.pos[h, self.held[h]] = self.grip[h]
        close = action[:, 2] > 0.5
        dist = np.linalg.norm(self.pos - self.grip[:, None], axis=2)
        near = dist.argmin(1)
        grab = close & ~self.closed & (dist.min(1) < GRASP)
        self.held = np.where(close, np.where(grab, near, self.held), -1)
        self.pos[grab, near[grab]] = self.grip[grab]
        self.closed = close

    def success(self):
        r = np.arange(len(self.target))
        ins = self.inside(self.pos)
        others = ins.copy()
        others[r, self.target] = False
        return ins[r, self.target] & (self.held != self.target) & ~others.any(1)

    def render(self):
        """u8 [B,SIZE,SIZE,3]; every shape is an axis-parallel rectangle blended by pixel coverage."""
        n = len(self.target)
        img = np.full((n, SIZE, SIZE, 3), 216, np.float32)
        a, e = int(round(SIZE * ZONE)), SIZE - int(round(SIZE * ZONE))
        img[:, a:e, a:e] = 236
        half = BLOCK / 2
        for k in range(3):
            self._rect(img, self.pos[:, k], half, half, RGB[self.colour[:, k]])
        gap = 0.03 + 0.03 * self.opening()
        for side in (-1, 1):
            c = self.grip + np.stack([side * gap, 0 * gap], 1)
            self._rect(img, c, 0.0125, 0.045, np.full((n, 3), 30, np.float32))
        return (img + 0.5).astype(np.uint8)

    @staticmethod
    def _rect(img, centre, hx, hy, rgb):
        i = np.arange(SIZE)

        def cover(c, h):
            lo, hi = (c - h)[:, None] * SIZE, (c + h)[:, None] * SIZE
            return np.clip(np.minimum(hi, i + 1) - np.maximum(lo, i), 0, 1).astype(np.float32)
        cy, cx = cover(centre[:, 1], hy), cover(centre[:, 0], hx)
        y0, x0 = (np.floor((c - h) * SIZE).clip(0, SIZE).astype(int)
                  for c, h in ((centre[:, 1], hy), (centre[:, 0], hx)))
        for b in range(len(img)):
            y, x = slice(y0[b], y0[b] + int(2 * hy * SIZE) + 2), slice(x0[b], x0[b] + int(2 * hx * SIZE) + 2)
            part = img[b, y, x]
            part += (cy[b, y, None] * cx[b, None, x])[..., None] * (rgb[b] - part)

    def waypoint(self):
        """Where the expert is heading: the named block, or the named zone while holding it."""
        r = np.arange(len(self.target))
        t = self.pos[r, self.target]
        goal = np.clip(self.grip, 0.1, 0.9)
        z = self.zone
        goal[:, 0] = np.where(z == 0, 0.1, np.where(z == 1, 0.9, goal[:, 0]))
        goal[:, 1] = np.where(z == 2, 0.1, np.where(z == 3, 0.9, goal[:, 1]))
        return np.where((self.held == self.target)[:, None], goal, t)

    def expert(self):
        """[B,3] action of the scripted expert, a function of the present state only."""
        r = np.arange(len(self.target))
        carrying = self.held == self.target
        done = self.inside(self.pos)[r, self.target] & ~carrying
        d = self.waypoint() - self.grip
        dist = np.linalg.norm(d, axis=1)
        close = np.where(carrying, dist >= 0.02, ~self.closed & (dist < 0.015))
        stay = done | (self.closed & ~carrying)          # finished, or hand must open first
        d = d * np.minimum(1, MAX_STEP / np.maximum(dist, 1e-9))[:, None]
        d[stay] = 0
        return np.concatenate([d, (close & ~stay)[:, None]], 1)


def random_states(n, rng):
    """Training scenes in any phase of the task, including the expert's never-visited mistakes."""
    e = Env([])
    r = np.arange(n)
    cells = rng.random((n, 9)).argsort(1)[:, :3]
    e.pos = np.stack([GRID0 + CELL * (cells % 3 + 0.5), GRID0 + CELL * (cells // 3 + 0.5)], 2)
    e.pos += rng.uniform(-JITTER, JITTER, (n, 3, 2))
    stray = rng.random(n) < 0.2                          # one block anywhere on the table
    e.pos[stray, rng.integers(0, 3, n)[stray]] = rng.uniform(0.07, 0.93, (n, 2))[stray]
    e.colour = rng.random((n, 4)).argsort(1)[:, :3]
    e.target, e.zone = rng.integers(0, 3, n), rng.integers(0, 4, n)
    e.template = rng.integers(0, len(TEMPLATES), n)
    e.closed, e.held = np.zeros(n, bool), np.full(n, -1)
    e.grip = rng.uniform(0.02, 0.98, (n, 2))
    p = rng.random(n)
    other = (e.target + rng.integers(1, 3, n)) % 3
    near = e.pos[r, e.target] + rng.normal(0, 1, (n, 2)) * rng.choice([0.015, 0.04, 0.08], (n, 1))
    m = (p >= 0.36) & (p < 0.60)
    e.grip[m] = near[m]                                  # open, close to the named block
    m = (p >= 0.60) & (p < 0.65)
    e.grip[m] = (e.pos[r, other] + rng.normal(0, 0.03, (n, 2)))[m]   # open, close to another block
    m = (p >= 0.65) & (p < 0.90)                         # carrying the named block
    e.held[m], e.closed[m] = e.target[m], True
    m = (p >= 0.90) & (p < 0.94)                         # closed on nothing
    e.grip[m], e.closed[m] = near[m], True
    m = (p >= 0.94) & (p < 0.97)                         # carrying another block
    e.held[m], e.closed[m] = other[m], True
    e.grip = np.clip(e.grip, 0, 1)
    m = p >= 0.97                                        # done
    w = rng.uniform(0.03, 0.17, n)
    q = e.pos[r, e.target]
    q[:, 0] = np.where(e.zone == 0, w, np.where(e.zone == 1, 1 - w, q[:, 0]))
    q[:, 1] = np.where(e.zone == 2, w, np.where(e.zone == 3, 1 - w, q[:, 1]))
    e.pos[m, e.target[m]] = q[m]
    e.grip[m] = np.clip(q + rng.normal(0, 0.03, (n, 2)), 0, 1)[m]
    h = e.held >= 0
    e.pos[h, e.held[h]] = e.grip[h]
    return e


def expert_chunk(e, m):
    """m expert actions from the present state on a copy: [B,m,3]."""
    c, out = copy.deepcopy(e), []
    for _ in range(m):
        a = c.expert()
        out.append(a)
        c.step(a)
    return np.stack(out, 1).astype(np.float32)


if __name__ == "__main__":
    e = Env(range(1000))
    ok, first = np.zeros(1000, bool), np.zeros(1000)
    for t in range(MAX_STEPS):
        e.step(e.expert())
        ok |= e.success()
        first += ~ok
    print("expert: %d of 1000, %.1f steps on average, longest %d" % (ok.sum(), first.mean() + 1, first.max() + 1))
