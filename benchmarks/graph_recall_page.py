"""docs/graph-recall.md and its figure, from docs/graph_recall.json.

python benchmarks/graph_recall_page.py [folder]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FORMS = {"ip": "raw products", "centred": "mean taken out", "unit": "unit form"}
ALLOWED, BEST = 0.01, "the best of the three"

HEAD = """# Graph indexes and mixed lengths

Does a graph index still find the right documents when vectors have different lengths? Measured, not argued.

**Limits first.** {documents:,} documents, one model (all-MiniLM-L6-v2), {dims} dimensions; small graphs are
easier than large ones. {queries} queries, so a difference under 0.005 says nothing. One build of each
graph, by one thread.

Documents are WordNet glosses, queries lemmas. Their norms are replaced as the table says; what each graph
finds is compared with the exact order of ⟨q, d⟩. {links} links a node, ef {build} while building. *Cosine*
is the same graph on the same directions, with all lengths 1: the level to reach, to within {allowed}. Every
form ranks alike when all documents are looked at ([serve a correction](deploy.md)).

## What came out

{verdicts}

- The spread of the norms alone does no harm, at any standard deviation up to 1.2: raw products keep cosine's
  recall@10 where norms are drawn, and where they are the model's own, stretched.
- What harms raw products is a direction that documents share and norms go along with. With such a direction
  added three times over, norms differ by 3 % and recall@10 is 0.18 to 0.22. Taking the mean out brings back
  all of it.
- A shared direction and drawn norms at once are the case that no form settles for lists of ten, by {miss:.3f}
  at worst; for lists of a hundred the unit form is then far ahead. Elsewhere it is far behind. FAISS at ef 64
  also misses the level by 0.013 where norms are short for central documents.
- Lists of a hundred at ef 128 leave a graph little room: every form loses there once norms go with what is
  shared.

![recall over the spread of the norms](graph-recall.svg)

The first ten at ef 64, the first hundred at ef 128.

## What `radii export` does with it

An engine that looks at every document gets raw products. One that does not is filled with a sample of up to
2,000 of your documents in every form, and with their directions alone; the form in which it finds most is
taken, and finding R601 says what each found and fails where plain cosine finds over {allowed} more. On
{documents:,} documents a sample flatters all forms alike: `radii verify` asks the whole index.
"""

REPORTS = """
## The two reports

[Milvus 51821](https://github.com/milvus-io/milvus/issues/51821) saw 6 % of the first 890 of 8,326 vectors,
98 % of which had a larger inner product with another vector than with themselves; its maintainers found
that a search could reach 611 vectors. Neither data set was at hand. Glosses in the same setting (FAISS,
8,326 vectors, 32 links, ef 256 while building, ef 890):

| norms | beaten | reached, raw | recall@10 | recall@890 | reached, mean taken out | recall@10 | recall@890 |
|---|---|---|---|---|---|---|---|
{rows}

So the collapse is real: a search can walk to a few per cent of the documents, and no ef finds the others.
It takes a direction that all documents share, and it shows in lists of hundreds: the few that are reached
hold most of the first ten. Being beaten by another vector says little: {calm:.0%} are in the second row,
which loses nothing at ten. Taking the mean out helps where norms go along with what is shared, and only
in part where they are drawn on top. [hnswlib 74](https://github.com/nmslib/hnswlib/issues/74) (49 % raw
at ef 5,000, 91 % after normalising) says nothing of its data; raw products fall to {low:.2f} at ten here,
where norms differ by 3 %.
"""


def page(body: dict) -> str:
    setting, asked, rows = body["setting"], body["asked"], body["rows"]
    tried = [row for row in rows if "ip" in row]
    verdicts, worst = [], 0.0
    for at, (k, ef) in enumerate(asked):
        held = {form: [round(row[form][at] - row["cosine"][at], 4) for row in tried] for form in FORMS}
        held[BEST] = [max(gaps) for gaps in zip(*held.values(), strict=True)]
        worst = max(worst, -min(held[BEST])) if k == 10 else worst
        words = ", ".join(
            f"{FORMS.get(form, form)} in {sum(gap >= -ALLOWED for gap in gaps)} (worst {min(gaps):+.3f})"
            for form, gaps in held.items()
        ).replace("-", "−")
        verdicts.append(
            f"- recall@{k} at ef {ef}: of {len(tried)} cases (norms × engine), within {ALLOWED} of cosine or "
            f"better: {words}."
        )
    text = HEAD.format(**setting, allowed=ALLOWED, miss=worst, verdicts="\n".join(verdicts))
    for at, (k, ef) in enumerate(asked):
        text += f"\n## recall@{k}, ef {ef}\n\n| norms | sd of log | beaten | engine | cosine | "
        text += " | ".join(FORMS.values()) + " |\n|---|---|---|---|---|" + "---|" * len(FORMS) + "\n"
        for row in tried:
            best = max(row[form][at] for form in FORMS)
            cells = [
                f"**{row[form][at]:.3f}**" if row[form][at] == best else f"{row[form][at]:.3f}"
                for form in FORMS
            ]
            start = f"| {row['pattern']} | {row['sd']:.2f} | {row['beaten']:.0%} | {row['engine']} "
            text += f"{start}| {row['cosine'][at]:.3f} | {' | '.join(cells)} |\n"
    text += (
        "\n*Beaten*: share of documents whose inner product with another is larger than with themselves.\n"
    )
    return text + reports(body["reports"])


def reports(rows: list[dict]) -> str:
    lines = [
        f"| {row['pattern']} | {row['beaten']:.0%} | "
        + " | ".join(
            f"{row[form]['reached']:.0%} | {row[form]['recall@10']:.3f} | {row[form]['recall@890']:.3f}"
            for form in ("ip", "centred")
        )
        + " |"
        for row in rows
    ]
    low = min(row["ip"]["recall@10"] for row in rows)
    [calm] = [row["beaten"] for row in rows if row["pattern"].startswith("drawn")]
    return REPORTS.format(rows="\n".join(lines), low=low, calm=calm)


def figure(body: dict) -> str:
    import altair
    import vl_convert

    rows = body["rows"]
    flat = {row["engine"]: row["cosine"] for row in rows if row["pattern"] == "cosine"}
    names, points = {"cosine": "plain cosine", **FORMS}, []
    for pattern, at in (("own norms", 0), ("long where central", 0), ("long where central", 2)):
        panel = {"panel": f"{pattern}, first {body['asked'][at][0]}"}
        for engine, level in flat.items():
            points += [
                {**panel, "engine": engine, "form": name, "sd": 0.0, "recall": level[at]}
                for name in names.values()
            ]
        points += [
            {
                **panel,
                "engine": row["engine"],
                "form": names[form],
                "sd": row["sd"],
                "recall": row[form][at],
            }
            for row in rows
            if row["pattern"] == pattern
            for form in names
        ]
    chart = (
        altair.Chart(altair.Data(values=points))
        .mark_line(point=True)
        .encode(
            altair.X("sd:Q", title="standard deviation of log norm"),
            altair.Y("recall:Q", title="recall", scale=altair.Scale(domain=[0, 1])),
            altair.Color("form:N", title=None, sort=list(names.values())),
            altair.StrokeDash("form:N", legend=None, sort=list(names.values())),
            altair.Column("engine:N", title=None),
            altair.Row("panel:N", title=None),
        )
        .properties(width=190, height=150)
    )
    return vl_convert.vegalite_to_svg(chart.to_json(), allowed_base_urls=[])


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs"
    body = json.loads((folder / "graph_recall.json").read_text())
    (folder / "graph-recall.md").write_text(page(body))
    (folder / "graph-recall.svg").write_text(figure(body))


if __name__ == "__main__":
    main()
