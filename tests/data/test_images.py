import io
import tarfile

import numpy as np
import pytest

from radii.data.images import read_cifar10

Image = pytest.importorskip("PIL.Image")

GREYS = {"cat/0000": 10, "cat/0001": 60, "ant/0000": 120, "ant/0001": 180, "ant/0002": 240}


@pytest.fixture
def files(tmp_path):
    """Write a tar of evenly grey images, last first, and labels; returns both paths."""

    def write(greys=GREYS, labels=(1, 0, 0, 1, 0), side=32):
        with tarfile.open(tmp_path / "images.tar.gz", "w:gz") as archive:
            for name, grey in reversed(greys.items()):
                file = io.BytesIO()
                Image.fromarray(np.full((side, side, 3), grey, np.uint8)).save(file, "JPEG", quality=95)
                member = tarfile.TarInfo(f"test/{name}.jpg")
                member.size = file.tell()
                file.seek(0)
                archive.addfile(member, file)
        np.save(tmp_path / "labels.npy", np.array(labels))
        return tmp_path / "images.tar.gz", tmp_path / "labels.npy"

    return write


def test_images_stand_in_the_order_of_the_labels(files):
    found = read_cifar10(*files())
    assert found.classes == ("ant", "cat")
    assert len(found) == 5
    assert found.pixels.dtype == np.uint8
    greys = found.pixels.reshape(5, -1).astype(int)
    np.testing.assert_allclose(greys - np.array([10, 120, 180, 60, 240])[:, None], 0, atol=2)


def test_what_is_no_such_set_is_refused(files, refused, tmp_path):
    refused(lambda: read_cifar10(*files(labels=(1, 0, 0, 1))), "3 images of ant for 2 labels")
    refused(lambda: read_cifar10(*files(labels=(1, 0, 0, 2, 0))), "labels 0 to 2")
    refused(lambda: read_cifar10(*files(labels=(1.0, 0.0))), "no row of whole numbers")
    refused(lambda: read_cifar10(*files(side=16)), "16 × 16 pixels")
    images, labels = files()
    refused(lambda: read_cifar10(labels, labels), "no tar of images")
    refused(lambda: read_cifar10(images, images), "not a .npy file")
    images.write_bytes(b"")
    refused(lambda: read_cifar10(images, labels), images)


def test_the_real_set_has_a_thousand_of_each(shared_data):
    folder = shared_data / "cifar10_test_labels"
    found = read_cifar10(
        shared_data / "cifar10_test_images" / "cifar10_test_jpg.tar.gz",
        folder / "cifar10_test_set_original_labels.npy",
    )
    assert np.bincount(found.labels).tolist() == [1000] * 10
    assert found.classes[0] == "airplane"
    assert found.classes[-1] == "truck"
    # People agree with the labels: the set's own order is that of CIFAR-10H.
    counts = np.load(shared_data / "cifar10h" / "cifar10h-counts.npy")
    assert (counts.argmax(axis=1) == found.labels).mean() > 0.98
