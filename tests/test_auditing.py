"""The audit on corpora whose answer is known, against a reference library, and on bad input."""

from __future__ import annotations

import json
from statistics import NormalDist

import ir_measures
import numpy as np
import pytest

import radii
from radii.data.embeddings import Embeddings
from radii.data.texts import Texts
from radii.evidence.holdout import Protocol
from radii.result import Report
from tests.planted import (
    FAST,
    FLIP,
    long_distractors,
    long_relevant,
    planes,
    random_corpus,
    unit,
    unrelated_norms,
)


def arm(report, name):
    [found] = [a for a in report.arms if a.name == name]
    return found


def finding(report, code):
    [found] = [f for f in report.findings if f.code == code]
    return found


def statuses(report):
    return {f.code: f.status for f in report.findings}


def without_provenance(report):
    return report.model_dump(exclude={"provenance"})


# Verdicts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("corpus", "side"), [(long_distractors, -1), (long_relevant, 1)])
def test_norms_that_know_the_answer_are_used(corpus, side):
    report = radii.audit(*corpus(40), metric="RR@10")
    verdict, tuned = report.verdict, arm(report, "norm exponent")
    assert verdict.label == ("discount" if side < 0 else "amplify")
    # All is won from FLIP on, and a twentieth of the range further in, so is everything around it.
    assert verdict.gamma == pytest.approx(side * (FLIP + 0.1), abs=0.005)
    assert tuned.spread == pytest.approx((verdict.gamma, verdict.gamma))
    # Half of the queries gain 1/2, the others nothing.
    assert verdict.gain == pytest.approx(0.25)
    low, high = verdict.gain_ci
    error = 0.25 / np.sqrt(40) * np.sqrt(1.25)  # one query judged for every four that chose
    assert low == pytest.approx(0.25 - 1.96 * error, abs=error / 3)
    assert high == pytest.approx(0.25 + 1.96 * error, abs=error / 3)
    # All 20 signs that matter would have to agree: 2 · 2⁻²⁰, below what 9999 flips resolve.
    assert 0 < tuned.p <= 0.001
    assert tuned.n == report.data.n_judged == 40
    assert verdict.needed_queries is None
    assert report.path.cosine == pytest.approx(0.75)
    assert report.path.best_value == pytest.approx(1.0)
    assert report.path.inner_product == pytest.approx(0.75 + side * 0.25)
    assert statuses(report)["R301"] == "holds"
    assert statuses(report)["R401"] == "holds"
    assert verdict.proxy is None
    # Every query's plane looks alike to every other arm: all of the gain is the norm's.
    assert verdict.beyond == pytest.approx(0.25, abs=0.05)
    assert verdict.beyond_ci[0] > 0


def test_norms_unrelated_to_relevance_keep_cosine():
    report = radii.audit(*unrelated_norms(40), metric="RR@10", min_effect=0.2)
    verdict, tuned = report.verdict, arm(report, "norm exponent")
    assert verdict.label == "keep-cosine"
    assert verdict.gamma == 0.0
    assert verdict.gain == tuned.gain
    assert verdict.gain_ci == tuned.gain_ci
    low, high = tuned.gain_ci
    assert low <= tuned.gain <= high
    assert low <= 0
    # The balance is exact, so the queries left out lose whatever the others seem to gain.
    assert tuned.gain < 0
    assert tuned.n == 40
    assert verdict.needed_queries is None
    assert report.path.values == pytest.approx([0.75] * 201)
    assert statuses(report)["R201"] == "holds"
    assert statuses(report)["R301"] == "fails"
    assert statuses(report)["R401"] == "not applicable"


def test_too_few_queries_for_a_small_effect_are_unverified_with_the_number_it_takes():
    report = radii.audit(*unrelated_norms(40), metric="RR@10", min_effect=0.02, protocol=FAST)
    assert report.verdict.label == "unverified"
    assert report.verdict.gamma == 0.0
    # At γ = ±1/4 a quarter of the queries gains 1/2, a quarter loses it: variance 1/8.
    z = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    needed = int(np.ceil(z**2 / 8 / 0.02**2))
    assert report.verdict.needed_queries == needed
    assert str(needed) in report.verdict.summary
    assert statuses(report)["R201"] == "fails"
    assert finding(report, "R201").value == 40


@pytest.mark.parametrize("n", [1, 2, 4, 5, 24])
def test_fewer_than_25_queries_are_unverified_however_clear_the_gain(n):
    report = radii.audit(*long_distractors(n), metric="RR@10", protocol=FAST)
    assert report.verdict.label == "unverified"
    assert report.verdict.gamma == 0.0
    assert report.verdict.needed_queries >= 25
    assert report.data.n_judged == n
    assert (report.verdict.gain is None) == (n < FAST.folds)


def test_without_judgements_norms_that_vary_are_unverified():
    docs, queries, _ = long_distractors(4)
    report = radii.audit(docs, queries)
    verdict = report.verdict
    assert (verdict.label, verdict.gamma, verdict.gain, verdict.gain_ci) == ("unverified", 0.0, None, None)
    assert verdict.needed_queries >= 25
    assert report.path is None
    assert report.arms == []
    assert report.data.qrels is None
    assert report.data.n_judged == 0
    assert statuses(report) == {"R101": "holds", "R102": "holds", "R203": "not applicable"}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("judged", [True, False], ids=["judged", "not judged"])
def test_unit_vectors_have_no_signal_even_after_rounding(dtype, judged):
    docs, queries, qrels = random_corpus(dim=32)
    report = radii.audit(unit(docs).astype(dtype), queries, qrels if judged else None, protocol=FAST)
    verdict = report.verdict
    assert (verdict.label, verdict.gamma, verdict.gain, verdict.gain_ci) == ("no-signal", 0.0, None, None)
    assert report.norms.constant
    assert report.norms.mean == pytest.approx(1.0, abs=1e-3)
    assert "Normalize" in verdict.summary
    assert statuses(report)["R101"] == "fails"
    assert "Normalize" in finding(report, "R101").remedy
    assert report.data.dtype == np.dtype(dtype).name


def test_the_length_of_a_constant_norm_does_not_matter():
    docs, queries, qrels = random_corpus()
    report = radii.audit(7.5 * unit(docs), queries, qrels, protocol=FAST)
    assert report.verdict.label == "no-signal"
    assert "7.5" in report.verdict.summary


# Findings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corpus", [long_distractors, long_relevant, unrelated_norms, random_corpus])
def test_codes_are_unique_and_sorted_and_only_what_needs_doing_has_a_remedy(corpus):
    report = radii.audit(*corpus(), protocol=FAST)
    codes = [f.code for f in report.findings]
    assert codes == sorted(set(codes))
    assert set(codes) == {
        f"R{n}" for n in (101, 102, 201, 202, 203, 204, 301, 302, 303, 304, 401, 402, 403, 404)
    }
    for found in report.findings:
        assert (found.remedy is not None) == (found.status in ("fails", "skipped"))


def test_clear_cases_have_these_statuses():
    discount = statuses(radii.audit(*long_distractors(), metric="RR@10", protocol=FAST))
    assert discount["R302"] == "fails"  # the inner product loses a quarter
    assert discount["R303"] == "fails"  # the best interval reaches the end of the range
    assert discount["R304"] == "holds"  # what is gained in tuning is gained held out
    amplify = statuses(radii.audit(*long_relevant(), metric="RR@10", protocol=FAST))
    assert amplify["R302"] == "holds"
    assert amplify["R202"] == amplify["R204"] == "holds"


def test_queries_among_the_documents_retrieve_themselves():
    docs, _, qrels = random_corpus(n_docs=30)
    vectors = Embeddings([str(i) for i in range(30)], docs, "both")
    fails = finding(radii.audit(vectors, vectors, qrels, protocol=FAST), "R203")
    assert (fails.status, fails.value) == ("fails", 1.0)
    assert "30 of 30" in fails.meaning
    assert "--exclude-self" in fails.remedy
    excluded = radii.audit(vectors, vectors, qrels, exclude_self=True, protocol=FAST)
    assert finding(excluded, "R203").status == "holds"


def test_row_numbers_that_coincide_are_no_self_retrieval():
    docs, queries, qrels = random_corpus()
    assert finding(radii.audit(docs, queries, qrels, protocol=FAST), "R203").status == "holds"


def test_ids_apart_make_self_retrieval_not_applicable():
    report = radii.audit(*long_distractors(), protocol=FAST)
    assert finding(report, "R203").status == "not applicable"


def test_one_norm_a_hundred_times_the_others_is_found():
    docs, queries, _ = random_corpus()
    docs = unit(docs) * np.linspace(1, 2, len(docs))[:, None]
    assert finding(radii.audit(docs, queries), "R102").status == "holds"
    docs[17] *= 100
    report = radii.audit(docs, queries)
    norms = np.linalg.norm(docs, axis=1)
    assert finding(report, "R102").status == "fails"
    assert finding(report, "R102").value == pytest.approx(norms[17] / np.median(norms))
    assert report.norms.longest[0].id == "17"
    assert report.norms.longest[0].norm == pytest.approx(norms[17])


def test_queries_without_relevant_documents_are_left_out_and_counted():
    docs, queries, qrels = random_corpus()
    del qrels["3"]
    qrels["7"] = {"0": 0, "1": -1}
    report = radii.audit(docs, queries, qrels, protocol=FAST)
    assert finding(report, "R202").status == "fails"
    assert finding(report, "R202").value == 2
    assert (report.data.n_queries, report.data.n_judged) == (30, 28)
    assert {a.n for a in report.arms} == {28}


# Arms against a reference library ------------------------------------------------------------------------


def reference(scores, qrels, metric="nDCG@10", skip=lambda query, doc: False):
    """Each judged query's value by ir_measures, from a (n_queries, n_docs) matrix of scores."""
    run = [
        ir_measures.ScoredDoc(str(q), str(d), float(scores[q, d]))
        for q, d in np.ndindex(scores.shape)
        if not skip(q, d)
    ]
    truth = [ir_measures.Qrel(q, d, g) for q, judged in qrels.items() for d, g in judged.items()]
    measured = ir_measures.iter_calc([ir_measures.parse_measure(metric)], truth, run)
    values = {m.query_id: m.value for m in measured}
    return np.array([values[q] for q in qrels])


@pytest.mark.parametrize("metric", ["nDCG@10", "R@5", "RR@10", "AP@10"])
def test_cosine_and_inner_product_are_those_of_ir_measures(metric):
    docs, queries, qrels = random_corpus()
    report = radii.audit(docs, queries, qrels, metric=metric, protocol=FAST)
    cosines = unit(queries) @ unit(docs).T
    cosine = reference(cosines, qrels, metric)
    inner = reference(cosines * np.linalg.norm(docs, axis=1), qrels, metric)
    assert report.path.cosine == pytest.approx(cosine.mean(), abs=1e-12)
    assert report.path.inner_product == pytest.approx(inner.mean(), abs=1e-12)
    fixed = arm(report, "inner product")
    assert (fixed.parameters["gamma"], fixed.tuned, fixed.n) == (1.0, False, 30)
    assert fixed.gain == pytest.approx((inner - cosine).mean(), abs=1e-12)
    assert fixed.gain_ci[0] < fixed.gain < fixed.gain_ci[1]


def test_the_curve_is_that_of_ir_measures():
    docs, queries, qrels = random_corpus()
    path = radii.audit(docs, queries, qrels, protocol=FAST).path
    cosines, norms = unit(queries) @ unit(docs).T, np.linalg.norm(docs, axis=1)
    assert path.gammas == pytest.approx(np.linspace(-1, 1, 201))
    for i in (0, 40, 99, 137, 200):
        direct = reference(cosines * norms ** path.gammas[i], qrels).mean()
        assert path.values[i] == pytest.approx(direct, abs=1e-12)


def test_exclude_self_takes_the_query_out_of_its_ranking():
    docs, _, qrels = random_corpus(n_docs=30)
    qrels = {
        q: {d: g for d, g in judged.items() if d != q} | {str((int(q) + 1) % 30): 1}
        for q, judged in qrels.items()
    }
    report = radii.audit(docs, docs, qrels, exclude_self=True, protocol=FAST)
    cosines = unit(docs) @ unit(docs).T
    direct = reference(cosines, qrels, skip=lambda query, doc: query == doc).mean()
    assert report.path.cosine == pytest.approx(direct, abs=1e-12)
    assert report.data.exclude_self
    assert report.path.cosine > radii.audit(docs, docs, qrels, protocol=FAST).path.cosine


@pytest.mark.parametrize("corpus", [long_distractors, long_relevant, random_corpus])
def test_one_sided_arms_stay_on_their_side(corpus):
    report = radii.audit(*corpus(), metric="RR@10", protocol=FAST)
    assert arm(report, "discount only").parameters["gamma"] <= 0
    assert arm(report, "discount only").spread[1] <= 0
    assert arm(report, "amplify only").parameters["gamma"] >= 0
    assert arm(report, "amplify only").spread[0] >= 0


def test_the_side_without_gain_stays_at_cosine():
    report = radii.audit(*long_distractors(), metric="RR@10", protocol=FAST)
    wrong, right = arm(report, "amplify only"), arm(report, "discount only")
    assert (wrong.parameters["gamma"], wrong.gain, wrong.p) == (0.0, 0.0, 1.0)
    assert right.gain == pytest.approx(0.25)


@pytest.mark.parametrize("ends", [(-1.0, 0.0), (0.0, 0.5), (0.0, 0.0)])
def test_a_range_without_one_has_no_inner_product(ends):
    report = radii.audit(*long_distractors(), gamma_range=ends, protocol=FAST)
    assert report.path.inner_product is None
    assert [a.name for a in report.arms][:3] == ["norm exponent", "discount only", "amplify only"]
    assert "inner product" not in [a.name for a in report.arms]
    assert "R302" not in statuses(report)
    assert ends[0] <= report.verdict.gamma <= ends[1]


# What goes in --------------------------------------------------------------------------------------------


def test_one_seed_one_report_another_seed_another_one():
    corpus = random_corpus()
    first, again, other = (
        without_provenance(radii.audit(*corpus, seed=seed, protocol=FAST)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first["arms"] != other["arms"]
    for end in ("gain_low", "gain_high"):  # sums over the steps of other candidates too: equal up to rounding
        assert first["path"].pop(end) == pytest.approx(other["path"].pop(end), abs=1e-8)
    assert first["path"] == other["path"]


def test_judgements_from_a_file_count_as_those_of_a_mapping(tmp_path):
    docs, queries, qrels = random_corpus()
    file = tmp_path / "qrels.txt"
    file.write_text("".join(f"{q} 0 {d} {g}\n" for q, judged in qrels.items() for d, g in judged.items()))
    from_file, from_mapping = (
        without_provenance(radii.audit(docs, queries, given, protocol=FAST)) for given in (file, qrels)
    )
    assert from_file["data"].pop("qrels") == str(file)
    assert from_mapping["data"].pop("qrels") == "qrels"
    assert from_file == from_mapping


def test_the_ids_of_bare_arrays_are_row_numbers():
    docs, queries, qrels = random_corpus()
    named = [
        Embeddings([str(row) for row in range(len(a))], a, s)
        for a, s in ((docs, "docs"), (queries, "queries"))
    ]
    assert without_provenance(radii.audit(docs, queries, qrels, protocol=FAST)) == without_provenance(
        radii.audit(*named, qrels, protocol=FAST)
    )


def test_other_ids_and_the_order_of_judgements_change_nothing_measured():
    docs, queries, qrels = random_corpus()
    renamed = Embeddings([f"d{row}" for row in range(len(docs))], docs, "docs")
    other = {q: {f"d{d}": g for d, g in reversed(judged.items())} for q, judged in reversed(qrels.items())}
    plain, again = (radii.audit(d, queries, j, protocol=FAST) for d, j in ((docs, qrels), (renamed, other)))
    assert plain.arms == again.arms
    assert plain.verdict == again.verdict


def test_texts_stand_beside_the_extremes():
    docs, queries, _ = long_distractors(4)
    texts = Texts(["bad0", "good0", "elsewhere"], ["a long distractor", "", "of no document here"])
    report = radii.audit(docs, queries, texts=texts)
    found = {d.id: d.text for d in [*report.norms.longest, *report.norms.shortest]}
    assert found["bad0"] == "a long distractor"
    assert found["good0"] == ""
    assert found["bad1"] is None


def test_missing_ids_may_be_allowed_and_count_as_missed():
    docs, queries, qrels = random_corpus()
    qrels["elsewhere"] = {"0": 1}
    qrels["0"] |= {"gone": 2}
    report = radii.audit(docs, queries, qrels, allow_missing=True, protocol=FAST)
    del qrels["elsewhere"]
    direct = reference(unit(queries) @ unit(docs).T, qrels).mean()
    assert report.path.cosine == pytest.approx(direct, abs=1e-12)
    assert report.data.n_judged == 30


def test_the_protocol_is_recorded():
    protocol = Protocol(folds=3, repeats=2, resamples=150, level=0.9)
    how = radii.audit(
        *long_distractors(), metric="mrr@5", gamma_range=(-2, 1), seed=4, min_effect=0.1, protocol=protocol
    ).how
    assert how.model_dump() == {
        "metric": "RR@5",
        "gamma_range": (-2.0, 1.0),
        "seed": 4,
        "folds": 3,
        "repeats": 2,
        "resamples": 150,
        "level": 0.9,
        "min_effect": 0.1,
        "length_unit": None,
    }


# Bad input -----------------------------------------------------------------------------------------------


def with_row(vectors, row, value):
    changed = vectors.copy()
    changed[row] = value
    return changed


def renamed(prefix, vectors, source):
    return Embeddings([f"{prefix}{row}" for row in range(len(vectors))], vectors, source)


DOCS, QUERIES, QRELS = random_corpus()
EXTRA = {f"gone{i}": 1 for i in range(7)}
BAD = {
    "unknown documents": (
        lambda: radii.audit(DOCS, QUERIES, QRELS | {"0": QRELS["0"] | EXTRA}),
        ["7 unknown document ids", "'gone0', 'gone1', 'gone2', 'gone3', 'gone4' (and 2 more)", "allow"],
    ),
    "unknown queries": (
        lambda: radii.audit(DOCS, QUERIES, QRELS | {f"gone{i}": {"0": 1} for i in range(6)}),
        ["6 unknown query ids", "'gone0', 'gone1', 'gone2', 'gone3', 'gone4' (and 1 more)", "allow"],
    ),
    "no query in common": (
        lambda: radii.audit(DOCS, renamed("q", QUERIES, "my queries"), QRELS),
        ["none of the 30 judged queries", "my queries", "'q0'", "'0'"],
    ),
    "no query in common, missing allowed": (
        lambda: radii.audit(DOCS, renamed("q", QUERIES, "my queries"), QRELS, allow_missing=True),
        ["none of the 30 judged queries"],
    ),
    "no text in common": (
        lambda: radii.audit(DOCS, QUERIES, texts=Texts(["x", "y"], ["a", "b"], "my texts")),
        ["my texts", "no text has the id of a document", "'x', 'y'", "'0', '1'"],
    ),
    "dims that differ": (
        lambda: radii.audit(DOCS, QUERIES[:, :5], QRELS),
        ["docs", "6 dimensions against 5 in queries", "same model"],
    ),
    "only non-relevant grades": (
        lambda: radii.audit(DOCS, QUERIES, {q: {"0": 0, "1": -1} for q in QRELS}),
        ["none of 30 queries has a relevant document"],
    ),
    "no judgement": (lambda: radii.audit(DOCS, QUERIES, {}), ["qrels", "no judgements"]),
    "1-D docs": (lambda: radii.audit(DOCS[0], QUERIES), ["docs", "1-D", "(n, dim)"]),
    "object array": (lambda: radii.audit(DOCS.astype(object), QUERIES), ["docs", "object array"]),
    "integers": (lambda: radii.audit(DOCS.astype(int), QUERIES), ["docs", "int64"]),
    "no docs": (lambda: radii.audit(DOCS[:0], QUERIES), ["docs", "empty"]),
    "range without 0": (
        lambda: radii.audit(DOCS, QUERIES, QRELS, gamma_range=(0.5, 1)),
        ["gamma range", "[0.5, 1]", "cosine"],
    ),
    "endless range": (
        lambda: radii.audit(DOCS, QUERIES, gamma_range=(-1, float("inf"))),
        ["gamma range", "[-1, inf]", "finite"],
    ),
    "NaN in the range": (
        lambda: radii.audit(DOCS, QUERIES, gamma_range=(float("nan"), 1)),
        ["gamma range", "[nan, 1]"],
    ),
    "min_effect 0": (lambda: radii.audit(DOCS, QUERIES, QRELS, min_effect=0), ["min_effect", "0.02"]),
    "min_effect NaN": (lambda: radii.audit(DOCS, QUERIES, min_effect=float("nan")), ["min_effect", "nan"]),
    "min_effect 2": (lambda: radii.audit(DOCS, QUERIES, min_effect=2), ["min_effect", "2"]),
    "negative seed": (lambda: radii.audit(DOCS, QUERIES, QRELS, seed=-1), ["seed", "-1"]),
}
ROWS = {
    "zero": (0.0, ["1 rows are all zeros", "first row 5 (id '5')", "drop"]),
    "NaN": (np.nan, ["1 rows hold NaN or infinity", "first row 5 (id '5')"]),
    "inf": (np.inf, ["1 rows hold NaN or infinity", "first row 5 (id '5')"]),
}
for fault, (value, told) in ROWS.items():
    for judged in (QRELS, None):
        state = "judged" if judged else "not judged"
        BAD[f"{fault} row of docs, {state}"] = (
            lambda v=value, j=judged: radii.audit(with_row(DOCS, 5, v), QUERIES, j),
            ["docs", *told],
        )
        BAD[f"{fault} row of queries, {state}"] = (
            lambda v=value, j=judged: radii.audit(DOCS, with_row(QUERIES, 5, v), j),
            ["queries", *told],
        )
    BAD[f"{fault} row of queries that share no id with docs"] = (
        lambda v=value: radii.audit(DOCS, renamed("q", with_row(QUERIES, 5, v), "queries")),
        ["queries", told[0], "first row 5 (id 'q5')"],
    )


@pytest.mark.parametrize(("call", "fragments"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_with_place_and_fix(refused, call, fragments):
    refused(call, *fragments)


@pytest.mark.parametrize("metric", ["nDCG", "nDCG@0", "wisdom@10", "nDCG@ten", ""])
def test_an_unknown_metric_is_refused_with_the_known_ones(metric):
    with pytest.raises(radii.InputError, match=r"metric.*nDCG@10"):
        radii.audit(DOCS, QUERIES, QRELS, metric=metric)


# The report as data ----------------------------------------------------------------------------------------


def never(name):
    raise AssertionError(f"{name} in JSON")


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("corpus", [long_distractors, unrelated_norms])
def test_json_round_trip_without_nan(corpus, n):
    report = radii.audit(*corpus(n), metric="RR@10", protocol=FAST)
    text = report.model_dump_json()
    assert Report.model_validate_json(text) == report
    json.loads(text, parse_constant=never)


def test_json_round_trip_of_what_was_not_measured():
    docs, queries, qrels = planes([True], [1.0], [1.0])
    for report in (radii.audit(docs, queries), radii.audit(docs, queries, qrels)):
        assert Report.model_validate_json(report.model_dump_json(indent=2)) == report


def test_a_report_is_immutable_and_refuses_unknown_fields_and_nan():
    report = radii.audit(*long_distractors(2)[:2])
    with pytest.raises(ValueError, match="frozen"):
        report.verdict = None
    document = json.loads(report.model_dump_json())
    with pytest.raises(ValueError, match="extra"):
        Report.model_validate(document | {"more": 1})
    document["norms"]["mean"] = float("nan")
    with pytest.raises(ValueError, match="finite"):
        Report.model_validate(document)


# Their names say all: what a reader of report.json would write as description.
OBVIOUS = """
arms data dim docs exclude_self findings folds gain_ci gamma_range how id label largest level longest mean
median metric n_docs name norm norms numpy provenance python qrels queries radii repeats resamples
schema_version sd seconds seed shortest smallest status text verdict
beyond_ci estimate high low recommendation summary
"""


def test_every_field_is_described_or_has_an_obvious_name():
    schema = Report.model_json_schema()
    parts = {"Report": schema, **schema["$defs"]}
    assert len(parts) == 21
    for name, part in parts.items():
        assert part["description"], name
        for field, told in part["properties"].items():
            assert field in OBVIOUS.split() or told.get("description"), f"{name}.{field}"
