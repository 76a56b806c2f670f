#!/usr/bin/env python3
"""Builds LeRobot's own SmolVLAPolicy with made-up weights and saves it as LeRobot saves a trained one.

    make_smolvla.py tiny OUT        float32, under 2 MB; committed as tests/data/lerobot_smolvla
    make_smolvla.py full OUT        the published geometry, in the types that LeRobot trains and saves (about 1 GB)

OUT gets config.json, model.safetensors, policy_preprocessor.json, policy_postprocessor.json, their statistics
(*_normalizer_processor.safetensors) and the tokenizer.json that belongs to the language model.

Nothing is downloaded: the language model's directory, which LeRobot takes from the hub by name, is made here too, and
the hub name is redirected to it. A weight is a pure function of its name and index, the rule of src/tensor/synth.h."""
import argparse
import contextlib
import json
import math
import os
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import tokenizers
import torch
import transformers
from lerobot import __version__ as LEROBOT_VERSION
from lerobot.configs.policies import PreTrainedConfig
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.factory import make_pre_post_processors
from lerobot.policies.smolvla.configuration_smolvla import SmolVLAConfig
from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy

HUB_NAME = SmolVLAConfig.vlm_model_name
SEED = 0
STATE_DIM = ACTION_DIM = 6
CAMERAS = ("observation.images.wrist", "observation.images.front")  # not in the alphabet's order, on purpose
SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>", "<file_sep>",
                  "<filename>", "<gh_stars>", "<issue_start>", "<issue_comment>", "<issue_closed>", "<jupyter_start>",
                  "<jupyter_text>", "<jupyter_code>", "<jupyter_output>", "<jupyter_script>", "<empty_output>"]
IMAGE_TOKENS = ["<global-img>", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]
TINY_VOCAB = 512

SIZES = {
    "tiny": dict(
        vlm=dict(hidden=32, inter=64, heads=3, kv_heads=1, layers=6, vocab=TINY_VOCAB, vit_hidden=128, vit_inter=64,
                 vit_layers=2, vit_heads=2, image=64, patch=8, scale_factor=2),
        policy=dict(chunk_size=8, n_action_steps=8, num_vlm_layers=4, resize_imgs_with_padding=(64, 64)),
        dtype=torch.float32),
    "full": dict(
        vlm=dict(hidden=960, inter=2560, heads=15, kv_heads=5, layers=32, vocab=49280, vit_hidden=768, vit_inter=3072,
                 vit_layers=12, vit_heads=12, image=512, patch=16, scale_factor=4),
        policy={},
        dtype=torch.bfloat16),
}


def train_tokenizer(texts):
    """A small byte-level BPE with the steps, the special tokens and the byte alphabet of SmolLM2's, which lacks 21 of
    the 256 bytes: those vanish from a text, since there is no unknown token."""
    data = Path(__file__).resolve().parents[2] / "tests/data/tokenizers/smollm2.tokenizer.json"
    published = json.loads(data.read_text())["model"]["vocab"]
    alphabet = [piece for piece in published if len(piece) == 1]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=TINY_VOCAB - len(IMAGE_TOKENS), special_tokens=SPECIAL_TOKENS, initial_alphabet=alphabet,
        limit_alphabet=len(alphabet), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens(IMAGE_TOKENS)
    assert tokenizer.get_vocab_size() == TINY_VOCAB, tokenizer.get_vocab_size()
    return tokenizer


TRAINING_TEXTS = [
    "pick up the red cube and place it in the box", "put the black bowl on the plate", "open the middle drawer of the "
    "cabinet", "close the drawer", "fold the towel", "stack the green block on top of the blue block",
    "push the button", "grasp the peg and insert it into the hole", "pour the water into the cup",
    "turn on the stove and put the pot on it",
    "move the left arm to the home position", "wipe the table with the sponge", "hand the screwdriver to the person",
    "sort the 12 bolts by size", "put the lego brick into the transparent box", "take the bottle out of the basket",
    "räume den Tisch ab", "ouvre le tiroir à gauche", "coloca la taza sobre la mesa",
    "赤いブロックを箱に入れて", "把杯子放到盘子上",
    "возьми красный куб", "    indented    text", "wait 10 seconds, then go!",
]


def make_vlm(size, directory):
    """The directory that LeRobot would load from the hub: config, tokenizer and processor, no weights."""
    v = SIZES[size]["vlm"]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=train_tokenizer(TRAINING_TEXTS), bos_token="<|im_start|>", eos_token="<end_of_utterance>",
        pad_token="<|im_end|>", unk_token="<|endoftext|>", clean_up_tokenization_spaces=False,
        extra_special_tokens={"fake_image_token": "<fake_token_around_image>", "global_image_token": "<global-img>",
                              "image_token": "<image>", "end_of_utterance_token": "<end_of_utterance>"})
    text = dict(
        model_type="llama", hidden_size=v["hidden"], intermediate_size=v["inter"], num_attention_heads=v["heads"],
        num_key_value_heads=v["kv_heads"], head_dim=64, num_hidden_layers=v["layers"], vocab_size=v["vocab"],
        rms_norm_eps=1e-5, rope_theta=100000.0, max_position_embeddings=8192, tie_word_embeddings=False,
        bos_token_id=1, eos_token_id=2, pad_token_id=2)
    vision = dict(
        hidden_size=v["vit_hidden"], intermediate_size=v["vit_inter"], num_hidden_layers=v["vit_layers"],
        num_attention_heads=v["vit_heads"], image_size=v["image"], patch_size=v["patch"],
        hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6)
    config = transformers.SmolVLMConfig(
        text_config=text, vision_config=vision, scale_factor=v["scale_factor"], tie_word_embeddings=False,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"), pad_token_id=2)
    config.architectures = ["SmolVLMForConditionalGeneration"]
    config.save_pretrained(directory)
    processor = transformers.SmolVLMProcessor(
        transformers.SmolVLMImageProcessor(), tokenizer, transformers.SmolVLMVideoProcessor())
    processor.save_pretrained(directory)


@contextlib.contextmanager
def hub(directory, dtype):
    """Loads of the language model's hub name come from `directory` while this lasts."""
    classes = (transformers.AutoConfig, transformers.AutoTokenizer, transformers.AutoProcessor)
    originals = [cls.from_pretrained for cls in classes]

    def redirect(original):
        return lambda name, *args, **kw: original(directory if name == HUB_NAME else name, *args, **kw)

    def model(name, **kw):  # as from_pretrained(torch_dtype="bfloat16") does, without weights
        assert name == HUB_NAME
        config = transformers.AutoConfig.from_pretrained(directory)
        for part in (config, config.text_config, config.vision_config):
            part.dtype = dtype
        return transformers.AutoModelForImageTextToText.from_config(config)

    original_model = transformers.AutoModelForImageTextToText.from_pretrained
    try:
        for cls, original in zip(classes, originals):
            cls.from_pretrained = redirect(original)
        transformers.AutoModelForImageTextToText.from_pretrained = model
        yield
    finally:
        for cls, original in zip(classes, originals):
            cls.from_pretrained = original
        transformers.AutoModelForImageTextToText.from_pretrained = original_model


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def noise(name, count, seed=SEED):
    """float32 in [-1, 1), the rule of src/tensor/synth.h."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed ^ fnv1a64(name.encode()))
        z = z + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0).astype(np.float32)


GAINS = {"q_proj": 1.25, "k_proj": 1.25, "o_proj": 0.5, "out_proj": 0.5, "down_proj": 0.5, "fc2": 0.5,
         "action_out_proj": 0.15}


def weight(name, shape):
    """Matrices of fan-in scale, norms around 1, small biases. What closes a residual branch and the velocity is
    smaller, so that errors don't grow through layers and steps: trained policies don't amplify rounding either."""
    offset, scale = 0.0, 0.05
    if "norm" in name and name.endswith("weight"):
        offset, scale = 1.0, 0.2
    elif "position_embedding" in name:
        scale = 0.5
    elif "embed_tokens" in name:
        scale = math.sqrt(3.0 / shape[1])  # LeRobot multiplies what it embeds by sqrt(hidden)
    elif "modality_projection" in name:
        scale = math.sqrt(3.0 / shape[1] / shape[0])
    elif len(shape) > 1:
        scale = GAINS.get(name.split(".")[-2], 1.0) * math.sqrt(3.0 / math.prod(shape[1:]))
    values = np.float32(offset) + np.float32(scale) * noise(name, math.prod(shape))
    return torch.from_numpy(values.reshape(shape))


def statistics():
    """What a data set's meta.stats has: every statistic for every feature, also for those that no policy normalises."""
    def one(name, shape, mean, std):
        centre = mean + std * noise(name + ".centre", math.prod(shape)).reshape(shape)
        width = std * (1.25 + noise(name + ".width", math.prod(shape)).reshape(shape))
        stats = dict(mean=centre, std=width, min=centre - 2.5 * width, max=centre + 3 * width, q01=centre - 2 * width,
                     q10=centre - 1.25 * width, q50=centre + 0.125 * width, q90=centre + 1.5 * width,
                     q99=centre + 2.25 * width)
        return {key: value.astype(np.float32) for key, value in stats.items()} | {"count": np.array([20000])}

    return {
        "action": one("action", (ACTION_DIM,), 0.25, 0.75),
        "observation.state": one("observation.state", (STATE_DIM,), 10.0, 20.0),
        **{camera: one(camera, (3, 1, 1), 0.5, 0.1) for camera in CAMERAS},
        "timestamp": one("timestamp", (1,), 8.0, 4.0),
    }


def make_config(size):
    inputs = {CAMERAS[0]: PolicyFeature(FeatureType.VISUAL, (3, 480, 640)),
              "observation.state": PolicyFeature(FeatureType.STATE, (STATE_DIM,)),
              CAMERAS[1]: PolicyFeature(FeatureType.VISUAL, (3, 480, 640))}
    outputs = {"action": PolicyFeature(FeatureType.ACTION, (ACTION_DIM,))}
    fixed = {"input_features": inputs, "output_features": outputs, "device": "cpu", "push_to_hub": False,
             "load_vlm_weights": True}
    return SmolVLAConfig(**(fixed | SIZES[size]["policy"]))


def make_policy(size, directory):
    """The policy with its weights, and the two processors. `directory` is that of make_vlm()."""
    with hub(directory, SIZES[size]["dtype"]):
        config = make_config(size)
        policy = SmolVLAPolicy(config)
        processors = make_pre_post_processors(config, dataset_stats=statistics())
    with torch.no_grad():
        for name, tensor in policy.state_dict().items():
            tensor.copy_(weight(name, tuple(tensor.shape)))
    return policy.eval(), *processors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as vlm:
        make_vlm(args.size, vlm)
        policy, pre, post = make_policy(args.size, vlm)
        for part in (policy, pre, post):
            part.save_pretrained(args.out)
        Path(args.out, "tokenizer.json").write_bytes(Path(vlm, "tokenizer.json").read_bytes())


if __name__ == "__main__":
    main()
