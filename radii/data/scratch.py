"""Room for columns as long as the corpus: in memory, or in a file of their own where they are large."""

from __future__ import annotations

import mmap
import os
import tempfile
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

LARGE = 8 << 20  # bytes


def scratch(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """An array to be written before it is read, like `numpy.empty`.

    One of more than 8 MB lies in a nameless file of the folder for temporary files (TMPDIR), which is gone
    with the array, or with the process, however that ends. Like pages of an input file, its pages take no
    memory that the system cannot have back. Where there is no such file (a full disk, Windows, macOS), the
    array lies in memory.

    >>> scratch((2, 3), np.float32).shape
    (2, 3)
    """
    shape = (shape,) if isinstance(shape, int) else shape
    size = prod(shape) * np.dtype(dtype).itemsize
    if size > LARGE and hasattr(os, "posix_fallocate"):
        with suppress(OSError), tempfile.TemporaryFile(prefix="radii-") as file:
            # All of it now: on a disk that is full later, writing to the map would end the process.
            os.posix_fallocate(file.fileno(), 0, size)
            return np.frombuffer(mmap.mmap(file.fileno(), size), dtype=dtype).reshape(shape)
    return np.empty(shape, dtype=dtype)
