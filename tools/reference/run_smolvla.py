#!/usr/bin/env python3
"""Runs the policies of make_smolvla.py in PyTorch float32 on the CPU and writes the goldens under tests/data.

    run_smolvla.py tiny DIR OUT     lerobot_smolvla.json, lerobot_instructions.json, lerobot_normalize.json
    run_smolvla.py full DIR OUT     lerobot_smolvla_full.json

DIR is what make_smolvla.py saved; everything is loaded from it by LeRobot. Each case goes the way a robot's observation
goes: bytes to [0,1], LeRobot's preprocessor, predict_action_chunk, its postprocessor.

The vision tower's positions: LeRobot runs the tower in bfloat16, where patch (row, column) takes entry row * side +
column of the position table. In float32 transformers 4.57 takes its upper left neighbour's (the first row and column
keep their own), since row / side * (1 - 1e-6) falls below the bucket's edge. That is an accident of float32 and no
policy was trained with it on purpose, so the tower's embedding is replaced here by the plain sum."""
import argparse
import hashlib
import json
import tempfile
from pathlib import Path

import make_smolvla as made
import numpy as np
import torch
from lerobot.configs.types import FeatureType, NormalizationMode, PolicyFeature
from lerobot.policies.factory import make_pre_post_processors
from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy
from lerobot.policies.utils import prepare_observation_for_inference
from lerobot.processor import NormalizerProcessorStep, UnnormalizerProcessorStep
from transformers.models.smolvlm.modeling_smolvlm import SmolVLMVisionEmbeddings

WRIST, FRONT = made.CAMERAS
TENSORS_IN_BF16 = ("_proj.weight", "fc1.weight", "fc2.weight", "embed_tokens.weight", "modality_projection.proj.weight")


def plain_embedding(self, pixel_values, patch_attention_mask):
    patches = self.patch_embedding(pixel_values).flatten(2).transpose(1, 2)
    return patches + self.position_embedding.weight


def check_positions():
    """In bfloat16 the tower's own embedding is the plain one."""
    config = made.transformers.models.smolvlm.SmolVLMVisionConfig(hidden_size=4, image_size=512, patch_size=16)
    table = SmolVLMVisionEmbeddings(config).to(torch.bfloat16)
    with torch.no_grad():
        table.patch_embedding.weight.zero_()
        table.patch_embedding.bias.zero_()
        pixels = torch.zeros(1, 3, 512, 512, dtype=torch.bfloat16)
        theirs = table(pixels, torch.ones(1, 32, 32, dtype=torch.bool))
        assert torch.equal(theirs, plain_embedding(table, pixels, None))


def frame(width, height, seed):
    """Pixel bytes by formula, [height, width, 3]."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    return ((x * (3 + c) + y * (5 + 2 * c) + 37 * seed) ^ (x * y >> 4)).astype(np.uint8)


CASES = [
    dict(name="base", frames={WRIST: (64, 64, 1), FRONT: (64, 64, 2)},
         task="pick up the red cube and place it in the box",
         state=[12.5, -31.25, 47.0, 8.75, -3.5, 22.0], noise="noise"),
    dict(name="padded", frames={WRIST: (80, 48, 3), FRONT: (45, 60, 4)}, task="räume den Tisch ab\n",
         state=[-60.0, 15.5, 3.25, 88.0, 0.0, 41.5], noise="noise.padded"),
    dict(name="enlarged", frames={WRIST: (32, 24, 5), FRONT: (101, 67, 6)}, task="",
         state=[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], noise="noise.enlarged"),
    dict(name="long", frames={WRIST: (64, 64, 7), FRONT: (160, 120, 8)},
         task="take the 3rd bottle out of the basket, " * 6 + "then stop",
         state=[1.5, 2.5, -3.5, 4.5, -5.5, 6.5], noise="noise.long"),
    dict(name="wrist_only", frames={WRIST: (64, 64, 1)}, task="close the drawer",
         state=[12.5, -31.25, 47.0, 8.75, -3.5, 22.0], noise="noise"),
    dict(name="front_only", frames={FRONT: (64, 64, 2)}, task="close the drawer",
         state=[12.5, -31.25, 47.0, 8.75, -3.5, 22.0], noise="noise"),
    dict(name="empty_camera", frames={WRIST: (64, 64, 1), FRONT: (64, 64, 2)}, empty_cameras=1,
         task="pick up the red cube and place it in the box",
         state=[12.5, -31.25, 47.0, 8.75, -3.5, 22.0], noise="noise"),
    dict(name="base_bf16_matrices", like="base", rounded="matrices"),
]

FULL_CASES = [
    dict(name="full_1view", frames={WRIST: (512, 512, 1)}, task="pick up the red cube and place it in the box",
         state=[12.5, -31.25, 47.0, 8.75, -3.5, 22.0], noise="noise"),
    dict(name="full_2views", frames={WRIST: (512, 512, 1), FRONT: (640, 480, 2)},
         task="pick up the red cube and place it in the box",
         state=[12.5, -31.25, 47.0, 8.75, -3.5, 22.0], noise="noise"),
]


def floats(tensor):
    return [float(f"{value:.9g}") for value in tensor.detach().double().flatten().tolist()]


def sample(tensor, most):
    """The shape and every stride-th element, in row order, of at most `most`."""
    count = tensor.numel()
    stride = -(-count // most)
    while stride > 1 and tensor.shape[-1] % stride == 0:  # never the same columns only
        stride += 1
    return {"shape": list(tensor.shape), "stride": stride, "values": floats(tensor.flatten()[::stride])}


class Recorder:
    """Keeps what the policy's stages give while it runs."""

    def __init__(self, policy):
        self.stages = {"vision": [], "keys": {}, "values": {}, "x": []}
        model, both = policy.model, policy.model.vlm_with_expert
        self.wrap(both, "embed_image", lambda args, out: self.stages["vision"].append(out[0]))
        self.wrap(model, "embed_prefix", self.prefix)
        self.wrap(both, "forward", self.cache)
        self.wrap(model, "denoise_step", self.step)
        self.wrap(model, "sample_actions", lambda args, out: self.stages["x"].append(out[0]))

    @staticmethod
    def wrap(owner, name, keep):
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            out = original(*args, **kwargs)
            keep(kwargs, out)
            return out
        setattr(owner, name, wrapped)

    def prefix(self, args, out):
        embeddings, real, _ = out
        self.stages["prefix"] = embeddings[0][real[0]]
        self.real = real[0]

    def cache(self, args, out):
        if args["fill_kv_cache"]:
            for layer in (0, max(out[1])):
                self.stages["keys"][layer] = out[1][layer]["key_states"][0][self.real]
                self.stages["values"][layer] = out[1][layer]["value_states"][0][self.real]

    def step(self, args, out):
        self.stages.setdefault("velocity", out[0])
        self.stages["x"].append(args["x_t"][0])


def round_to_bf16(policy):
    with torch.no_grad():
        for name, tensor in policy.state_dict().items():
            projection = name.startswith("model.") and name.count(".") == 2  # state_proj, action_in_proj and their like
            if name.endswith(TENSORS_IN_BF16) and not projection:
                tensor.copy_(tensor.bfloat16().float())


def load(directory, vlm, dtype, case):
    """The saved policy and processors, as LeRobot loads them, then in float32."""
    with made.hub(vlm, dtype):
        config = made.PreTrainedConfig.from_pretrained(directory)
        config.empty_cameras = case.get("empty_cameras", 0)
        policy = SmolVLAPolicy.from_pretrained(directory, config=config, strict=True).float().eval()
        pre, post = make_pre_post_processors(config, pretrained_path=directory)
    if "rounded" in case:
        round_to_bf16(policy)
    return policy, pre, post


def run(case, directory, vlm, dtype, most):
    policy, pre, post = load(directory, vlm, dtype, case)
    config, recorder = policy.config, Recorder(policy)
    noise = made.noise(case["noise"], config.chunk_size * config.max_action_dim) * np.float32(1.7320508)
    noise = torch.from_numpy(noise).reshape(1, config.chunk_size, config.max_action_dim)
    raw = {key: frame(*spec) for key, spec in case["frames"].items()}
    raw["observation.state"] = np.array(case["state"], dtype=np.float32)
    batch = pre(prepare_observation_for_inference(raw, torch.device("cpu"), case["task"]))
    normalised = policy.predict_action_chunk(batch, noise=noise)
    actions = post(normalised)
    stages = recorder.stages
    steps = stages["x"][1:]
    last = stages["x"][-1]
    print(case["name"], "tokens", batch["observation.language.tokens"].shape[1], "actions", actions.abs().max().item(),
          "vision", stages["vision"][0].std().item(), "prefix", stages["prefix"].std().item(), "velocity",
          stages["velocity"].std().item(), "x", last.std().item())
    return {
        "name": case["name"],
        "frames": [{"camera": key, "width": width, "height": height, "seed": seed}
                   for key, (width, height, seed) in case["frames"].items()],
        "empty_cameras": config.empty_cameras, "rounded": case.get("rounded", "nothing"),
        "task": case["task"], "state": case["state"], "noise": floats(noise),
        "tokens": batch["observation.language.tokens"][0].tolist(),
        "attention_length": int(batch["observation.language.attention_mask"].sum()),
        "state_normalised": floats(batch["observation.state"]),
        "vision": [sample(view, most) for view in stages["vision"]],
        "prefix": sample(stages["prefix"], most),
        "keys": {str(layer): sample(value, most // 2) for layer, value in stages["keys"].items()},
        "values": {str(layer): sample(value, most // 2) for layer, value in stages["values"].items()},
        "velocity_0": sample(stages["velocity"], most),
        "x_after_step": [sample(x, most // 2) for x in steps],
        "actions_normalised": floats(normalised), "actions": floats(actions),
        "actions_shape": list(actions.shape[1:]),
    }


def run_cases(cases, directory, vlm, dtype, most):
    out, by_name = [], {case["name"]: case for case in cases}
    for case in cases:
        case = by_name[case["like"]] | case if "like" in case else case
        out.append(run(case, directory, vlm, dtype, most if case["name"] == "base" else most // 4))
    return out


INSTRUCTIONS = Path(__file__).with_name("instructions.json")


def tokenize_instructions(directory, vlm):
    """LeRobot's newline rule, tokenizer step and truncation, one text at a time (so without padding). The published
    tokenizer may say truncation_side left, so both ways are there where they differ."""
    with made.hub(vlm, torch.float32):
        config = made.PreTrainedConfig.from_pretrained(directory)
        pre, _ = make_pre_post_processors(config, pretrained_path=directory)
    step = next(s for s in pre.steps if hasattr(s, "input_tokenizer"))
    out = []
    for text in json.loads(INSTRUCTIONS.read_text()):
        entry = {"text": text}
        for side in ("right", "left"):
            step.input_tokenizer.truncation_side = side
            raw = {"observation.state": np.zeros(made.STATE_DIM, dtype=np.float32)}
            batch = pre(prepare_observation_for_inference(raw, torch.device("cpu"), text))
            entry[side] = batch["observation.language.tokens"][0].tolist()
            assert batch["observation.language.attention_mask"].all()
        if entry["left"] == entry["right"]:
            del entry["left"]
        out.append({"text": text, "ids": entry["right"]} | ({"ids_left": entry["left"]} if "left" in entry else {}))
    return out


def normalisers():
    """Every mode of LeRobot's normaliser on its own; a constant column and small deviations are among them."""
    stats = {"mean": [1.5, -20.0, 0.0, 3.0], "std": [0.25, 12.0, 1e-7, 0.01], "min": [-1.0, -90.0, 2.0, 2.9],
             "max": [2.0, 85.0, 2.0, 3.1], "q01": [-0.5, -80.0, 2.0, 2.95], "q10": [0.0, -55.0, 2.0, 2.97],
             "q90": [1.75, 60.0, 2.0, 3.03], "q99": [1.9, 80.0, 2.0, 3.05]}
    raw = torch.tensor([[1.5, -20.0, 2.0, 3.0], [0.1, 33.3, 1e-7, 3.07], [-4.0, 200.0, 5.0, -1.0]])
    model = torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 0.5, 0.1], [-1.3, 2.7, -0.9, 1.1]])
    out = {"stats": stats, "eps": 1e-8, "raw": raw.tolist(), "model": model.tolist(), "modes": {}}
    tensors = {key: np.array(value, dtype=np.float32) for key, value in stats.items()}
    for mode in NormalizationMode:
        features = {"observation.state": PolicyFeature(FeatureType.STATE, (4,)),
                    "action": PolicyFeature(FeatureType.ACTION, (4,))}
        args = dict(features=features, norm_map={FeatureType.STATE: mode, FeatureType.ACTION: mode},
                    stats={"observation.state": tensors, "action": tensors})
        forward, back = NormalizerProcessorStep(**args), UnnormalizerProcessorStep(**args)
        normalised = forward._normalize_observation({"observation.state": raw}, inverse=False)["observation.state"]
        out["modes"][mode.value] = {
            "raw_to_model": floats(normalised),
            "model_to_raw": floats(back._normalize_action(model, inverse=True))}
    return out


def old_statistics():
    """The tensors that LeRobot before 0.4 kept inside model.safetensors in place of the policy_*.json files."""
    stats, plain = made.statistics(), {}
    for prefix, feature in (("normalize_inputs", "observation.state"), ("normalize_targets", "action"),
                            ("unnormalize_outputs", "action")):
        for key in ("mean", "std"):
            plain[f"{prefix}.buffer_{feature.replace('.', '_')}.{key}"] = floats(torch.from_numpy(stats[feature][key]))
    prefixed = {}
    for name, values in plain.items():
        for scale, data_set in ((1, "so100"), (2, "so100-blue")):
            prefixed[name.replace(".buffer_", f".{data_set}_buffer_")] = [value * scale for value in values]
    return {"plain": plain, "prefixed_by_data_set": prefixed}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("size", choices=made.SIZES)
    parser.add_argument("directory")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)
    check_positions()
    SmolVLMVisionEmbeddings.forward = plain_embedding
    head = {"reference": f"lerobot {made.LEROBOT_VERSION}, transformers {made.transformers.__version__}, torch "
                         f"{torch.__version__.split('+')[0]}, CPU, float32",
            "model_sha256": sha256(Path(args.directory, "model.safetensors")),
            "pixel": "((x*(3+c) + y*(5+2c) + 37*seed) ^ (x*y >> 4)) & 255"}
    with tempfile.TemporaryDirectory() as vlm:
        made.make_vlm(args.size, vlm)
        dtype = made.SIZES[args.size]["dtype"]
        if args.size == "full":
            cases = run_cases(FULL_CASES, args.directory, vlm, dtype, 1200)
            write(args.out / "lerobot_smolvla_full.json", head | {"cases": cases})
            return
        cases = run_cases(CASES, args.directory, vlm, dtype, 512)
        write(args.out / "lerobot_smolvla.json", head | {"cases": cases, "old_statistics": old_statistics()})
        write(args.out / "lerobot_instructions.json", tokenize_instructions(args.directory, vlm))
        write(args.out / "lerobot_normalize.json", normalisers())


if __name__ == "__main__":
    main()
