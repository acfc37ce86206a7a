"""What several rooms' tests share: where the real data lies, and what a refusal has to say."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from radii.errors import InputError


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real collections; a test that asks for it is skipped where they are not."""
    root = Path(os.environ.get("RADII_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not root.is_dir():
        pytest.skip(f"no data in {root}: set RADII_DATA to the folder of the collections")
    return root


@pytest.fixture(scope="session")
def refused() -> Callable[..., InputError]:
    """Check that a call raises an InputError of one line with a fix and the fragments given."""

    def check(call: Callable[[], object], *fragments: object) -> InputError:
        with pytest.raises(InputError) as caught:
            call()
        message = str(caught.value)
        assert message.isprintable(), "more than one line, or control characters"
        assert caught.value.where, "no place"
        assert caught.value.fix, "no fix"
        for fragment in fragments:
            assert str(fragment) in message
        return caught.value

    return check


# Compilation and a busy machine make single examples slow; the suite as a whole has its own limit.
settings.register_profile("radii", deadline=None)
settings.load_profile("radii")
