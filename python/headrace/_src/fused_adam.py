"""Keras' Adam as one kernel per variable: the same formula, a third of the time of the dozen operations that
`keras.optimizers.Adam.apply` becomes in a graph. Results differ in the last bits only (test_trace.py)."""

from __future__ import annotations

import keras
import tensorflow as tf


def can_replace(optimizer: keras.optimizers.Optimizer) -> bool:
    """Whether the optimizer is plain Adam: TensorFlow's kernel knows none of Keras' options beside the rates."""
    return (
        type(optimizer) is keras.optimizers.Adam
        and not optimizer.amsgrad
        and not optimizer.weight_decay
        and not optimizer.use_ema
        and optimizer.clipnorm is None
        and optimizer.global_clipnorm is None
        and optimizer.clipvalue is None
        and optimizer.loss_scale_factor is None
        and optimizer.gradient_accumulation_steps is None
        and all(variable.dtype == "float32" for variable in optimizer.variables if "iteration" not in variable.path)
    )


def apply(optimizer: keras.optimizers.Adam, gradients: list, variables: list) -> None:
    """As `optimizer.apply(gradients, variables)`."""
    rate = tf.cast(optimizer._get_current_learning_rate(), tf.float32)
    step = tf.cast(optimizer.iterations.value + 1, tf.float32)
    beta_1, beta_2 = tf.constant(optimizer.beta_1, tf.float32), tf.constant(optimizer.beta_2, tf.float32)
    powers = tf.pow(beta_1, step), tf.pow(beta_2, step)
    for gradient, variable in zip(gradients, variables):
        index = optimizer._get_variable_index(variable)
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
