"""The demo's policy: SmolVLA's formulas at toy size, in PyTorch. Parameters are a plain dict by GGUF tensor name."""

import math

import torch
import torch.nn.functional as F

from demo_env import COLOURS, HELD_OUT, TEMPLATES, ZONES

CFG = dict(hidden=128, intermediate=256, n_q_heads=4, n_kv_heads=2, head_dim=32, n_layers=4,
           expert_h=96, expert_inter=192, chunk_size=8, num_steps=10, max_state_dim=4, max_action_dim=4,
           real_state_dim=3, real_action_dim=3, self_attn_every_n_layers=2, tokenizer_max_length=48,
           vit_hidden=96, vit_layers=2, vit_heads=3, vit_inter=256, image_size=64, patch_size=8,
           vit_pixel_shuffle=2, n_img_tokens=16)
MIN_PERIOD, MAX_PERIOD, EPS = 0.004, 4.0, 1e-8


def vocabulary():
    """256 bytes, then every prefix (2 bytes or longer) of ' word' for each known word, in order of
    appearance: a byte-level BPE whose merges only ever extend a word from its left end."""
    vocab = [bytes([i]) for i in range(256)]
    text = " ".join(TEMPLATES + HELD_OUT).format_map({"c": " ".join(COLOURS), "z": " ".join(ZONES)})
    for w in text.split():
        for n in range(2, len(w) + 2):
            p = (" " + w)[:n].encode()
            if p not in vocab:
                vocab.append(p)
    return vocab


VOCAB = vocabulary()
IDS = {v: i for i, v in enumerate(VOCAB)}


def tokenize(sentence):
    """A space in front, longest known prefix first, a line feed at the end."""
    b, out = (" " + sentence.strip().lower() + "\n").encode(), []
    while b:
        n = max(k for k in range(1, min(len(b), 24) + 1) if b[:k] in IDS)
        out.append(IDS[b[:n]])
        b = b[n:]
    return out[:CFG["tokenizer_max_length"]]


def batch_tokens(sentences):
    t = [tokenize(s) for s in sentences]
    n = max(map(len, t))
    return (torch.tensor([x + [0] * (n - len(x)) for x in t]), torch.tensor([len(x) for x in t]))


def new_params(c=CFG, seed=0):
    g = torch.Generator().manual_seed(seed)
    P = {}

    def w(name, out, inp, gain=1.0):
        P[name] = torch.randn(out, inp, generator=g) * gain / math.sqrt(inp)

    def lin(name, out, inp, gain=1.0):
        w(name + ".weight", out, inp, gain)
        P[name + ".bias"] = torch.zeros(out)
    H, X, V = c["hidden"], c["expert_h"], c["vit_hidden"]
    Q, K = c["n_q_heads"] * c["head_dim"], c["n_kv_heads"] * c["head_dim"]
    w("token_embd.weight", len(VOCAB), H)
    out_gain = 1 / math.sqrt(2 * c["n_layers"])
    for pfx, dim, inter in (("vlm", H, c["intermediate"]), ("aex", X, c["expert_inter"])):
        for i in range(c["n_layers"]):
            p = "%s.blk.%d." % (pfx, i)
            kin = K if pfx == "aex" and i % c["self_attn_every_n_layers"] else dim
            P[p + "attn_norm.weight"] = torch.ones(dim)
            P[p + "ffn_norm.weight"] = torch.ones(dim)
            w(p + "attn_q.weight", Q, dim)
            w(p + "attn_k.weight", K, kin)
            w(p + "attn_v.weight", K, kin)
            w(p + "attn_o.weight", dim, Q, out_gain)
            w(p + "ffn_gate.weight", inter, dim)
            w(p + "ffn_up.weight", inter, dim)
            w(p + "ffn_down.weight", dim, inter, out_gain)
        P[pfx + ".output_norm.weight"] = torch.ones(dim)
    lin("state_proj", H, c["max_state_dim"])
    lin("action_in_proj", X, c["max_action_dim"])
    lin("action_time_mlp_in", X, 2 * X)
    lin("action_time_mlp_out", X, X)
    lin("action_out_proj", c["max_action_dim"], X, 0.3)
    ps, n = c["patch_size"], (c["image_size"] // c["patch_size"]) ** 2
    lin("vit.patch_embd", V, 3 * ps * ps, 2.0)
    P["vit.patch_embd.weight"] = P["vit.patch_embd.weight"].reshape(V, 3, ps, ps)
    P["vit.pos_embd"] = torch.randn(n, V, generator=g) * 0.5
    out_gain = 1 / math.sqrt(2 * c["vit_layers"])
    for i in range(c["vit_layers"]):
        p = "vit.blk.%d." % i
        for t in ("ln1", "ln2"):
            P[p + t + ".weight"], P[p + t + ".bias"] = torch.ones(V), torch.zeros(V)
        for t in ("q", "k", "v"):
            lin(p + "attn_" + t, V, V)
        lin(p + "attn_o", V, V, out_gain)
        lin(p + "fc1", c["vit_inter"], V)
        lin(p + "fc2", V, c["vit_inter"], out_gain)
    P["vit.post_ln.weight"], P["vit.post_ln.bias"] = torch.ones(V), torch.zeros(V)
    w("mm.fc.weight", H, V * c["vit_pixel_shuffle"] ** 2, 1 / math.sqrt(H))
    return P


def rms(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * w


def rope(x, pos):
    """x [B,N,heads,d], pos [B,N]; half-split pairs, base 10000."""
    h = x.shape[-1] // 2
    a = pos[..., None].float() * 10000.0 ** (-torch.arange(h) / h)
    cos, sin = a.cos()[:, :, None], a.sin()[:, :, None]
    u, v = x[..., :h], x[..., h:]
    return torch.cat([u * cos - v * sin, v * cos + u * sin], -1)


def tower(P, c, img):
    """u8 [B,S,S,3] -> [B,n_img_tokens,hidden]."""
    B, V, ps = img.shape[0], c["vit_hidden"], c["patch_size"]
    gsz, r, hd = c["image_size"] // ps, c["vit_pixel_shuffle"], c["vit_hidden"] // c["vit_heads"]
    x = (img.float() / 255 * 2 - 1).reshape(B, gsz, ps, gsz, ps, 3).permute(0, 1, 3, 5, 2, 4).reshape(B, gsz * gsz, -1)
    x = F.linear(x, P["vit.patch_embd.weight"].reshape(V, -1), P["vit.patch_embd.bias"]) + P["vit.pos_embd"]
    for i in range(c["vit_layers"]):
        p = "vit.blk.%d." % i
        n = F.layer_norm(x, (V,), P[p + "ln1.weight"], P[p + "ln1.bias"], 1e-6)
        q, k, v = (F.linear(n, P[p + "attn_%s.weight" % t], P[p + "attn_%s.bias" % t])
                   .reshape(B, -1, c["vit_heads"], hd).transpose(1, 2) for t in "qkv")
        a = ((q / math.sqrt(hd)) @ k.transpose(2, 3)).softmax(-1) @ v
        x = x + F.linear(a.transpose(1, 2).reshape(B, -1, V), P[p + "attn_o.weight"], P[p + "attn_o.bias"])
        n = F.layer_norm(x, (V,), P[p + "ln2.weight"], P[p + "ln2.bias"], 1e-6)
        n = F.gelu(F.linear(n, P[p + "fc1.weight"], P[p + "fc1.bias"]), approximate="tanh")
        x = x + F.linear(n, P[p + "fc2.weight"], P[p + "fc2.bias"])
    x = F.layer_norm(x, (V,), P["vit.post_ln.weight"], P["vit.post_ln.bias"], 1e-6)
    x = x.reshape(B, gsz // r, r, gsz // r, r, V).permute(0, 1, 3, 2, 4, 5).reshape(B, -1, r * r * V)
    return F.linear(x, P["mm.fc.weight"])


def attend(q, k, v, bias):
    """q [B,Nq,heads,d] already scaled, k and v [B,Nk,kv,d], bias broadcast to [B,kv,g,Nq,Nk]; head j uses K/V head
    j // g."""
    B, Nq, heads, d = q.shape
    kv, g = k.shape[2], heads // k.shape[2]
    q = q.reshape(B, Nq, kv, g, d).permute(0, 2, 3, 1, 4).reshape(B, kv, g * Nq, d)
    s = (q @ k.permute(0, 2, 3, 1)).reshape(B, kv, g, Nq, -1) + bias
    a = s.softmax(-1).reshape(B, kv, g * Nq, -1) @ v.transpose(1, 2)
    return a.reshape(B, kv, g, Nq, d).permute(0, 3, 1, 2, 4).reshape(B, Nq, -1)


def mlp(P, p, x):
    n = rms(x, P[p + "ffn_norm.weight"])
    n = F.silu(F.linear(n, P[p + "ffn_gate.weight"])) * F.linear(n, P[p + "ffn_up.weight"])
    return x + F.linear(n, P[p + "ffn_down.weight"])


def prefix(P, c, images, tokens, length, state, full=False):
    """images: list of u8 [B,S,S,3]; tokens [B,L] zero padded; state [B,max_state] raw.
    Returns K and V per layer [B,N,kv,d], padding mask [B,N], number of real rows [B], and the rows
    entering each layer (for the training aids). Padded columns are masked and take no position."""
    H, d, kv, g = c["hidden"], c["head_dim"], c["n_kv_heads"], c["n_q_heads"] // c["n_kv_heads"]
    s = state.clone()
    rs = c["real_state_dim"]
    s[:, :rs] = (s[:, :rs] - P["state_mean"]) / (P["state_std"] + EPS)
    x = torch.cat([tower(P, c, im) for im in images] + [P["token_embd.weight"][tokens]], 1) * math.sqrt(H)
    x = torch.cat([x, F.linear(s, P["state_proj.weight"], P["state_proj.bias"])[:, None]], 1)
    B, N, L = x.shape[0], x.shape[1], tokens.shape[1]
    ni = N - 1 - L
    real = torch.ones(B, N, dtype=torch.bool)
    real[:, ni:ni + L] = torch.arange(L)[None] < length[:, None]
    pos = torch.arange(N).repeat(B, 1)
    pos[:, -1] = ni + length
    bias = torch.zeros(B, 1, 1, N, N).masked_fill(~real[:, None, None, None], -1e9)
    bias[:, :, :, :-1, -1] = -1e9
    Ks, Vs, rows = [], [], []
    for i in range(c["n_layers"]):
        p = "vlm.blk.%d." % i
        rows.append(x)
        n = rms(x, P[p + "attn_norm.weight"])
        k = rope(F.linear(n, P[p + "attn_k.weight"]).reshape(B, N, kv, d), pos)
        v = F.linear(n, P[p + "attn_v.weight"]).reshape(B, N, kv, d)
        Ks.append(k)
        Vs.append(v)
        if i == c["n_layers"] - 1 and not full:
            break
        q = rope(F.linear(n, P[p + "attn_q.weight"]).reshape(B, N, kv * g, d), pos) / math.sqrt(d)
        x = x + F.linear(attend(q, k, v, bias), P[p + "attn_o.weight"])
        x = mlp(P, p, x)
    return Ks, Vs, real, ni + length + 1, rows


def cross_caches(P, c, Ks, Vs):
    """The K/V an expert layer looks at: as they are (self layers), or mapped once per request."""
    out = []
    for i in range(c["n_layers"]):
        k, v = Ks[i], Vs[i]
        if i % c["self_attn_every_n_layers"]:
            p, shape = "aex.blk.%d." % i, k.shape
            k = F.linear(k.flatten(2), P[p + "attn_k.weight"]).reshape(shape)
            v = F.linear(v.flatten(2), P[p + "attn_v.weight"]).reshape(shape)
        out.append((k, v))
    return out


def time_embedding(t, width):
    """t: float64 tensor of any shape -> [..., width]."""
    half = width // 2
    period = MIN_PERIOD * (MAX_PERIOD / MIN_PERIOD) ** (torch.arange(half, dtype=torch.float64) / (half - 1))
    a = 2 * math.pi * t[..., None] / period
    return torch.cat([a.sin(), a.cos()], -1).float()


def velocity(P, c, caches, real, npos, x, t):
    """x [B,R,M,A] noisy chunks (R of them share one prefix), t [B,R] -> velocities of the same shape."""
    B, R, M, _ = x.shape
    d, kv, g = c["head_dim"], c["n_kv_heads"], c["n_q_heads"] // c["n_kv_heads"]
    emb = time_embedding(t, c["expert_h"])[:, :, None].expand(B, R, M, -1)
    x = F.linear(x, P["action_in_proj.weight"], P["action_in_proj.bias"])
    x = F.silu(F.linear(torch.cat([x, emb], -1), P["action_time_mlp_in.weight"], P["action_time_mlp_in.bias"]))
    x = F.linear(x, P["action_time_mlp_out.weight"], P["action_time_mlp_out.bias"]).reshape(B, R * M, -1)
    own = torch.arange(M).repeat(B, R)
    pad = torch.zeros(B, 1, 1, 1, real.shape[1]).masked_fill(~real[:, None, None, None], -1e9)
    block = torch.block_diag(*[torch.ones(M, M).tril()] * R)        # causal, chunks do not see each other
    both = torch.cat([pad.expand(B, 1, 1, R * M, -1), ((block - 1) * 1e9).expand(B, 1, 1, -1, -1)], -1)
    for i in range(c["n_layers"]):
        p = "aex.blk.%d." % i
        k, v = caches[i]
        self_layer = i % c["self_attn_every_n_layers"] == 0
        pos = own + npos[:, None] if self_layer else own
        n = rms(x, P[p + "attn_norm.weight"])
        q = rope(F.linear(n, P[p + "attn_q.weight"]).reshape(B, R * M, kv * g, d), pos) / math.sqrt(d)
        if self_layer:
            k = torch.cat([k, rope(F.linear(n, P[p + "attn_k.weight"]).reshape(B, R * M, kv, d), pos)], 1)
            v = torch.cat([v, F.linear(n, P[p + "attn_v.weight"]).reshape(B, R * M, kv, d)], 1)
        a = attend(q, k, v, both if self_layer else pad)
        x = mlp(P, p, x + F.linear(a, P[p + "attn_o.weight"]))
    x = rms(x, P["aex.output_norm.weight"])
    return F.linear(x, P["action_out_proj.weight"], P["action_out_proj.bias"]).reshape(B, R, M, -1)


@torch.no_grad()
def predict(P, c, images, tokens, length, state, noise):
    """noise [B,M,max_action] -> actions [B,M,real_action] in world units."""
    Ks, Vs, real, npos, _ = prefix(P, c, images, tokens, length, state)
    caches = cross_caches(P, c, Ks, Vs)
    x, dt = noise[:, None], float(torch.tensor(-1.0 / c["num_steps"]))
    for s in range(c["num_steps"]):
        t = torch.full(x.shape[:2], 1 + s * dt, dtype=torch.float64)
        x = x + dt * velocity(P, c, caches, real, npos, x, t)
    return x[:, 0, :, :c["real_action_dim"]] * (P["action_std"] + EPS) + P["action_mean"]
