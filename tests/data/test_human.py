import numpy as np
import pytest

from radii.data.human import read_cifar10h

COUNTS = np.array([[4, 0, 0], [1, 1, 0], [2, 1, 1]])


@pytest.fixture
def folder(tmp_path):
    def write(counts=COUNTS, probs=None):
        np.save(tmp_path / "cifar10h-counts.npy", counts)
        shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1) if probs is None else probs
        np.save(tmp_path / "cifar10h-probs.npy", shares)
        return tmp_path

    return write


def test_entropy_by_hand(folder):
    found = read_cifar10h(folder())
    np.testing.assert_array_equal(found.counts, COUNTS)
    np.testing.assert_allclose(found.probabilities[2], [0.5, 0.25, 0.25])
    np.testing.assert_allclose(found.entropy(), [0, np.log(2), 1.5 * np.log(2)], atol=1e-15)
    assert not np.signbit(found.entropy()).any()


@pytest.mark.parametrize(
    ("given", "fragments"),
    [
        ({"counts": COUNTS / 2}, ["counts.npy", "float64"]),
        ({"counts": COUNTS[0]}, ["counts.npy", "shape (3,)"]),
        ({"counts": COUNTS - 1}, ["counts.npy", "whole numbers"]),
        ({"counts": COUNTS * [[1], [0], [1]]}, ["counts.npy", "no answer in row 1"]),
        ({"probs": np.eye(3)[:2]}, ["probs.npy", "shape (2, 3)"]),
        ({"probs": np.eye(3)}, ["probs.npy", "row 1 is not the counts' shares (2 such rows)"]),
        ({"probs": np.full((3, 3), np.nan)}, ["probs.npy", "row 0"]),
    ],
)
def test_other_arrays_are_refused(folder, refused, given, fragments):
    path = folder(**given)
    refused(lambda: read_cifar10h(path), *fragments)


def test_missing_and_broken_files_are_refused(tmp_path, refused):
    refused(lambda: read_cifar10h(tmp_path), "cifar10h-counts.npy", "no such file")
    (tmp_path / "cifar10h-counts.npy").write_bytes(b"text")
    refused(lambda: read_cifar10h(tmp_path), "cifar10h-counts.npy", "not a .npy file")


def test_cifar10h_is_whole(shared_data):
    found = read_cifar10h(shared_data / "cifar10h")
    assert found.counts.shape == (10000, 10)
    assert found.entropy().max() < np.log(10)
    labels = np.load(shared_data / "cifar10_test_labels" / "cifar10_test_set_original_labels.npy")
    # SOURCE.txt: rows are in CIFAR-10's order, so most people say what the label says.
    assert (found.probabilities.argmax(axis=1) == labels).mean() == pytest.approx(0.9921, abs=5e-5)
