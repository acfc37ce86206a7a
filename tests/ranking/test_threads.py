"""Threads of our own: BLAS keeps to one in each, and Ctrl-C is not lost between them."""

from __future__ import annotations

from threadpoolctl import ThreadpoolController

from radii.ranking import threads


def test_blas_keeps_to_one_thread_and_gets_its_own_back():
    def counts():
        return [found["num_threads"] for found in threads._libraries().select(user_api="blas").info()]

    before = counts()
    assert before  # numpy's, at least
    with threads.threads(2) as run:
        assert set(counts()) == {1}
        assert run(lambda some: some.stop, threads.cuts(5, 2)) == [2, 4, 5]
    assert counts() == before


def test_libraries_are_looked_for_once(monkeypatch):
    """Each look calls back from C, where an interrupt is printed and forgotten: a run went on to its end."""
    looks = []
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: looks.append(1) or ThreadpoolController())
    threads._libraries.cache_clear()
    for _ in range(3):
        with threads.threads(1):
            pass
    assert looks == [1]
