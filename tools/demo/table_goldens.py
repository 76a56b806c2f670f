#!/usr/bin/env python3
"""Makes tests/data/demo_table.json: what the demo's table does, by demo_env.py. Needs numpy.

    python3 tools/demo/table_goldens.py > tests/data/demo_table.json

  resets     300 seeds and some large ones: [seed, three blocks and the gripper (x, y), colours, target, zone,
             sentence, sentence kept out of training]
  experts    the scripted expert on the first 300 of them: [steps until solved, world, pictures]
  teaching   for the first few, each of its actions
  episodes   made to go wrong: wrong blocks carried, two in a zone, hands closed on nothing, actions that are NaN,
             infinite or too large. An action is three characters: places in `alphabet`, which pick from `moves`,
             `moves` and `closes`. solved, world and pictures have 1, 2 and 2 characters a step, the reset included;
             `last` has the two hashes after the last step, `end` where the blocks and the gripper are then
  sides      pictures of the first resets at other sizes: [side, FNV-1a of each with 0 before it]

`world` and `pictures` are chains: FNV-1a (64 bits) over the hash before, 0 to begin with, and what follows, all of it
little-endian. world: blocks and gripper, x and y, the expert's next action (float64), state (float32), closed, held,
solved (int8). pictures: 64 x 64 x 3 bytes. Of an episode's hashes the last byte is there, to find the step that went
wrong.
"""
import json
import random
import string
import sys

import numpy as np

import demo_env as E

SEEDS, TAUGHT, EPISODES, STEPS = 300, 8, 50, 80
LARGE = [2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 0x9E3779B97F4A7C15, 10**6, 10**18]
ALPHABET = string.ascii_letters + string.digits + "+-"
ODD_MOVES = ["nan", "inf", "-inf", 1e300, -1e300, 1.0, -1.0, 0.05000001, -0.05000001, -0.0, 5e-324]
PLAIN_MOVES = [0.0, 0.05, -0.05, 0.04, -0.04, 0.025, -0.025, 0.0125, -0.0125, 0.005, -0.005]
CLOSES = [0.0, 1.0, 0.5, 0.5000000000000001, 0.49999999999999994, "nan", "inf", "-inf", -1.0, 2.0, 5e-324]


# ---- hashes ----

def fnv(rows, before):
    """A row's FNV-1a, continued from a chain: [B, n] bytes and [B] hashes -> [B]."""
    rows = np.concatenate([before[:, None].astype("<u8").view(np.uint8), rows], 1)
    h = np.full(len(rows), 0xCBF29CE484222325, np.uint64)
    for column in np.ascontiguousarray(rows.T):
        h = (h ^ column) * np.uint64(0x100000001B3)
    return h


def as_bytes(x, kind):
    x = np.ascontiguousarray(x, kind)
    return x.reshape(len(x), -1).view(np.uint8)


def world(env):
    parts = [(env.pos, "<f8"), (env.grip, "<f8"), (env.expert(), "<f8"), (env.state(), "<f4"), (env.closed, "i1"),
             (env.held, "i1"), (env.success(), "i1")]
    return np.concatenate([as_bytes(x, kind) for x, kind in parts], 1)


class Chain:
    """Hashes of a batch, step by step."""

    def __init__(self, n):
        self.world, self.pictures = np.zeros(n, np.uint64), np.zeros(n, np.uint64)

    def add(self, env):
        self.world = fnv(world(env), self.world)
        self.pictures = fnv(as_bytes(env.render(), "u1"), self.pictures)


# ---- resets and the expert ----

def resets(seeds):
    env = E.Env(seeds)
    told, held_out = env.sentence(), env.sentence(E.HELD_OUT)
    return [[str(s), env.pos[b].ravel().tolist() + env.grip[b].tolist(), env.colour[b].tolist(), int(env.target[b]),
             int(env.zone[b]), told[b], held_out[b]] for b, s in enumerate(seeds)]


def experts():
    """Until the slowest is done; a chain counts up to its own end."""
    env, chain, out, teaching = E.Env(range(SEEDS)), Chain(SEEDS), [None] * SEEDS, [[] for _ in range(TAUGHT)]
    step = 0
    chain.add(env)
    while None in out:
        action = env.expert()
        for b in range(TAUGHT):
            if not out[b]:
                teaching[b].append(action[b].tolist())
        env.step(action)
        chain.add(env)
        step += 1
        for b in np.flatnonzero(env.success()):
            out[b] = out[b] or [step, "%016x" % chain.world[b], "%016x" % chain.pictures[b]]
    return out, teaching


# ---- episodes that go wrong ----

class Hand:
    """Fetches any block, carries it to the zone or anywhere, and now and then does something silly."""

    def __init__(self, r, moves):
        self.r, self.moves, self.goal, self.block, self.left = r, moves, None, 0, 0

    def aim(self, env, b):
        r, z, w = self.r, env.zone[b], self.r.uniform(0.0, 0.22)
        self.left = 20
        if env.held[b] < 0:
            self.block, self.goal = r.randrange(3), None
            return
        self.goal = [r.random(), r.random()]
        if r.random() < 0.75:
            self.goal[z // 2] = w if z in (0, 2) else 1 - w

    def toward(self, d):
        d = max(-0.05, min(0.05, d))
        near = sorted(range(len(ODD_MOVES), len(self.moves)), key=lambda i: abs(self.moves[i] - d))
        return near[0] if self.r.random() < 0.8 else self.r.choice(near[:8])

    def act(self, env, b):
        """Indices of a move, a move and a close."""
        r = self.r
        if r.random() < 0.08:
            return r.randrange(len(ODD_MOVES)), r.randrange(len(self.moves)), r.randrange(len(CLOSES))
        if self.left == 0 or (self.goal and env.held[b] < 0):
            self.aim(env, b)
        self.left -= 1
        goal = self.goal or env.pos[b, self.block]
        d = goal - env.grip[b]
        there = np.abs(d).max() < r.choice([0.01, 0.02, 0.06])
        if there:
            self.left = 0
        holds = env.held[b] >= 0
        close = not there if holds else there and not env.closed[b]
        return self.toward(d[0]), self.toward(d[1]), r.choice([1, 3, 6, 9] if close else [0, 2, 4, 5, 7, 8])


def episodes(seen):
    r = random.Random(1)
    moves = ODD_MOVES + PLAIN_MOVES
    moves += [r.uniform(-0.05, 0.05) for _ in range(len(ALPHABET) - len(moves))]
    env, chain = E.Env(range(1000, 1000 + EPISODES)), Chain(EPISODES)
    hands = [Hand(r, moves) for _ in range(EPISODES)]
    out = [{"seed": str(1000 + b), "actions": "", "solved": "", "world": "", "pictures": ""} for b in range(EPISODES)]

    def note():
        chain.add(env)
        for b, k in enumerate(out):
            k["solved"] += str(int(env.success()[b]))
            k["world"] += "%02x" % (int(chain.world[b]) & 255)
            k["pictures"] += "%02x" % (int(chain.pictures[b]) & 255)
        named, others = env.held == env.target, (env.held >= 0) & (env.held != env.target)
        inside = env.inside(env.pos)
        for name, what in (("solved", env.success()), ("closed on nothing", env.closed & (env.held < 0)),
                           ("carrying another", others), ("two in the zone", inside.sum(1) == 2),
                           ("three in the zone", inside.sum(1) == 3), ("carrying in the zone", named & inside.any(1)),
                           ("named there, another too", inside[range(EPISODES), env.target] & (inside.sum(1) > 1)),
                           ("at an edge", ((env.grip == 0) | (env.grip == 1)).any(1)),
                           ("over two blocks", (np.abs(env.pos - env.grip[:, None]).max(2) < 0.05).sum(1) > 1)):
            seen[name] = seen.get(name, 0) + int(what.sum())

    note()
    for _ in range(STEPS):
        picked = [hands[b].act(env, b) for b in range(EPISODES)]
        env.step(np.array([[float(moves[i]), float(moves[j]), float(CLOSES[k])] for i, j, k in picked]))
        for b, three in enumerate(picked):
            out[b]["actions"] += "".join(ALPHABET[i] for i in three)
        note()
    for b, k in enumerate(out):
        k["last"] = ["%016x" % chain.world[b], "%016x" % chain.pictures[b]]
        k["end"] = env.pos[b].ravel().tolist() + env.grip[b].tolist()
    return moves, out


def sides():
    out, before = [], np.zeros(6, np.uint64)
    for side in (1, 7, 100, 128, 512):
        E.SIZE = side
        images = as_bytes(E.Env(range(6)).render(), "u1")
        out.append([side] + ["%016x" % h for h in fnv(images, before)])
    E.SIZE = 64
    return out


def main():
    seen = {}
    moves, all_episodes = episodes(seen)
    all_experts, teaching = experts()
    print("steps seen:", seen, file=sys.stderr)
    assert all(seen.values())

    def lines(values):
        return "[\n" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in values) + "]"
    parts = {"about": json.dumps("tools/demo/table_goldens.py says what is what"), "alphabet": json.dumps(ALPHABET),
             "moves": json.dumps(moves), "closes": json.dumps(CLOSES),
             "resets": lines(resets(list(range(SEEDS)) + LARGE)), "experts": lines(all_experts),
             "teaching": lines(teaching), "episodes": lines(all_episodes), "sides": lines(sides())}
    print("{" + ",\n".join('"%s":%s' % part for part in parts.items()) + "}")


main()
