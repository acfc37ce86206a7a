"""Resuming: a run broken off goes on to the same end; what is no checkpoint is refused."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from radii.dynamics.config import Setting  # noqa: E402
from radii.dynamics.resume import CHECKPOINT, simulate_in  # noqa: E402
from radii.dynamics.training import simulate  # noqa: E402

SETTINGS = [
    Setting(
        n_items=20,
        dim=6,
        batch=batch,
        burn_in=300,
        steps=500,
        seed=seed,
        samples=30,
        lags=2,
        optimiser="adamw",
    )
    for batch in (4, 8)
    for seed in (0, 1)
]


class StopError(Exception):
    pass


@pytest.mark.parametrize("stop_at", [1, 4, 7])
def test_a_simulation_broken_off_goes_on_to_the_same_end(tmp_path, stop_at):
    calls = []

    def stop(done, total):
        calls.append(done)
        if len(calls) == stop_at + 1:
            raise StopError

    with pytest.raises(StopError):
        simulate_in(tmp_path, SETTINGS, progress=stop, every_seconds=0)
    assert (tmp_path / CHECKPOINT).exists()
    heard = []
    runs = simulate_in(tmp_path, SETTINGS, progress=lambda done, total: heard.append((done, total)))
    assert heard[0][0] > 0
    assert heard[-1] == (3200, 3200)
    for one, other in zip(runs, simulate(SETTINGS), strict=True):
        for name in ("norm", "second_moment", "heat", "lagged", "drift_samples"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_of_other_settings_is_refused(refused, tmp_path):
    def stop(done, total):
        if done > 1000:
            raise StopError

    with pytest.raises(StopError):
        simulate_in(tmp_path, SETTINGS, progress=stop, every_seconds=0)
    refused(lambda: simulate_in(tmp_path, SETTINGS[:2]), CHECKPOINT, "other settings")


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04"])
def test_what_is_no_checkpoint_is_refused(refused, tmp_path, content):
    (tmp_path / CHECKPOINT).write_bytes(content)
    refused(lambda: simulate_in(tmp_path, SETTINGS[:1]), CHECKPOINT, "not a checkpoint")
    assert (tmp_path / CHECKPOINT).read_bytes() == content
