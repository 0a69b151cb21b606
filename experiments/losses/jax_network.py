"""The network of `run.py` in JAX: every step is one compiled program, into which the labels of a batch go."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from kernelcal.losses import skce_loss


def begin(seed):
    """Weights as PyTorch begins: uniform, within one over the root of the inputs."""
    keys = jax.random.split(jax.random.key(seed), 4)
    shapes, inputs = ((64, 256), (256,), (256, 10), (10,)), (64, 64, 256, 256)
    return [
        jax.random.uniform(key, shape, minval=-(n**-0.5), maxval=n**-0.5)
        for key, shape, n in zip(keys, shapes, inputs, strict=True)
    ]


def logits(weights, x):
    a, b, c, d = weights
    return jax.nn.relu(x @ a + b) @ c + d


@partial(jax.jit, static_argnums=0)
def step(weight, state, x, y):
    """One step of Adam."""
    weights, mean, square, t = state

    def loss(weights):
        z = logits(weights, x)
        found = -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], axis=1).mean()
        return found + weight * skce_loss(jax.nn.softmax(z), y) if weight else found

    slopes, t = jax.grad(loss)(weights), t + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, slopes)
    weights = jax.tree.map(
        lambda w, m, s: w - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(s / (1 - 0.999**t)) + 1e-8), weights, mean, square
    )
    return weights, mean, square, t


def jax_probabilities(parts, seed, weight, passes, batch):
    """Probabilities of held-out rows by a network that was trained with or without the penalty."""
    (x, y), _, (held_out, _) = parts
    weights, rng = begin(seed), np.random.default_rng([seed, 1])
    zero = jax.tree.map(jnp.zeros_like, weights)
    state = (weights, zero, zero, 0.0)
    for _ in range(passes):
        order = rng.permutation(len(y))
        for rows in order.reshape(-1, batch):
            state = step(weight, state, x[rows], y[rows])
    return jax.nn.softmax(np.asarray(logits(state[0], held_out), np.float64))
