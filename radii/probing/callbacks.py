"""A monitor as a callback of transformers' and Lightning's trainers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from radii.errors import MissingExtraError

if TYPE_CHECKING:
    from radii.probing.monitoring import Monitor


def trainer_callback(watch: Monitor) -> Any:
    """A transformers.TrainerCallback that steps the monitor and takes the trainer's optimiser.

    Raises MissingExtraError without transformers.
    """
    try:
        from transformers import TrainerCallback
    except ModuleNotFoundError as error:
        raise MissingExtraError("transformers", "models") from error

    class RadiiCallback(TrainerCallback):  # type: ignore[misc]
        """Steps a radii monitor."""

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if watch.optimizer is None:
                watch.optimizer = more.get("optimizer")
            watch.step()

    return RadiiCallback()


def lightning_callback(watch: Monitor) -> Any:
    """A Lightning Callback that steps the monitor whenever the global step rises.

    Raises MissingExtraError without lightning.
    """
    try:
        from lightning.pytorch import Callback
    except ModuleNotFoundError as error:
        raise MissingExtraError("lightning", "monitor") from error

    class RadiiCallback(Callback):  # type: ignore[misc]
        """Steps a radii monitor."""

        def __init__(self) -> None:
            self._seen = 0

        def on_train_start(self, trainer: Any, module: Any) -> None:
            self._seen = trainer.global_step

        def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
            if trainer.global_step > self._seen:  # not on a batch that only gathers gradients
                self._seen = trainer.global_step
                if watch.optimizer is None:
                    watch.optimizer = trainer.optimizers[0]
                watch.step()

    return RadiiCallback()
