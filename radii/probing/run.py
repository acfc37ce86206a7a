"""`radii.probe`: virtual gradient probes of a trained encoder, from pairs and inputs to a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from radii.data.embeddings import Floats
from radii.data.files import StrPath
from radii.errors import InputError
from radii.probing.adapters import Adapter, choose_parameters, held
from radii.probing.checks import Exponent, damping, exponent, radial_share, token_turn
from radii.probing.judge import Collected, correlation_errors, judge
from radii.probing.moments import Moments
from radii.probing.objectives import Objective
from radii.probing.objectives import objective as known_objective
from radii.probing.protocol import Protocol, read_protocol
from radii.probing.report import Probe, Setup
from radii.probing.steps import Direction, direction
from radii.probing.surrogate import Inputs, Pair, Surrogate, minibatches
from radii.signals.length import tokens

Progress = Callable[[int, int], None]  # (minibatches done, minibatches allowed)

RELATIVE_STEP = 0.01  # of the norm: first order to about 1 %, far above the rounding of float32
WARM_UP = 8  # minibatches whose mean g² is AdamW's second moment
CHECK_EVERY = 4  # minibatches between two looks at `until`
_WARM_NUMBERS = 1_000_000
_SAMPLE = 32  # inputs of the exponent, and four times those of the token check


def probe(
    encoder: Adapter | StrPath,
    pairs: Sequence[Pair],
    inputs: Sequence[Any],
    *,
    ids: Sequence[str] | None = None,
    partner: Adapter | None = None,
    objective: str | Objective = "infonce",
    signals: Mapping[str, Floats] | None = None,
    progress: Progress | None = None,
    **protocol: Any,
) -> Probe:
    """Probe a trained encoder: what minibatches would do to the norm of each input.

    Every minibatch of a surrogate objective takes one virtual optimiser step; the inputs are re-embedded and
    the parameters put back, bit for bit. Dropout and batch statistics are frozen while re-embedding.

    Parameters
    ----------
    encoder : Adapter, str or path
        See `radii.probing.adapters`; a name or folder is a sentence-transformers model on this machine.
    pairs : sequence of (anchor, positive)
        Of the surrogate. simcse reads the anchors only.
    inputs : sequence
        Items of the encoder to probe, three or more.
    ids : sequence of str, optional
        Of the inputs; row numbers by default.
    partner : Adapter, optional
        Encodes the positives, such as an image tower; by default the encoder itself.
    objective : {'infonce', 'siglip', 'simcse'} or Objective
    signals : mapping, optional
        Name → (n_inputs,) further confounds to partial out beside text length.
    progress : callable, optional
        Called with (minibatches done, minibatches allowed).
    **protocol
        Attributes of `Protocol`.

    Returns
    -------
    Probe
        `report`, and `columns` of each input. Norms go with heat by arithmetic alone: read `regime` first.

    Raises
    ------
    InputError
        On unusable arguments, and where steps move nothing.
    NumericalError
        When a loss, gradient or vector is not finite.
    MissingExtraError
        Without torch or sentence-transformers.
    """
    began = time.perf_counter()
    how = read_protocol(protocol)
    names = [str(row) for row in range(len(inputs))] if ids is None else list(ids)
    if len(inputs) < 3 or len(names) != len(inputs):
        raise InputError(
            f"{len(inputs)} inputs, {len(names)} ids",
            where="inputs",
            fix="give 3 or more, and an id for each",
        )
    goal = objective if isinstance(objective, Objective) else known_objective(objective)
    dealt = minibatches(pairs, how.batch_size, how.seed)
    if not isinstance(encoder, Adapter):
        from radii.probing.sentence import load_sentence_transformer

        encoder = load_sentence_transformer(encoder)
    towers = [encoder] if partner is None else [encoder, partner]
    parameters = choose_parameters(towers, how.params)
    surrogate = Surrogate(encoder, partner or encoder, goal, parameters, how.seed)
    with held(towers, parameters):
        found = _steps(surrogate, Inputs(encoder, inputs, how.embed_batch), dealt, how, progress)
    length = _lengths(encoder, inputs)
    setup = _setup(found.moments, surrogate, how, found.stopped, len(pairs))
    return judge(found, setup, names, length, signals or {}, how, began)


def _steps(
    surrogate: Surrogate,
    inputs: Inputs,
    dealt: Iterator[list[Pair]],
    how: Protocol,
    progress: Progress | None,
) -> Collected:
    start = inputs.vectors()
    _check_start(start, surrogate.encoder.name)
    alpha = damping(
        list(surrogate.parameters.values()), inputs, start, matrices_only=how.decayed == "matrices"
    )
    warm = list(islice(dealt, WARM_UP)) if how.optimizer == "adamw" else []
    way = _warmed(surrogate, warm, how.optimizer)
    rows = np.linspace(0, len(start) - 1, min(_SAMPLE, len(start))).round().astype(int)
    first: list[tuple[list[Pair], Floats]] = []
    moments, eta, stopped = None, how.eta, False
    for number, batch in enumerate(islice(dealt, how.batches)):
        gradients = surrogate.gradients(batch, number)
        if eta is None:
            anchors = [pair[0] for pair in batch]
            eta, steps = surrogate.trial_rate(way, gradients, anchors, RELATIVE_STEP)
        else:
            steps = way.displacements(gradients, eta)
        del gradients
        if how.method == "jvp":
            reached = start + inputs.tangents(surrogate.parameters, steps)
        else:
            reached = surrogate.reach(steps, inputs)
        del steps
        moments = Moments(start, eta, how.groups) if moments is None else moments
        moments.add(reached)
        if number < how.exponent_batches:
            first.append((batch, reached[rows] - start[rows]))
        if progress is not None:
            progress(number + 1, how.batches)
        if number + 1 < how.batches and _narrow(moments, how.until):
            stopped = True
            break
    if moments is None or eta is None:  # a protocol has four minibatches or more
        raise InputError("no minibatch", where="pairs", fix="give more pairs")
    sample = Inputs(surrogate.encoder, [inputs.items[row] for row in rows], how.embed_batch)
    power = _power(surrogate, sample, start[rows], first, warm, eta, how.optimizer)
    turn = token_turn(surrogate.encoder, sample.items[::4])
    radial = radial_share(surrogate.radial, surrogate.total)
    return Collected(moments, alpha, power, turn, radial, stopped)


def _check_start(start: Floats, name: str) -> None:
    norms = np.linalg.norm(start, axis=1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if bad.size:
        raise InputError(
            f"{bad.size} inputs without a direction, first row {bad[0]}",
            where=name,
            cause="an empty text, or damaged weights",
            fix="drop these inputs",
        )
    if np.ptp(norms) < 1e-5 * norms.mean():
        raise InputError(
            f"every norm is {norms.mean():.6g} up to rounding",
            where=name,
            cause="the adapter gives normalised vectors, or inputs that are all alike",
            fix="embed without normalising",
        )


def _warmed(surrogate: Surrogate, warm: Sequence[list[Pair]], optimizer: str) -> Direction:
    # Their dropout differs from that of the minibatches that count, which are numbered from 0.
    numbered = enumerate(warm, start=_WARM_NUMBERS)
    return direction(optimizer, [partial(surrogate.gradients, batch, number) for number, batch in numbered])


def _power(
    surrogate: Surrogate,
    sample: Inputs,
    start: Floats,
    first: Sequence[tuple[list[Pair], Floats]],
    warm: Sequence[list[Pair]],
    eta: float,
    optimizer: str,
) -> Exponent:
    if not first:
        return Exponent(None, None, "not asked for")
    kept = surrogate.radial, surrogate.total

    def again(there: Floats) -> Floats:
        way, found = _warmed(surrogate, warm, optimizer), []
        for number, (batch, _) in enumerate(first):
            steps = way.displacements(surrogate.gradients(batch, number), eta)
            found.append(surrogate.reach(steps, sample) - there)
        return np.array(found)

    power = exponent(surrogate.encoder, sample, start, np.array([delta for _, delta in first]), again)
    surrogate.radial, surrogate.total = kept  # of the model as it is
    return power


def _narrow(moments: Moments, until: float | None) -> bool:
    if until is None or moments.batches < 2 * CHECK_EVERY or moments.batches % CHECK_EVERY:
        return False
    error = correlation_errors(moments)["raw"]
    return error is not None and 1.96 * error <= until


def _setup(moments: Moments, surrogate: Surrogate, how: Protocol, stopped: bool, n_pairs: int) -> Setup:
    return Setup(
        model=surrogate.encoder.name,
        objective=surrogate.objective.name,
        optimizer=how.optimizer,
        method=how.method,
        params=how.params,
        n_parameters=sum(p.numel() for p in surrogate.parameters.values()),
        eta=moments.eta,
        eta_chosen=how.eta is None,
        weight_decay=how.weight_decay,
        decayed=how.decayed,
        batches=moments.batches,
        batches_allowed=how.batches,
        stopped_early=stopped,
        until=how.until,
        batch_size=how.batch_size,
        n_pairs=n_pairs,
        n_inputs=len(moments.norms),
        dim=moments.vectors.shape[1],
        groups=how.groups,
        seed=how.seed,
    )


def _lengths(encoder: Adapter, inputs: Sequence[Any]) -> Floats | None:
    if encoder.lengths is not None:
        found = np.asarray(encoder.lengths(inputs), dtype=np.float64)
    elif all(isinstance(item, str) for item in inputs):
        found = tokens(inputs)
    else:
        return None
    return found if np.ptp(found) > 0 else None
