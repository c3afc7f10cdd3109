"""Keras' Adam as one kernel per variable: the same formula, in a third of the time of the dozen operations
that `keras.optimizers.Adam.apply` becomes in a graph. Results differ only in the last bits
(test_trace.py)."""

from __future__ import annotations

import keras
import tensorflow as tf

# The options that TensorFlow's kernel does not support.
_OPTIONS = (
    "amsgrad",
    "weight_decay",
    "use_ema",
    "clipnorm",
    "global_clipnorm",
    "clipvalue",
    "loss_scale_factor",
    "gradient_accumulation_steps",
)
_LARGEST_BETA_2 = 0.999


def can_replace(optimizer: keras.optimizers.Optimizer) -> bool:
    """Whether the optimizer is plain Adam over float32, with no options other than the rates. The optimizer
    must be built.

    The kernel computes 1 - beta_2 in single precision. At Keras' default of 0.999 that changes a step by
    6.4e-6 of its size; nearer to 1 it would change more, so such an optimizer is left to Keras.
    """
    return (
        type(optimizer) is keras.optimizers.Adam
        and optimizer.beta_2 <= _LARGEST_BETA_2
        and not any(getattr(optimizer, option, None) for option in _OPTIONS)
        and all(slot.dtype == "float32" for slot in optimizer._momentums)
    )


def apply(optimizer: keras.optimizers.Adam, gradients: list, variables: list) -> None:
    """Does the same as `optimizer.apply(gradients, variables)`. Gradients of embeddings are left to Keras,
    which uses another formula for them: it squares the parts of a row's gradient before it adds them."""
    rate = tf.cast(optimizer._get_current_learning_rate(), tf.float32)
    step = tf.cast(optimizer.iterations.value + 1, tf.float32)
    beta_1, beta_2 = tf.constant(optimizer.beta_1, tf.float32), tf.constant(optimizer.beta_2, tf.float32)
    powers = tf.pow(beta_1, step), tf.pow(beta_2, step)
    for gradient, variable in zip(gradients, variables, strict=True):
        index = optimizer._get_variable_index(variable)
        if isinstance(gradient, tf.IndexedSlices):
            optimizer.update_step(gradient, variable, rate)
        else:
            tf.raw_ops.ResourceApplyAdam(
                var=variable.value.handle,
                m=optimizer._momentums[index].value.handle,
                v=optimizer._velocities[index].value.handle,
                beta1_power=powers[0],
                beta2_power=powers[1],
                lr=rate,
                beta1=beta_1,
                beta2=beta_2,
                epsilon=optimizer.epsilon,
                grad=gradient,
            )
        if variable.constraint is not None:
            variable.assign(variable.constraint(variable))
    optimizer.iterations.assign_add(1)
