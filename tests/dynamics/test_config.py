"""Settings: what is refused, and how a grid unfolds."""

import pytest

from radii.dynamics.config import Setting, grid, read_settings, setting


@pytest.mark.parametrize(
    ("values", "fragments"),
    [
        ({"lam": -0.1}, ["lam", "-0.1"]),
        ({"eta": 0.0}, ["eta"]),
        ({"eta": 2.0, "lam": 0.5}, ["ηλ = 1"]),
        ({"tau": float("nan")}, ["tau", "nan"]),
        ({"n_items": 101}, ["101 items", "clusters of 5"]),
        ({"n_items": 5}, ["5 items"]),
        ({"ambiguity": 1.5}, ["ambiguity", "[0, 1]"]),
        ({"ambiguity": (0.1, 0.2, 0.3)}, ["ambiguity", "3 numbers"]),
        ({"frequency": 0.0}, ["frequency", "above 0"]),
        ({"encoder": "mlp", "layer_norm": True, "head": False}, ["every norm would be the same"]),
        ({"encoder": "mlp", "outward": 1.0}, ["outward"]),
        ({"text_length": (5, 2)}, ["text_length"]),
        ({"steps": 10}, ["steps", "32"]),
        ({"samples": 5000}, ["samples", "5000"]),
        ({"optimiser": "adagrad"}, ["optimiser", "adagrad"]),
        ({"wisdom": 1}, ["wisdom", "n_items"]),
    ],
)
def test_bad_settings_are_refused_by_name(refused, values, fragments):
    refused(lambda: setting(values), *fragments)


def test_power_is_that_of_the_optimiser():
    names = ["sgd", "momentum", "sgdw", "adam", "adamw", "lion"]
    assert [Setting(optimiser=name).power for name in names] == [1, 1, 1, 0, 0, 0]


def test_runs_that_differ_in_rates_only_share_their_structure():
    base = Setting()
    assert base.structure == Setting(eta=0.1, lam=0.2, tau=0.5, seed=3, ambiguity=(0.0, 0.5)).structure
    assert base.structure != Setting(batch=16).structure
    assert base.structure != Setting(optimiser="lion").structure


def test_a_grid_is_every_combination(tmp_path):
    file = tmp_path / "g.toml"
    file.write_text("[setting]\neta = 0.1\nbatch = 8\n[grid]\nlam = [0.1, 0.2]\nseed = [0, 1, 2]\n")
    found = read_settings(file)
    assert [(s.lam, s.seed) for s in found] == [(lam, seed) for lam in (0.1, 0.2) for seed in (0, 1, 2)]
    assert {(s.eta, s.batch) for s in found} == {(0.1, 8)}
    fewer = read_settings(file, {"lam": 0.3, "batch": 4})
    assert [(s.lam, s.seed, s.batch) for s in fewer] == [(0.3, seed, 4) for seed in (0, 1, 2)]


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("eta = ", ["not TOML"]),
        ("eta = 0.1", ["'eta'", "[setting]"]),
        ("[settings]\neta = 0.1", ["'settings'"]),
        ("[grid]\nlam = 0.1", ["lam = 0.1", "list"]),
        ("[grid]\nlam = []", ["lam = []", "list"]),
        ("[setting]\nlam = -1.0", ["lam = -1.0"]),
    ],
)
def test_bad_files_are_refused_by_name(refused, tmp_path, text, fragments):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    refused(lambda: read_settings(file), "bad.toml", *fragments)


def test_a_missing_file_is_refused(refused, tmp_path):
    refused(lambda: read_settings(tmp_path / "none.toml"), "no such file")


def test_a_grid_value_that_is_no_list_is_refused(refused):
    refused(lambda: grid({}, {"lam": 0.1}), "lam")
