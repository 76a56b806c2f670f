#!/usr/bin/env python3
"""Trains, evaluates and writes the policy of examples/demo. Needs numpy and PyTorch; docs/demo.md has the recipe.

    demo_train.py train --minutes 24 -o OUT.npz      behaviour cloning by flow matching
    demo_train.py eval WEIGHTS                       closed loop, with the controls
    demo_train.py gguf WEIGHTS OUT.gguf              the checkpoint, tokenizer and camera included
    demo_train.py golden WEIGHTS OUT.json            tests/data/demo_policy.json

WEIGHTS is what `train` or `gguf` wrote.
"""

import argparse
import json
import math
import multiprocessing
import os
import time

for v in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(v, "1")      # training runs one process per core instead

import numpy as np
import torch
import torch.nn.functional as F

import demo_env as E
import demo_gguf
import demo_policy as D

F32 = ("vit.patch_embd", "vit.pos_embd", "state_", "action_", ".bias", "post_ln", ".ln1", ".ln2")


COLOUR_ID = [D.IDS[(" " + k).encode()] for k in E.COLOURS]


def kind(name):
    return "f32" if any(s in name for s in F32) else "bf16"


def pack_state(s):
    out = torch.zeros(len(s), D.CFG["max_state_dim"])
    out[:, :s.shape[1]] = torch.from_numpy(s)
    return out


def wilson(k, n, z=1.96):
    p, d = k / n, 1 + z * z / n
    m, h = (p + z * z / (2 * n)) / d, z / d * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, m - h), min(1.0, m + h)


def rollout(P, seeds, replan=4, templates=E.TEMPLATES, wrong=None, black=False, noise_seed=0):
    """Closed loop. Returns success per seed, the step of success, and success at what was really told.
    wrong: 'colour' or 'zone' tells something else than what is scored, 'none' the same to every scene."""
    env, told = E.Env(seeds), E.Env(seeds)
    if wrong == "colour":
        told.target = (told.target + 1) % 3
    if wrong == "zone":
        told.zone = (told.zone + 1) % 4
    text = told.sentence(templates) if wrong != "none" else ["move the block"] * len(seeds)
    tokens, length = D.batch_tokens(text)
    g = torch.Generator().manual_seed(noise_seed)
    n = len(seeds)
    ok, as_told, when = np.zeros(n, bool), np.zeros(n, bool), np.full(n, E.MAX_STEPS)
    for t in range(E.MAX_STEPS):
        if t % replan == 0:
            img = env.render() * np.uint8(not black)
            noise = torch.randn(n, D.CFG["chunk_size"], D.CFG["max_action_dim"], generator=g)
            chunk = D.predict(P, D.CFG, [torch.from_numpy(img)], tokens, length, pack_state(env.state()), noise).numpy()
        env.step(chunk[:, t % replan])
        when[env.success() & ~ok] = t + 1
        ok |= env.success()
        told.pos, told.held = env.pos, env.held
        as_told |= told.success()
        if ok.all():
            break
    return ok, when, as_told


def bf16_round(P):
    return {k: v.to(torch.bfloat16).float() if kind(k) == "bf16" else v for k, v in P.items()}


def save(P, path):
    np.savez(path, **{k: v.detach().numpy().astype(np.float32) for k, v in P.items()})


def load(path):
    if path.endswith(".npz"):
        return {k: torch.from_numpy(v) for k, v in np.load(path).items()}
    return {k: torch.from_numpy(v) for k, v in demo_gguf.read(path).items()}


def sample(n, rng):
    e = E.random_states(n, rng)
    tokens, length = D.batch_tokens(e.sentence())
    target = e.pos[np.arange(n), e.target]
    way = np.concatenate([target - 0.5, e.waypoint() - e.grip], 1) / 0.25
    # training aids: where the colour word stands, and per image token and colour: block centre here? offset
    colour = e.colour[np.arange(n), e.target]
    word = torch.tensor([(row == COLOUR_ID[k]).nonzero()[0, 0] for row, k in zip(tokens, colour)])
    side = int(math.sqrt(D.CFG["n_img_tokens"]))
    cell = np.minimum((e.pos * side).astype(int), side - 1)
    here = np.zeros((n, side * side, 4, 3), np.float32)
    for k in range(3):
        j = cell[:, k, 1] * side + cell[:, k, 0]
        here[np.arange(n), j, e.colour[:, k], 0] = 1
        here[np.arange(n), j, e.colour[:, k], 1:] = (e.pos[:, k] * side - cell[:, k] - 0.5) * 2
    return (torch.from_numpy(e.render()), tokens, length, pack_state(e.state()),
            torch.from_numpy(E.expert_chunk(e, D.CFG["chunk_size"])), torch.from_numpy(way.astype(np.float32)),
            word, torch.from_numpy(here))


def flat_views(flat, shapes):
    out, at = {}, 0
    for k, s in shapes.items():
        n = int(np.prod(s))
        out[k] = flat[at:at + n].view(s)
        at += n
    return out


def heads(c):
    """Linear read-outs used in training only: thrown away afterwards."""
    out = {"aux.image": torch.zeros(12, c["hidden"]), "aux.bias": torch.zeros(12)}
    for i in range(1, c["n_layers"]):
        out["aux.state%d" % i] = torch.zeros(4, c["hidden"])
        out["aux.word%d" % i] = torch.zeros(2, c["hidden"])
    return out


def train(a):
    """a.procs workers, each with its own share of the batch; gradients meet in shared memory."""
    n = sum(v.numel() for v in {**D.new_params(D.CFG), **heads(D.CFG)}.values())
    grads = torch.zeros(2, a.procs, n + 1).share_memory_()      # double buffer; last element: progress
    barrier = multiprocessing.Barrier(a.procs)
    kids = [multiprocessing.Process(target=worker, args=(a, r, grads, barrier)) for r in range(1, a.procs)]
    for k in kids:
        k.start()
    worker(a, 0, grads, barrier)
    for k in kids:
        k.join()


def worker(a, rank, grads, barrier):
    torch.set_num_threads(1)
    rng, c, B = np.random.default_rng([a.seed, rank]), D.CFG, a.batch // a.procs
    torch.manual_seed(a.seed * 64 + rank)
    init = D.new_params(c, a.seed)
    init.update(heads(c))
    shapes = {k: v.shape for k, v in init.items()}
    flat = torch.cat([v.reshape(-1) for v in init.values()])
    grad, ema, mom, var = (torch.zeros_like(flat) for _ in range(4))
    decay = torch.cat([torch.full((v.numel(),), 0.02 * (v.ndim >= 2 and k != "vit.pos_embd")) for k, v in init.items()])
    P, G = {k: v.detach().requires_grad_() for k, v in flat_views(flat, shapes).items()}, flat_views(grad, shapes)
    for k in P:
        P[k].grad = G[k]
    stat = np.random.default_rng(a.seed)
    st, ac = sample(8192, stat)[3:5]
    stats = {"state_mean": st[:, :3].mean(0), "state_std": st[:, :3].std(0),
             "action_mean": ac.mean((0, 1)), "action_std": ac.std((0, 1))}
    P.update(stats)

    def averaged():
        out = {k: v for k, v in flat_views(ema, shapes).items() if not k.startswith("aux")}
        out.update(stats)
        return out
    if rank == 0:
        print("parameters", sum(v.numel() for v in averaged().values()), flush=True)
    A, R, M, total = c["real_action_dim"], a.repeat, c["chunk_size"], a.minutes * 60
    weight = torch.tensor([1.0] * A + [0.1] * (c["max_action_dim"] - A))
    step, curve, run, next_log, next_eval, paused, start = 0, [], None, 15, a.eval_every, 0.0, time.time()
    while True:
        img, tok, length, st, act, way, word, here = sample(B, rng)
        x0 = torch.zeros(B, 1, M, c["max_action_dim"])
        x0[:, 0, :, :A] = (act - stats["action_mean"]) / (stats["action_std"] + D.EPS)
        t = torch.from_numpy(rng.beta(1.5, 1.0, (B, R)) * 0.999 + 0.001)
        noise = torch.randn(B, R, M, c["max_action_dim"])
        tt = t[:, :, None, None].float()
        Ks, Vs, real, npos, rows = D.prefix(P, c, [img], tok, length, st)
        v = D.velocity(P, c, D.cross_caches(P, c, Ks, Vs), real, npos, tt * noise + (1 - tt) * x0, t)
        flow = ((v - (noise - x0)).pow(2) * weight).mean()
        ni = c["n_img_tokens"]
        read = F.linear(rows[0][:, :ni], P["aux.image"], P["aux.bias"]).reshape(here.shape)
        found = F.binary_cross_entropy_with_logits(read[..., 0], here[..., 0])
        found = 4 * found + ((read[..., 1:] - here[..., 1:]).pow(2).sum(-1) * here[..., 0]).sum() / B / 6
        extra = [(F.linear(D.rms(rows[i][:, -1], 1.0), P["aux.state%d" % i]) - way).pow(2).mean()
                 for i in range(2, c["n_layers"])]
        named = [(F.linear(D.rms(rows[i][torch.arange(B), ni + word], 1.0), P["aux.word%d" % i]) - way[:, :2])
                 .pow(2).mean() for i in range(1, c["n_layers"])]
        grad.zero_()
        (flow + a.aux * (sum(extra) + sum(named) + found)).backward()
        el = time.time() - start - paused
        mine = grads[step % 2]
        mine[rank, :-1] = grad
        mine[rank, -1] = el / total
        barrier.wait()
        f = float(mine[0, -1])
        if f >= 1:
            break
        g = mine[:, :-1].mean(0)
        g *= min(1.0, 1.0 / (float(g.norm()) + 1e-6))
        step += 1
        lr = a.lr * min(1, step / a.warmup) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * f)))
        mom.lerp_(g, 0.1)
        var.lerp_(g * g, 0.02)
        upd = (mom / (1 - 0.9 ** step)) / ((var / (1 - 0.98 ** step)).sqrt_() + 1e-8)
        flat.sub_(lr * (upd + decay * flat))
        ema.lerp_(flat, 1 - min(0.998, (1 + step) / (20 + step)))
        if rank:
            continue
        now = np.array([flow.item(), extra[-1].item(), named[-1].item(), found.item()])
        run = now if run is None else 0.98 * run + 0.02 * now
        if el >= next_log:
            print("%6.1f s step %d lr %.2e flow %.4f state %.4f word %.4f image %.4f" % (el, step, lr, *run),
                  flush=True)
            next_log += 15
        if el >= next_eval:
            p0 = time.time()
            ok, when, _ = rollout(bf16_round(averaged()), range(10 ** 6, 10 ** 6 + 50))
            curve.append((round(el / 60, 2), step, float(run[0]), float(run[1]), float(ok.mean())))
            print("== %.1f min, success %.2f, steps %.1f" % (el / 60, ok.mean(), when.mean()), flush=True)
            save(averaged(), a.out)
            json.dump(curve, open(a.out.replace(".npz", "_curve.json"), "w"))
            next_eval += a.eval_every
            paused += time.time() - p0
    if rank == 0:
        save(averaged(), a.out)
        print("done: %d steps, %d scenes, %.1f min training, %.1f min of evaluations"
              % (step, step * a.batch, total / 60, paused / 60), flush=True)


def report(name, ok, when=None):
    if not len(ok):
        return
    lo, hi = wilson(ok.sum(), len(ok))
    print("%-34s %3d of %3d  %5.1f %% [%4.1f, %5.1f]%s" % (name, ok.sum(), len(ok), 100 * ok.mean(), 100 * lo, 100 * hi,
          "" if when is None else "  %.1f steps" % when[ok].mean() if ok.any() else ""), flush=True)


def evaluate(a):
    torch.set_num_threads(a.threads)
    P = bf16_round(load(a.weights))
    S = range(a.first, a.first + a.n)
    env = E.Env(S)
    for replan in (8, 4, 2):
        ok, when, _ = rollout(P, S, replan)
        report("replan every %d" % replan, ok, when)
        if replan == 4:
            main = ok
            print("failed seeds:", [S[i] for i in np.flatnonzero(~ok)])
    r = np.arange(len(S))
    for z in range(4):
        report("  zone " + E.ZONES[z], main[env.zone == z])
    for k in range(4):
        report("  colour " + E.COLOURS[k], main[env.colour[r, env.target] == k])
    for k in range(len(E.TEMPLATES)):
        report("  '%s'" % E.TEMPLATES[k], main[env.template == k])
    report("sentences never trained on", rollout(P, S, 4, E.HELD_OUT)[0])
    for wrong in ("colour", "zone"):
        ok, _, as_told = rollout(P, S, 4, wrong=wrong)
        report("told another " + wrong, ok)
        report("  ... and did as told", as_told)
    report("told 'move the block'", rollout(P, S, 4, wrong="none")[0])
    report("black images", rollout(P, S, 4, black=True)[0])


def byte_chars():
    """GPT-2's printable stand-in for every byte value."""
    keep, out, n = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256)), {}, 0
    for b in range(256):
        out[b] = chr(b) if b in keep else chr(256 + n)
        n += b not in keep
    return out


BYTE_CHAR = byte_chars()


def golden(a):
    """What another implementation has to give: scene, sentence, ids, image, one chunk, and a whole episode's length."""
    P, cases, c = bf16_round(load(a.weights)), [], D.CFG
    for seed in range(4):
        e = E.Env([seed])
        img, text = e.render(), e.sentence()
        tok, length = D.batch_tokens(text)
        n = c["chunk_size"] * c["max_action_dim"]
        noise = [round(3 * E.uniform(seed + 1000, i) - 1.5, 4) for i in range(n)]
        x = torch.tensor(noise).reshape(1, c["chunk_size"], c["max_action_dim"])
        act = D.predict(P, c, [torch.from_numpy(img)], tok, length, pack_state(e.state()), x)
        expert = E.expert_chunk(e, 30)[0]
        case = dict(seed=seed, text=text[0], tokens=tok[0].tolist(), colour=e.colour[0].tolist(),
                    target=int(e.target[0]), zone=int(e.zone[0]), pos=e.pos[0].tolist(), state=e.state()[0].tolist(),
                    image_sum=int(img.astype(int).sum()), image_row_sums=img[0].astype(int).sum((1, 2)).tolist(),
                    noise=noise, actions=act[0].tolist(), expert=expert.tolist())
        while not e.success().all():                       # closed loop, noise 0, replanning every 4 steps
            if case.setdefault("steps", 0) % 4 == 0:
                img = torch.from_numpy(e.render())
                act = D.predict(P, c, [img], tok, length, pack_state(e.state()), 0 * x)[0].numpy()
            e.step(act[None, case["steps"] % 4])
            case["steps"] += 1
            if case["steps"] == E.MAX_STEPS:
                break
        cases.append(case)
    json.dump(cases, open(a.out, "w"))
    print("steps to success with noise 0:", [k["steps"] for k in cases])


def gguf(a):
    P, c = load(a.weights), D.CFG
    text = ["".join(BYTE_CHAR[b] for b in v) for v in D.VOCAB]
    keys = [("general.architecture", "str", "smolvla"), ("smolvla.architecture", "str", "smolvla"),
            ("smolvla.vocab_size", "u32", len(D.VOCAB))]
    keys += [("smolvla." + k, "u32", v) for k, v in c.items()]
    keys += [("smolvla.min_period", "f64", D.MIN_PERIOD), ("smolvla.max_period", "f64", D.MAX_PERIOD),
             ("smolvla.expert_width_multiplier", "f64", c["expert_h"] / c["hidden"]),
             ("smolvla.norm_eps", "f32", D.EPS), ("smolvla.vit_ln_eps", "f32", 1e-6),
             ("vact.cameras", "[str]", ["table"]),
             ("tokenizer.ggml.model", "str", "gpt2"), ("tokenizer.ggml.pre", "str", "gpt-2"),
             ("tokenizer.ggml.add_space_prefix", "bool", True), ("tokenizer.ggml.tokens", "[str]", text),
             ("tokenizer.ggml.merges", "[str]", [x[:-1] + " " + x[-1] for x in text[256:]])]
    demo_gguf.write(a.out, keys, [(k, kind(k), v.numpy()) for k, v in P.items()])
    print(os.path.getsize(a.out), "bytes", sum(v.numel() for v in P.values()), "parameters")


def main():
    ap = argparse.ArgumentParser()
    sub = ap.add_subparsers(dest="cmd", required=True)
    t = sub.add_parser("train")
    t.add_argument("-o", "--out", required=True)
    for k, v in (("minutes", 24.0), ("lr", 1.5e-3), ("aux", 0.5), ("eval_every", 180.0)):
        t.add_argument("--" + k, type=float, default=v)
    for k, v in (("batch", 64), ("repeat", 4), ("warmup", 100), ("seed", 0), ("procs", 2)):
        t.add_argument("--" + k, type=int, default=v)
    e = sub.add_parser("eval")
    e.add_argument("weights")
    e.add_argument("--first", type=int, default=0)
    e.add_argument("--n", type=int, default=100)
    e.add_argument("--threads", type=int, default=1)
    for k in ("gguf", "golden"):
        g = sub.add_parser(k)
        g.add_argument("weights")
        g.add_argument("out")
    a = ap.parse_args()
    {"train": train, "eval": evaluate, "gguf": gguf, "golden": golden}[a.cmd](a)


if __name__ == "__main__":
    main()
