"""Paste real output into the README: between `<!-- NAME -->` and `<!-- /NAME -->`, from a real run.

python scripts/refresh_readme.py demo
python scripts/refresh_readme.py scifact FOLDER    # docs.npy, queries.npy, qrels.tsv, corpus.jsonl
python scripts/refresh_readme.py bench FILE        # what `make bench` printed
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
RADII = Path(sys.executable).with_name("radii")


def printed(*command: str) -> str:
    """Standard output of radii, 100 columns wide, run in a folder of its own as `make` does: from .venv."""
    with tempfile.TemporaryDirectory() as folder:
        called = Path(folder, ".venv", "bin", "radii")
        called.parent.mkdir(parents=True)
        called.symlink_to(RADII)
        environment = os.environ | {"COLUMNS": "100", "PATH": os.defpath}
        words = [str(called.relative_to(folder)), *command]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder, env=environment)
    return done.stdout


def paste(name: str, text: str) -> None:
    """Replace a block of the README; exits when it has none of this name."""
    lines = "\n".join(("    " + line).rstrip() for line in text.rstrip().splitlines())
    before = README.read_text()
    after = re.sub(
        rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda m: f"{m[1]}{lines}\n{m[2]}", before, flags=re.S
    )
    if f"<!-- {name} -->" not in before:
        sys.exit(f"README.md has no block {name}")
    README.write_text(after)


def main() -> None:
    """Refresh the block named on the command line."""
    name, *rest = sys.argv[1:]
    if name == "demo":
        paste(name, printed("demo"))
    elif name == "scifact":
        [folder] = rest
        files = {part: str(Path(folder, part).resolve()) for part in os.listdir(folder)}
        queries, qrels, texts = files["queries.npy"], files["qrels.tsv"], files["corpus.jsonl"]
        paste(
            name,
            printed("audit", files["docs.npy"], "--queries", queries, "--qrels", qrels, "--texts", texts),
        )
    else:
        [file] = rest
        paste(name, "\n".join(line for line in Path(file).read_text().splitlines() if "holds" in line))


if __name__ == "__main__":
    main()
