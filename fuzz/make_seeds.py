#!/usr/bin/env python3
"""Writes fuzz/corpus: a few small inputs per target that between them reach every branch worth reaching. Pictures need
none: their seeds are the tests' own."""
import base64
import json
import pathlib
import struct
import zlib

CORPUS = pathlib.Path(__file__).parent / "corpus"
PARTS = pathlib.Path(__file__).parent.parent / "tests/data/tokenizer_parts.json"
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACKED = {U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<B",
          U64: "<Q", I64: "<q", F64: "<d"}
# ggml's numbers of the tensor types that the reader knows: values and bytes of a block
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
          10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66),
          17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136),
          24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54),
          35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18), 42: (64, 18)}


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def element(kind, value):
    return text(value) if kind == STRING else struct.pack(PACKED[kind], value)


def value(key, kind, v):
    """kind is a number, or (ARRAY, element)."""
    if isinstance(kind, tuple):
        return text(key) + struct.pack("<IIQ", ARRAY, kind[1], len(v)) + b"".join(element(kind[1], x) for x in v)
    return text(key) + struct.pack("<I", kind) + element(kind, v)


def gguf(values, tensors=(), version=3, alignment=32):
    """values: what value() takes; tensors: name, type, shape (fastest first), one byte that fills the data."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values)) + b"".join(value(*v) for v in values)
    data = b""
    for name, dtype, shape, fill in tensors:
        out += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        out += struct.pack("<IQ", dtype, len(data))
        values_per_block, block_bytes = BLOCKS[dtype]
        count = 1
        for n in shape:
            count *= n
        data += bytes([fill]) * (count // values_per_block * block_bytes)
        data += b"\0" * (-len(data) % alignment)
    return out + b"\0" * (-len(out) % alignment) + data


def gguf_seeds():
    one_of_each = [("u8", U8, 200), ("i8", I8, -100), ("u16", U16, 60000), ("i16", I16, -30000), ("u32", U32, 1 << 31),
                   ("i32", I32, -7), ("f32", F32, 1e-5), ("bool", BOOL, 1), ("text", STRING, "pick\nup"),
                   ("u64", U64, 1 << 63), ("i64", I64, -1), ("f64", F64, 0.1)]
    arrays = [(f"a.{key}", (ARRAY, kind), [v, v]) for key, kind, v in one_of_each]
    types = [(f"t{dtype}", dtype, [block * 2, 2], dtype) for dtype, (block, _) in BLOCKS.items()]
    whole = gguf(one_of_each + arrays + [("a.none", (ARRAY, STRING), [])], types[:3])
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    return {
        "values": gguf(one_of_each), "arrays": gguf(arrays), "version_2": gguf(one_of_each[:3], version=2),
        "no_values": gguf([]), "empty_array": gguf([("a", (ARRAY, STRING), [])]), "types": gguf([], types),
        "shapes": gguf([], [("a", 0, [1], 0), ("b", 0, [1, 2, 3, 4], 1)]),
        "alignment": gguf([("general.alignment", U32, 8)], [("a", 24, [3], 1), ("b", 24, [9], 2)], alignment=8),
        "whole": whole, "cut": whole[:-40], "cut_in_values": whole[:300],
        "bad_magic": b"GGML" + whole[4:100], "big_endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
        "version_4": gguf([], version=4), "twice": gguf([("k", U8, 1), ("k", U8, 2)]),
        "bad_bool": gguf([("k", BOOL, 2)]), "bad_alignment": gguf([("general.alignment", U32, 12)]),
        "array_of_arrays": head + text("a") + struct.pack("<IIQ", ARRAY, ARRAY, 1),
        "huge_array": head + text("a") + struct.pack("<IIQ", ARRAY, U64, 1 << 61),
        "huge_count": b"GGUF" + struct.pack("<IQQ", 3, 1 << 62, 1 << 62), "empty_name": head + text("") + b"\0" * 8,
        "overflow": b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + text("t") + struct.pack("<I4QIQ", 4, *[1 << 40] * 4, 0, 0),
    }


SMOLVLA = {"hidden": 2, "intermediate": 3, "n_q_heads": 1, "n_kv_heads": 1, "head_dim": 2, "n_layers": 2,
           "vocab_size": 3, "expert_h": 2, "expert_inter": 3, "chunk_size": 2, "num_steps": 2, "max_state_dim": 2,
           "max_action_dim": 2, "real_state_dim": 1, "real_action_dim": 1, "self_attn_every_n_layers": 2,
           "tokenizer_max_length": 4, "vit_hidden": 2, "vit_layers": 1, "vit_heads": 1, "vit_inter": 3,
           "image_size": 2, "patch_size": 1, "vit_pixel_shuffle": 2, "n_img_tokens": 1}
F, B = 0, 30  # f32, bf16


def smolvla_tensors(c):
    """Shapes as GGUF has them, fastest first."""
    h, e, vit, kv = c["hidden"], c["expert_h"], c["vit_hidden"], c["n_kv_heads"] * c["head_dim"]
    q, patch, shuffle = c["n_q_heads"] * c["head_dim"], c["patch_size"], c["vit_pixel_shuffle"]
    state, action = c["max_state_dim"], c["max_action_dim"]

    def linear(name, n_in, n_out, dtype=B):
        return [(name + ".weight", dtype, [n_in, n_out]), (name + ".bias", F, [n_out])]

    out = [("token_embd.weight", B, [h, c["vocab_size"]]), ("vlm.output_norm.weight", B, [h]),
           ("aex.output_norm.weight", B, [e])]
    for name, n_in, n_out, dtype in [("state_proj", state, h, B), ("action_in_proj", action, e, B),
                                     ("action_time_mlp_in", 2 * e, e, F), ("action_time_mlp_out", e, e, B),
                                     ("action_out_proj", e, action, B)]:
        out += linear(name, n_in, n_out, dtype)
    out += [("vit.patch_embd.weight", F, [patch, patch, 3, vit]), ("vit.patch_embd.bias", F, [vit]),
            ("vit.pos_embd", F, [vit, (c["image_size"] // patch) ** 2]), ("vit.post_ln.weight", F, [vit]),
            ("vit.post_ln.bias", F, [vit]), ("mm.fc.weight", B, [vit * shuffle * shuffle, h])]
    out += [(name, F, [c[f"real_{name.split('_')[0]}_dim"]])
            for name in ("state_mean", "state_std", "action_mean", "action_std")]
    for i in range(c["n_layers"]):
        for p, w, inner, n_in in [(f"vlm.blk.{i}.", h, c["intermediate"], h),
                                  (f"aex.blk.{i}.", e, c["expert_inter"],
                                   kv if i % c["self_attn_every_n_layers"] else e)]:
            out += [(p + "attn_norm.weight", B, [w]), (p + "attn_q.weight", B, [w, q]),
                    (p + "attn_o.weight", B, [q, w]), (p + "ffn_norm.weight", B, [w]),
                    (p + "ffn_gate.weight", B, [w, inner]), (p + "ffn_up.weight", B, [w, inner]),
                    (p + "ffn_down.weight", B, [inner, w]), (p + "attn_k.weight", B, [n_in, kv]),
                    (p + "attn_v.weight", B, [n_in, kv])]
    for i in range(c["vit_layers"]):
        p = f"vit.blk.{i}."
        for norm in ("ln1", "ln2"):
            out += [(p + norm + ".weight", F, [vit]), (p + norm + ".bias", F, [vit])]
        for name in ("attn_q", "attn_k", "attn_v", "attn_o"):
            out += linear(p + name, vit, vit)
        out += linear(p + "fc1", vit, c["vit_inter"]) + linear(p + "fc2", c["vit_inter"], vit)
    return out


def model_seeds():
    keys = [("smolvla." + k, U32, v) for k, v in SMOLVLA.items()]
    keys += [("smolvla.min_period", F64, 0.004), ("smolvla.max_period", F64, 4.0), ("smolvla.norm_eps", F32, 1e-8)]
    name = [("smolvla.architecture", STRING, "smolvla")]
    tensors = [(n, dtype, shape, 0x3E) for n, dtype, shape in smolvla_tensors(SMOLVLA)]  # 0x3e3e3e3e: 0.186
    other = [(k, t, 15 if k.endswith("head_dim") else v) for k, t, v in keys]
    wide = dict(SMOLVLA, vit_hidden=1, image_size=16, vit_pixel_shuffle=16)  # the connector's rows: 256 values
    blocks = [(n, 14 if n == "mm.fc.weight" else dtype, shape, 0x3E) for n, dtype, shape in smolvla_tensors(wide)]
    return {
        "q6_k": gguf(name + [(k, t, wide.get(k[len("smolvla."):], v)) for k, t, v in keys], blocks),
        "smolvla": gguf([("general.architecture", STRING, "smolvla")] + name + keys, tensors),
        "no_general_architecture": gguf(name + keys[:5]), "unknown": gguf([("general.architecture", STRING, "pi")]),
        "architecture_is_a_number": gguf([("general.architecture", U32, 1)]), "inconsistent": gguf(name + other),
        "keys_of_other_types": gguf(name + [(k, I64, 1) for k, _, _ in keys]), "no_tensors": gguf(name + keys),
        "tensors_of_other_types": gguf(name + keys, [(n, 26, shape, fill) for n, _, shape, fill in tensors[:4]]),
        "tensors_of_other_shapes": gguf(name + keys, [(n, t, shape + [1, 2][:4 - len(shape)], fill)
                                                      for n, t, shape, fill in tensors[:4]]),
    }


def document_seeds():
    """For the model of tests/policy/small_model.h."""
    def data(n):
        return base64.b64encode(bytes([0, 0, 0, 0x3F]) * (n // 4)).decode()

    u8 = {"width": 2, "height": 2, "format": "rgb_u8", "data": data(12), "prepared": True}
    f32 = {"width": 2, "height": 2, "format": "rgb_f32", "data": data(48)}
    good = {"images": [u8, f32], "tokens": [1, 9], "state": [0.5, -1e-3], "state_units": "model",
            "action_units": "real", "noise": [0.25] * 6, "trace": ["prefix.*.k", "[a-c]?", ""]}
    grey = struct.pack(">IIBBBBB", 2, 1, 8, 0, 0, 0, 0)  # 2 x 1 pixels of 8 bits
    png = b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + kind + body +
                                         struct.pack(">I", zlib.crc32(kind + body)) for kind, body in
                                         [(b"IHDR", grey), (b"IDAT", zlib.compress(b"\0\1\2")), (b"IEND", b"")])
    picture = {"data": base64.b64encode(png).decode(), "name": "front"}
    embedded = {"image_embeddings": {"views": 1, "data": data(24)}, "tokens": [0], "seed": 7}
    documents = {
        "good": good, "embedded": embedded, "empty": {}, "reply": {"actions": [[1, 2.5], [-3e5, 4]], "seed": 1},
        "ragged_actions": {"actions": [[1, 2], [3]]}, "text_in_actions": {"actions": [["a"]]},
        "noise_and_seed": {"noise": [0] * 6, "seed": 1}, "unknown_field": {"imagse": []},
        "unknown_image_field": {"images": [dict(u8, hieght=2)]}, "short_data": {"images": [dict(u8, data="AAAA")]},
        "not_base64": {"images": [dict(u8, data="A!==")]}, "large_token": {"tokens": [10]},
        "many_tokens": {"tokens": [0] * 5}, "short_noise": {"noise": [1]}, "units": {"state_units": "furlongs"},
        "pictures": {"images": [picture, dict(picture, prepared=True), dict(u8, prepared=False, name="wrist")],
                     "text": "pick up the b\u00f6wl\n", "seed": 1},
        "path": {"images": [{"path": "front.png"}]}, "path_and_data": {"images": [dict(picture, path="front.png")]},
        "no_picture": {"images": [{"data": "AAAA"}]}, "no_image": {"images": [{}]}, "text_is_a_list": {"text": ["a"]},
        "number_for_text": {"trace": [1], "state": "1"}, "negative_seed": {"seed": -1},
    }
    out = {name: json.dumps(d).encode() for name, d in documents.items()}
    out["numbers"] = b'{"state": [1e999, -0.0, 1e-320, 1E+2, 123456789012345678901234567890]}'
    out["escapes"] = b'{"trace": ["\\u0000\\ud83d\\ude00\\n\\"", "\xc3\xa9"], "st\\u0061te": [1]}'
    out["twice"] = b'{"seed": 1, "seed": 2}'
    out["deep"] = b"[" * 100
    out["not_an_object"] = b"[1]"
    out["cut"] = out["good"][:100]
    return out


def tokenizer_seeds():
    """Some of the tests' tokenizers, and two in GGUF."""
    names = {"added": "added, lstrip,rstrip", "byte_level": "byte level False True", "digits": "digits together",
             "form": "NFKC", "metaspace": "metaspace first True", "replace": "replace by a pattern",
             "sentencepiece": "prepend and replace", "split": "split at vowels, MergedWithPrevious, invert True",
             "template": "tokens around, in a sequence", "whole_words": "words in the vocabulary"}
    parts = {part["name"]: part["tokenizer"] for part in json.loads(PARTS.read_text())}
    model = parts[names["byte_level"]]["model"]
    used = set("abcxy12!<>\u010a\u0120").union("".join(pair) for pair in model["merges"])  # of all 256 bytes
    model["vocab"] = {piece: i for piece, i in model["vocab"].items() if piece in used}
    out = {seed + ".json": json.dumps(parts[name], separators=(",", ":")).encode() for seed, name in names.items()}

    def keys(model, pieces, types):
        return [("general.architecture", STRING, "llama"), ("tokenizer.ggml.model", STRING, model),
                ("tokenizer.ggml.tokens", (ARRAY, STRING), pieces), ("tokenizer.ggml.token_type", (ARRAY, I32), types)]

    llama = ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "\u2581a", "ab", "<0x0A>"]
    scores = [0, 0, 0, -9, -9, -9, -3, -1, 0]
    out["llama.gguf"] = gguf(keys("llama", llama, [2, 3, 3, 1, 1, 1, 1, 1, 6]) +
                             [("tokenizer.ggml.scores", (ARRAY, F32), scores)])
    out["gpt2.gguf"] = gguf(keys("gpt2", ["a", "b", "\u0120", "ab", "\u0120a", "<s>"], [1, 1, 1, 1, 1, 3]) +
                            [("tokenizer.ggml.pre", STRING, "qwen2"), ("tokenizer.ggml.add_space_prefix", BOOL, 1),
                             ("tokenizer.ggml.merges", (ARRAY, STRING), ["a b", "\u0120 a"]),
                             ("tokenizer.ggml.bos_token_id", U32, 5), ("tokenizer.ggml.add_bos_token", BOOL, 1)])
    return out


def hub_seeds():
    """The name behind "hf:", a line end, a listing."""
    def file(path, lfs=False, **more):
        out = dict({"rfilename": path, "size": 6, "blobId": "ce013625030ba8dba906f756967f9e9ca394464a"}, **more)
        if lfs:
            out["lfs"] = {"sha256": "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", "size": 6}
        return out

    def seed(name, *files, **more):
        document = dict({"id": "u/r", "sha": "0123456789abcdef0123456789abcdef01234567", "siblings": files}, **more)
        return name.encode() + b"\n" + json.dumps(document, ensure_ascii=False).encode()

    checkpoint = [file("config.json"), file("a.safetensors", True), file("README.md"), file("t.model"),
                  file("sub/config.json"), file("sub/deep/m.gguf", True), file("sub/b.txt")]
    return {
        "file": seed("u/r/m.gguf", file("m.gguf", True)), "only_gguf": seed("u/r", file("m.gguf", True), *checkpoint),
        "checkpoint": seed("u/r@v1%2F2", *checkpoint), "folder": seed("u/r/sub/deep", *checkpoint),
        "not_a_checkpoint": seed("u/r/sub", *checkpoint), "near": seed("u/r/confg.json", *checkpoint),
        "far": seed("u/r/zzz", *checkpoint), "two": seed("u/r", file("a.gguf"), file("b.gguf")), "none": seed("u/r"),
        "up": seed("u/r", file("../a")), "absolute": seed("u/r", file("/a")), "empty_part": seed("u/r", file("a//b")),
        "control": seed("u/r", file("a\x1bb")), "nul": seed("u/r", file("a\0b")),
        "backslash": seed("u/r", file("a\\b")),
        "long": seed("u/r", file("a" * 201)), "letters": seed("u/r/\u00e9", file("\u00e9"), file("a b")),
        "no_size": seed("u/r", file("a", size=None)), "no_hash": seed("u/r", file("a", blobId="12")),
        "lfs_is_empty": seed("u/r", file("a", lfs={})), "no_commit": seed("u/r", sha="main"),
        "siblings": seed("u/r", siblings={}), "name": seed("../r"), "revision": seed("u/r@%", file("a")),
        "name_goes_up": seed("u/r/../a", file("a")), "not_json": b"u/r\n<html>",
    }


# Of a tensor's name in GGUF, one after the other: a part, and what a checkpoint has instead.
LEROBOT = [("token_embd", "T.embed_tokens"), ("vlm.output_norm", "T.norm"), ("aex.output_norm", "E.norm"),
           ("vlm.blk", "T.layers"), ("aex.blk", "E.layers"), ("vit.blk", "V.encoder.layers"),
           ("vit.patch_embd", "V.embeddings.patch_embedding"),
           ("vit.pos_embd", "V.embeddings.position_embedding.weight"), ("vit.post_ln", "V.post_layernorm"),
           ("mm.fc", "C.connector.modality_projection.proj"), ("attn_norm", "input_layernorm"),
           ("ffn_norm", "post_attention_layernorm"), (".ln", ".layer_norm"), (".fc1", ".mlp.fc1"),
           (".fc2", ".mlp.fc2"), ("attn_", "self_attn."), ("ffn_", "mlp.")]


def lerobot_name(name):
    if name.startswith(("action_", "state_")):
        return "model." + name
    for part, other in LEROBOT:
        name = name.replace(part, other)
    for part in "qkvo":
        out = "out" if part == "o" and name.startswith("V.") else part
        name = name.replace(f"self_attn.{part}.", f"self_attn.{out}_proj.")
    for part in ("gate", "up", "down"):
        name = name.replace(f"mlp.{part}.", f"mlp.{part}_proj.")
    vlm = "model.vlm_with_expert."
    for mark, place in [("T.", "vlm.model.text_model."), ("V.", "vlm.model.vision_model."), ("C.", "vlm.model."),
                        ("E.", "lm_expert.")]:
        if name.startswith(mark):
            return vlm + place + name[2:]


def lerobot_seeds():
    """What fuzz_lerobot cuts at bytes 0x01."""
    c = dict(SMOLVLA, head_dim=64, vit_hidden=64)  # a head is 64 wide in every checkpoint
    weights = [f"{lerobot_name(n)} {'F32' if t == F else 'BF16'} {' '.join(map(str, reversed(shape)))}"
               for n, t, shape in smolvla_tensors(c) if not n.endswith(("_mean", "_std"))]
    features = {"input_features": {"observation.state": {"type": "STATE", "shape": [1]},
                                   "observation.images.top": {"type": "VISUAL", "shape": [3, 2, 2]}},
                "output_features": {"action": {"type": "ACTION", "shape": [1]}}}
    same = ["chunk_size", "num_steps", "max_state_dim", "max_action_dim", "self_attn_every_n_layers",
            "tokenizer_max_length"]
    config = dict({"type": "smolvla", "resize_imgs_with_padding": [2, 2], "num_vlm_layers": c["n_layers"],
                   "min_period": 0.004, "max_period": 4.0, "expert_width_multiplier": 0.75,
                   "attention_mode": "cross_attn"},
                  **features, **{key: c[key] for key in same})
    one, two, most = struct.pack("<f", 1), struct.pack("<ff", 1, 2), (1 << 31) - 1

    def processors(mode, eps=1e-8, **renamed):
        rename = {"registry_name": "rename_observations_processor", "config": {"rename_map": renamed}}
        steps = [{"registry_name": name + "normalizer_processor", "state_file": "statistics.safetensors",
                  "config": {"eps": eps, "norm_map": {"STATE": mode, "ACTION": mode}}} for name in ("", "un")]
        return {"steps": [rename, steps[0]]}, {"steps": [steps[1]]}

    def statistics(*kinds):
        return [f"{feature}.{kind} F32 1" for feature in ("observation.state", "action") for kind in kinds]

    def seed(config, processors, statistics, weights, data):
        parts = [json.dumps(p, separators=(",", ":")) if p else "" for p in (config, *processors)]
        return b"\1".join([p.encode() for p in parts + ["\n".join(statistics), "\n".join(weights)]] + [data])

    plain, moments = processors("MEAN_STD"), statistics("mean", "std")
    old = [f"{owner}.buffer_{feature}.{kind} F32 1" for kind in ("mean", "std") for owner, feature in
           [("normalize_inputs", "observation_state"), ("unnormalize_outputs", "action")]]
    moved = dict(config, normalization_mapping={"STATE": "MEAN_STD", "ACTION": "MEAN_STD"})
    named = json.loads(json.dumps(config))
    named["input_features"]["observation.state"]["names"] = ["pan"]
    named["output_features"]["action"]["names"] = ["grip"]
    named["input_features"]["observation.images.empty_camera_0"] = {"type": "VISUAL"}

    def reshaped(part, shape, of=weights):
        """Weights, one of them with another shape."""
        return [f"{t.split()[0]} F32 {shape}" if part in t else t for t in of]

    learned = {k: v for k, v in config.items() if k not in ("resize_imgs_with_padding", "num_vlm_layers")}
    return {
        "smolvla": seed(config, plain, moments, weights, one), "old": seed(moved, ({}, {}), [], old + weights, one),
        "robots": seed(moved, ({}, {}), [], [t.replace(".buffer", ".so100_buffer") for t in old] + weights, one),
        "names": seed(named, processors("MEAN_STD", **{"observation.images.left": "observation.images.top"}), moments,
                      weights, one),
        "learned": seed(learned, plain, moments, weights, one),
        "huge_patches": seed(learned, plain, moments, reshaped("patch_embedding.weight", f"0 3 {most} {most}"), one),
        "huge_shuffle": seed(learned, plain, moments, reshaped("patch_embedding.weight", "1 0 0 0",
                                                               reshaped("connector", f"0 {most}")), one),
        "range": seed(config, processors("MIN_MAX"), statistics("min", "max"), weights, two),
        "no_width": seed(config, processors("QUANTILES"), statistics("q01", "q99"), weights, one),
        "identity": seed(config, processors("IDENTITY", 0.5), ["a F16 0 3"], weights, one),
        "zeros": seed(config, plain, moments, weights, b""),
        "not_finite": seed(config, plain, moments, weights, b"\xff"),
        "no_file": seed(config, plain, [], weights, one), "no_weights": seed(config, plain, moments, [], one),
        "few_weights": seed(config, plain, moments, weights[:30], one),
        "unknown": seed({"type": "act"}, plain, [], [], b""), "no_type": seed({"type": 1}, plain, [], weights[:1], one),
        "only_type": seed({"type": "smolvla"}, ({}, {}), [], weights[:1], one), "empty": b"\1" * 5,
    }


def safetensors_seeds():
    """Files, and an index of shards: what begins as JSON."""
    def file(header, data=0):
        raw = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
        return struct.pack("<Q", len(raw)) + raw + bytes(data)

    def tensor(dtype, shape, begin, end):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    whole = {"__metadata__": {"format": "pt"}, "a": tensor("F32", [2], 0, 8), "b": tensor("BF16", [1, 2], 8, 12),
             "s": tensor("I64", [], 12, 20), "n": tensor("F16", [0, 3], 20, 20)}
    types = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
             "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "C64": 64, "F64": 64,
             "U64": 64}
    at, every = 0, {}
    for name, size in types.items():
        every[name] = tensor(name, [8], at, at + size)
        at += size
    return {
        "whole": file(whole, 20), "types": file(every, at), "empty": file({}), "cut": file(whole, 19),
        "cut_in_header": file(whole)[:60],
        "padded": file(b'{"\\u00e4":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}} \n', 1),
        "hole": file({"a": tensor("U8", [1], 0, 1), "b": tensor("U8", [1], 2, 3)}, 3),
        "overlap": file({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 4, 8)}, 8),
        "overflow": file({"a": tensor("F32", [1 << 32, 1 << 32], 0, 0)}), "huge": struct.pack("<Q", 1 << 60) + b"{}",
        "nine_dims": file({"a": tensor("U8", [1] * 9, 0, 1)}, 1), "negative": file({"a": tensor("U8", [-1], 0, 1)}, 1),
        "unknown_type": file({"a": tensor("X", [1], 0, 1)}, 1), "metadata": file({"__metadata__": {"a": "\0", "b": 1}}),
        "twice": file(b'{"a":{},"a":{}}'),
        "index": b'{"metadata":{"total_size":4},"weight_map":{"a":"m-2","b":"m-1","c":"m-2"}}',
        "index_above": b'{"weight_map":{"a":"../m"}}', "index_empty": b'{"weight_map":{}}',
    }


for target, seeds in [("fuzz_gguf", gguf_seeds()), ("fuzz_model", model_seeds()), ("fuzz_document", document_seeds()),
                      ("fuzz_safetensors", safetensors_seeds()), ("fuzz_tokenizer", tokenizer_seeds()),
                      ("fuzz_hub", hub_seeds()), ("fuzz_lerobot", lerobot_seeds())]:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content)
