from radii.claims.retrieval import piece
from radii.data.collection import Collection
from radii.data.texts import Texts


def test_a_piece_has_the_documents_of_its_queries():
    docs = Texts(["d1", "d2", "d3"], ["one", "two", "three"])
    whole = Collection(docs, Texts(["q1", "q2"], ["a", "b"]), {"q2": {"d2": 1}, "q1": {"d3": 1, "d1": 0}})
    found = piece(whole, 1)
    assert (found.docs.ids, found.docs.texts) == (["d1", "d3"], ["one", "three"])
    assert (found.queries.ids, found.qrels) == (["q1"], {"q1": {"d3": 1, "d1": 0}})
