"""Where PyTorch multiplies, and that it does so in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from radii.errors import MissingExtraError, NumericalError

try:
    import torch
except ImportError as error:
    raise MissingExtraError("torch", "torch") from error

Tensor = Any  # mypy reads none of torch


def choose_device() -> Any:
    """Where products are computed: CUDA, else MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


@contextmanager
def full_precision(kind: str) -> Iterator[None]:
    """float32 products in float32, whatever the process asked for; as it was afterwards.

    Inside, no TensorFloat-32, no bfloat16, no autocast on devices of this kind, and no autograd.
    """
    with _ieee(), torch.autocast(kind, enabled=False), torch.inference_mode():
        yield


@contextmanager
def _ieee() -> Iterator[None]:
    """The settings of products, which belong to the process."""
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # before torch 2.9
        known = torch.get_float32_matmul_precision()
        try:
            torch.set_float32_matmul_precision("highest")
            yield
        finally:
            torch.set_float32_matmul_precision(known)
        return
    settings = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    before = [setting.fp32_precision for setting in settings]
    try:
        for setting in settings:
            setting.fp32_precision = "ieee"
        yield
    finally:
        for setting, was in zip(settings, before, strict=True):
            setting.fp32_precision = "none"  # inherits
            if setting.fp32_precision != was:
                setting.fp32_precision = was


def check_product(sims: Tensor, queries: Tensor, docs: Tensor, error: float) -> None:
    """Hold a corner of a product against float64: no setting can promise how a device multiplies."""
    left, right = (side[:64].cpu().numpy().astype(np.float64) for side in (queries, docs))
    off = float(np.abs(sims[:64, :64].cpu().numpy() - left @ right.T).max())
    if off > error:
        raise NumericalError(
            f"{sims.device}: a float32 product is off by {off:.1e}, rounding explains {error:.1e}; "
            "reduced precision is on outside PyTorch's settings; use --backend numba"
        )
