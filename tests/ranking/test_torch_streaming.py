"""The search in PyTorch, on CPU tensors: the results of numba's, to the bit, and of the exhaustive one."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radii.cli import main
from radii.data import demo
from radii.data.embeddings import Embeddings
from radii.errors import MissingExtraError, NumericalError
from radii.ranking import backends, search
from radii.ranking.candidates import find_candidates
from radii.ranking.family import Affine, Family
from radii.ranking.path import ExponentPath, exponent_path
from radii.ranking.search import Search, Sizes
from tests.cases import corpora
from tests.ranking.test_streaming import assert_same, gaussian

torch = pytest.importorskip("torch")

from radii.ranking import devices, segments, streaming, torch_streaming  # noqa: E402

NUMBA = Search("numba")


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Threads of PyTorch wait by spinning: several on shared processors are slower than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def families_of(docs, queries, seed=0):
    """One of each kind."""
    rng = np.random.default_rng(seed)
    n, m = len(docs), len(queries)
    affine = Affine(rng.normal(0, 0.2, (m, 2)), rng.normal(0, 0.2, (n, 2)), rng.uniform(0, 2, n))
    return [
        Family.power(docs.norms),
        Family.power(rng.integers(1, 9, n), base=rng.normal(0, 0.3, n)),
        Family.bias(rng.normal(0, 0.2, n)),
        Family.fixed(affine),
        Family(np.log(docs.norms), affine=affine),
    ]


def paths(docs, queries, families, k, gammas, how, excluded=None):
    docs, queries = Embeddings.of(docs), Embeddings.of(queries)
    excluded = np.full(len(queries), -1) if excluded is None else excluded
    found = find_candidates(docs, queries, families, k, gammas, excluded, how)
    return [
        ExponentPath(docs, queries, k, gammas, family, own)
        for family, own in zip(families, found, strict=True)
    ]


def judgements(n, m, seed):
    rng = np.random.default_rng(seed)
    return {str(q): {str(d): int(rng.integers(1, 3)) for d in rng.integers(n, size=3)} for q in range(m)}


def assert_identical(one, other, seed=0):
    """Tops anywhere, breakpoints and the steps of a metric, to the bit."""
    low, high = one.gamma_range
    n, m = len(one.docs), len(one.queries)
    for row in range(m):
        at = one.breakpoints(row)
        assert at.tolist() == other.breakpoints(row).tolist()
        for gamma in [low, high, *at, *np.random.default_rng(seed).uniform(low, high, 4)]:
            assert one.top(row, gamma).tolist() == other.top(row, gamma).tolist()
            assert one.scores(row, gamma).tolist() == other.scores(row, gamma).tolist()
    qrels = judgements(n, m, seed)
    mine, theirs = (path.metric(f"nDCG@{path.k}", qrels) for path in (one, other))
    assert mine.edges.tolist() == theirs.edges.tolist()
    assert mine.values.tolist() == theirs.values.tolist()


@settings(max_examples=60)
@given(
    corpora(),
    st.sampled_from(["f2", "f4", "f8"]),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 6),
    st.booleans(),
)
def test_small_and_nasty(case, dtype, block, queries, segments, nodes, exclude):
    """Ties, duplicates, zeros, all-negative queries, wild norms, fewer documents than k; every family."""
    sizes = Sizes(block=block, queries=queries, first=2, segments=segments, nodes=nodes)
    lengths = np.linalg.norm(case.docs, axis=1)
    if dtype == "f2" and not (lengths.min() > 1e-3 and lengths.max() < 6e4):
        dtype = "f4"  # half precision holds no such row
    docs, asked = (Embeddings.of(part.astype(dtype)) for part in (case.docs, case.queries))
    excluded = np.arange(len(asked)) % len(docs) if exclude else None
    families = families_of(docs, asked, case.seed)
    gammas = case.low, case.high
    ours = paths(docs, asked, families, case.k, gammas, Search("torch", sizes), excluded)
    theirs = paths(docs, asked, families, case.k, gammas, Search("numba", sizes), excluded)
    plain = paths(docs, asked, families, case.k, gammas, None, excluded)
    for one, other, exact in zip(ours, theirs, plain, strict=True):
        assert_identical(one, other, case.seed)
        assert_same(exact, one, len(asked), case.seed)
        assert all((np.diff(one.candidates.rows[one.candidates.of(q)]) > 0).all() for q in range(len(asked)))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    "sizes",
    [None, Sizes(block=700, queries=7, first=300, segments=16), Sizes(nodes=4, segments=1, block=97)],
    ids=str,
)
def test_larger_corpora_however_the_work_is_cut(dtype, sizes):
    docs, queries = (Embeddings.of(part) for part in gaussian(2000, 4, 24, dtype))
    families = families_of(docs, queries)
    ours, theirs = (
        paths(docs, queries, families, 10, (-1.0, 1.0), how, np.arange(4))
        for how in (Search("torch", sizes), NUMBA)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert_identical(one, other)
        if sizes is None:  # both prune as hard, but for the k-th bound, which numba has a little lower
            assert len(one.candidates.rows) < 1.02 * len(other.candidates.rows) + 20


def test_against_the_exhaustive_search():
    docs, queries = gaussian(3000, 12, 24, "f4")
    slow = exponent_path(docs, queries, k=10, exclude_self=True)
    fast = exponent_path(docs, queries, k=10, exclude_self=True, search=Search("torch"))
    assert_same(slow, fast, 12)
    assert len(fast.candidates.rows) < 1.1 * len(slow.candidates.rows)


def test_wild_norms_and_many_thousand_times_steeper_lines():
    docs, queries = gaussian(2500, 6, 12, "f8")
    docs *= 10.0 ** np.random.default_rng(1).uniform(-60, 60, size=(2500, 1))
    fast = exponent_path(docs, queries, k=10, search=Search("torch", Sizes(block=500)))
    assert_same(exponent_path(docs, queries, k=10), fast, 6)


def test_equal_scores_are_ranked_steeper_first_then_by_row():
    docs = np.array([[1.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    path = exponent_path(docs, np.array([[3.0, 0.0]]), k=3, search=Search("torch"))
    assert path.top(0, 0.0).tolist() == [1, 2, 0]
    assert path.top(0, -1.0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("small", ["_HEIGHTS", "_PENDING"])
def test_copies_fit_in_small_pieces(monkeypatch, small):
    """Every document ties with 39 others: entries are pruned in many groups, or as soon as some wait."""
    rng = np.random.default_rng(0)
    docs = np.repeat(rng.normal(size=(30, 8)) + 1, 40, axis=0)
    queries = rng.normal(size=(5, 8)) + 1
    families = [Family.power(np.linalg.norm(docs, axis=1))]
    monkeypatch.setattr(torch_streaming, small, 50)
    [ours] = paths(docs, queries, families, 4, (-1.0, 1.0), Search("torch", Sizes(block=64, first=64)))
    [theirs] = paths(docs, queries, families, 4, (-1.0, 1.0), NUMBA)
    assert ours.candidates.rows.tolist() == theirs.candidates.rows.tolist()
    assert ours.candidates.cosines.tolist() == theirs.candidates.cosines.tolist()


def test_queries_without_enough_positive_cosines():
    docs, queries = gaussian(2000, 6, 12, "f4", shift=1.5)
    queries[::2] *= -1.0
    slow = exponent_path(docs, queries, k=10)
    assert_same(slow, exponent_path(docs, queries, k=10, search=Search("torch")), 6)


def test_a_query_at_right_angles_to_all_is_given_up_before_all_are_kept(monkeypatch):
    docs = np.random.default_rng(0).normal(size=(9000, 4))
    docs[:, 0] = 0.0
    queries = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    kept = []
    compact = torch_streaming.Buffer.compact
    monkeypatch.setattr(
        torch_streaming.Buffer,
        "compact",
        lambda self, last=False: (compact(self, last), kept.append(int((self.parts[0][0] == 0).sum())))[0],
    )
    fast = exponent_path(docs, queries, k=5, search=Search("torch", Sizes(block=1000)))
    assert_same(exponent_path(docs, queries, k=5), fast, 2)
    assert len(kept) > 5
    assert max(kept) < 5000


# Precision -----------------------------------------------------------------------------------------------


def precision():
    return torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32


@pytest.fixture(params=["highest", "high", "medium"])
def asked_for(request):
    """A process that asked for this precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(request.param)
    yield request.param
    torch.set_float32_matmul_precision(before)


def test_products_are_float32_whatever_the_process_asked_for(asked_for):
    """`medium` is bfloat16 on processors that have it; autocast is anywhere."""
    docs, queries = gaussian(600, 5, 64, "f4")
    before = precision()
    families = [Family.power(np.linalg.norm(docs, axis=1))]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        [ours] = paths(docs, queries, families, 5, (-1.0, 1.0), Search("torch"))
        assert torch.is_autocast_enabled("cpu")
    assert precision() == before
    assert_identical(ours, paths(docs, queries, families, 5, (-1.0, 1.0), NUMBA)[0])


def test_settings_come_back_after_an_exception(asked_for):
    docs, queries = gaussian(600, 5, 8, "f4")
    before, inside = precision(), []

    def stop(done, total):
        inside.append((torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")))
        raise KeyboardInterrupt

    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(KeyboardInterrupt):
        exponent_path(docs, queries, k=5, search=Search("torch"), progress=stop)
    assert inside == [(True, False)]
    assert precision() == before
    assert not torch.is_inference_mode_enabled()


def test_inside_both_settings_are_ieee(asked_for):
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        pytest.skip("torch before 2.9 has one setting for both")
    with devices.full_precision("cpu"):
        assert torch.backends.cuda.matmul.fp32_precision == "ieee"
        assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"


def test_before_torch_2_9_one_setting_does_for_both(asked_for, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "matmul", object())
    with devices.full_precision("cpu"):
        assert torch.get_float32_matmul_precision() == "highest"
    assert torch.get_float32_matmul_precision() == asked_for


def test_the_margin_of_changed_cosines_covers_their_rounding():
    """Scales of 100 make sums round a hundred times as far as a cosine does."""
    rng = np.random.default_rng(0)
    cosines, queries = rng.uniform(-1, 1, (20, 2000)), np.arange(20)
    affine = Affine(rng.normal(size=(20, 2)), rng.normal(size=(2000, 2)), rng.uniform(50, 100, 2000))
    family = Family.fixed(affine)
    error = segments.rounding(4)
    arm = torch_streaming.Arm(family, np.array([0.0]), 4, error, torch.device("cpu"))
    single = torch.tensor(cosines, dtype=torch.float32)
    found = arm.similarities(single, slice(0, 20), slice(0, 2000)).numpy().astype(np.float64)
    off = np.abs(found - family.similarities(cosines, queries)).max()
    assert error < off < arm.error


def test_a_product_of_less_precision_is_refused():
    rng = np.random.default_rng(0)
    left, right = (
        torch.nn.functional.normalize(torch.tensor(rng.normal(size=(70, 64)), dtype=torch.float32))
        for _ in range(2)
    )
    error = segments.rounding(64)
    devices.check_product(left @ right.T, left, right, error)
    with pytest.raises(NumericalError, match="--backend numba"):
        devices.check_product((left.bfloat16() @ right.bfloat16().T).float(), left, right, error)


# Choice --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"), [(1, 1, "cuda"), (1, 0, "cuda"), (0, 1, "mps"), (0, 0, "cpu")]
)
def test_device(monkeypatch, cuda, mps, chosen):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(cuda))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: bool(mps))
    assert devices.choose_device().type == chosen


@pytest.mark.parametrize("cuda", [True, False])
def test_auto_is_torch_only_with_cuda(monkeypatch, cuda):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    expected = torch_streaming.stream if cuda else streaming.stream
    assert backends.streaming("auto", 10**10) is expected
    assert backends.streaming("numba", 10**10) is streaming.stream
    assert backends.streaming("torch", 1) is torch_streaming.stream


@pytest.mark.parametrize(("pairs", "looks"), [(10**8, False), (10**9, True)])
def test_auto_looks_for_a_device_only_where_it_is_worth_importing_torch(pairs, looks):
    code = (
        "import sys; from radii.ranking.backends import streaming; "
        f"streaming('auto', {pairs}); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{looks}\n"


def test_auto_without_torch_is_numba(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "torch")
    assert backends.streaming("auto", 10**10) is streaming.stream


def test_torch_that_is_missing(monkeypatch):
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'radii\[torch\]'"):
        Search("torch")


# Command -------------------------------------------------------------------------------------------------


@pytest.fixture
def path_of_demo(monkeypatch, capsys):
    """Exit code, standard output and standard error of `radii path` on the bundled data with a backend."""
    files = demo.paths()

    def call(backend):
        words = ["path", files.vectors, "--queries", files.vectors, "--qrels", files.qrels, "--exclude-self"]
        monkeypatch.setattr(sys, "argv", ["radii", *map(str, words), "--backend", backend])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


def assert_one_line(err, *fragments):
    assert err.startswith("radii: ")
    assert err[:-1].isprintable()
    for fragment in fragments:
        assert fragment in err


def test_command_writes_the_same_bytes(path_of_demo):
    code, ours, err = path_of_demo("torch")
    assert code == 0, err
    assert ours == path_of_demo("numba")[1]
    assert len(ours) > 1000


def test_command_refuses_an_unknown_backend(path_of_demo):
    code, out, err = path_of_demo("cuda")
    assert (code, out) == (2, "")
    assert_one_line(err, "'cuda'", "auto, numba", "torch")


def test_command_says_what_to_install(path_of_demo, monkeypatch):
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    code, out, err = path_of_demo("torch")
    assert (code, out) == (2, "")
    assert_one_line(err, "torch is not installed", "radii[torch]")
