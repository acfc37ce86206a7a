#!/usr/bin/env bash
# The oldest versions that pyproject.toml allows, in a venv of their own, and the part of the suite that needs no
# model. torch is left out: the wheel of its lower bound brings several gigabytes of CUDA; and so is what needs it.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.lowest
"${PYTHON:-python3.11}" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --resolution lowest-direct \
    -e '.[report,collections,engines,ray,remote]' \
    'pytest>=8.3' 'pytest-randomly>=3.16' 'hypothesis>=6.120' 'import-linter>=2.1' 'packaging>=24'
"$venv/bin/uv" pip list --python "$venv/bin/python" --quiet
# Old versions warn of what later ones removed; the default suite is the one that takes warnings for errors.
"$venv/bin/python" -m pytest -q -p no:cacheprovider -o filterwarnings=default \
    --ignore tests/data/test_vectors.py \
    tests/data tests/ranking tests/signals tests/evidence tests/deploy tests/report \
    tests/test_cli.py tests/test_auditing.py tests/test_attribution.py -k 'not embed and not tokenizer' "$@"
