import pytest

from radii.claims.glosses import gloss_task, sides
from radii.data.synsets import Nouns


@pytest.fixture
def nouns():
    """Ten synsets; `bank` is the first word of two of them."""
    lemmas = {f"{n}": [f"Word_{n}"] for n in range(10)} | {"3": ["bank", "side"], "7": ["bank"]}
    senses: dict[str, list[str]] = {}
    for offset, words in lemmas.items():
        for word in words:
            senses.setdefault(word.lower(), []).append(offset)
    definitions = {offset: f"what {offset} is" for offset in lemmas}
    return Nouns(senses, {offset: set() for offset in lemmas}, lemmas, definitions)


def test_every_sense_among_the_documents_is_relevant(nouns):
    found = gloss_task(nouns, 10, 10).task
    assert sorted(found.docs.ids) == sorted(nouns.definitions)
    assert found.docs.by_id["4"] == "what 4 is"
    assert len(found.queries) == 9
    assert found.queries.by_id["word_4"] == "word 4"
    assert found.qrels["word_4"] == {"4": 1}
    assert found.qrels["bank"] == {"3": 1, "7": 1}


@pytest.mark.parametrize("seed", range(20))
def test_pairs_share_nothing_with_the_task(nouns, seed):
    made = gloss_task(nouns, 5, 3, 99, seed)
    asked = set(made.task.queries.texts)
    answers = set(made.task.docs.texts)
    assert len(made.task.queries) <= 3
    assert len(made.pairs) in (4, 5)  # one fewer when `bank` is asked and its other sense is not a document
    assert not any(noun in asked or definition in answers for noun, definition in made.pairs)
    assert gloss_task(nouns, 5, 3, 99, seed) == made


def test_sides_stay_row_by_row():
    nouns, definitions = sides([("hub", "a centre"), ("norm", "a length")])
    assert (nouns.texts, definitions.texts) == (["hub", "norm"], ["a centre", "a length"])
    assert nouns.ids == definitions.ids
