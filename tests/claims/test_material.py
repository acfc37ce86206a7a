import hashlib

import pytest

from radii.claims.material import beyond, copies, defined, shared
from radii.errors import NumericalError
from radii.signals.relations import spearman_matrix


def test_shared_data_is_where_the_variable_says(tmp_path, monkeypatch, refused):
    monkeypatch.setenv("RADII_DATA", str(tmp_path))
    (tmp_path / "cacm").mkdir()
    assert shared("cacm") == tmp_path / "cacm"
    refused(lambda: shared("cacm", "qrels"), tmp_path / "cacm" / "qrels", "no such data", "RADII_DATA")


def test_copies_are_named_by_their_checksum(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"text")
    start = hashlib.sha256(b"text").hexdigest()[:12]
    assert copies(path) == {"a.txt": start}


@pytest.mark.parametrize(
    ("low", "high", "side", "limit", "status"),
    [
        (0.1, 0.3, "above", 0.0, "holds"),
        (-0.1, 0.3, "above", 0.0, "fails"),
        (0.1, 0.3, "below", 0.0, "fails"),
        (-0.3, -0.1, "below", 0.0, "holds"),
        (-0.3, 0.01, "below", 0.02, "holds"),
        (-0.3, 0.03, "below", 0.02, "fails"),
        (0.0, 0.3, "above", 0.0, "fails"),
    ],
)
def test_a_direction_holds_with_its_whole_interval(low, high, side, limit, status):
    found = beyond("x", 0.0, low, high, side, "9 items", limit)
    assert (found.status, found.target) == (status, f"interval {side} {limit:g}")
    assert (found.low, found.high, found.over) == (low, high, "9 items")


def test_an_undefined_correlation_is_an_error():
    found = spearman_matrix({"x": [1, 2, 3, 4], "y": [1, 3, 2, 4], "one": [1, 1, 1, 1]}, seed=0)
    assert defined("x and y", found["x", "y"])[0] == pytest.approx(0.8)
    with pytest.raises(NumericalError, match="x and one"):
        defined("x and one", found["x", "one"])
