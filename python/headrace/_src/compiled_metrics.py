"""The metrics that a model was compiled with, as parts of its signatures (docs/formats/traced-model.md).

A mean over examples is returned as its sum: the sums of batches add up exactly, and need no state. Every
other metric (AUC, precision, …) has a state, which Keras keeps in variables. Here the states are arguments
and results of a step: the caller of the steps holds one set for each pass over the data. So validation cannot
disturb training, an evaluation step never changes the model, and no checkpoint or export holds the states.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import keras
import tensorflow as tf

from headrace._src.binding import Binding


@dataclasses.dataclass(frozen=True)
class CompiledMetric:
    """A metric and the output that it measures."""

    name: str  # its name in the history of `fit`
    output: int
    is_weighted: bool  # from `weighted_metrics`
    metric: keras.metrics.Metric

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the mean of a function of examples."""
        kind, wrapper = type(self.metric), keras.metrics.MeanMetricWrapper
        return (
            isinstance(self.metric, wrapper)
            and kind.update_state is wrapper.update_state
            and kind.result is wrapper.result
        )


class CompiledMetrics:
    """The metrics: `means`, `stateful` ones, and `ignored` ones, which cannot be computed in a graph."""

    def __init__(self, model: keras.Model, binding: Binding, variables: list[tf.Variable]):
        """`variables`: the variables that the signatures may read."""
        self._compiled = model._compile_metrics
        self._losses = [tracker.name for tracker in model._compile_loss.metrics]
        self.means: list[CompiledMetric] = []
        self.stateful: list[CompiledMetric] = []
        self.ignored: list[CompiledMetric] = []
        targets, predicted = (
            self._flatten(binding.sample_targets()),
            self._flatten(binding.sample_predictions),
        )
        known = {id(variable) for variable in variables}
        for entry in _entries(self._compiled):
            if entry.is_mean and not (entry.is_weighted and binding.has_weights):
                self.means.append(entry)
            elif _is_of_a_graph(entry, targets[entry.output], predicted[entry.output], known):
                self.stateful.append(entry)
            else:
                self.ignored.append(entry)

    @property
    def names_of_sums(self) -> list[str]:
        return ["examples", *self._losses, *(entry.name for entry in self.means)]

    def sums(self, y: Any, predictions: Any, losses: list[tf.Tensor]) -> tf.Tensor:
        """[examples, sum over examples of each output's loss and of each mean]: sums of batches add up
        exactly to the sum of an epoch. `losses`: the outputs' losses, if there are several."""
        targets, predicted = self._flatten(y), self._flatten(predictions)
        examples = tf.cast(tf.shape(predicted[0])[0], tf.float32)
        sums = [examples, *(loss * examples for loss in losses)]
        for entry in self.means:
            metric = entry.metric
            values = metric._fn(targets[entry.output], predicted[entry.output], **metric._fn_kwargs)
            values = tf.cast(values, tf.float32)
            is_mean = values.shape.rank == 0
            sums.append(tf.reduce_mean(values) * examples if is_mean else _sum_of_rows(values))
        return tf.stack(sums)

    @property
    def state_specs(self) -> list[tf.TensorSpec]:
        """The specs of all states, in order."""
        variables = [variable for entry in self.stateful for variable in entry.metric.variables]
        return [
            tf.TensorSpec(variable.shape, tf.as_dtype(variable.dtype), name=f"metric_state_{number}")
            for number, variable in enumerate(variables)
        ]

    def named_states(self, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        return {spec.name: state for spec, state in zip(self.state_specs, states, strict=True)}

    def first_states(self) -> list[tf.Tensor]:
        """The states before the first batch."""
        states = [state for entry in self.stateful for state in entry.metric.stateless_reset_state()]
        return [tf.cast(state, spec.dtype) for state, spec in zip(states, self.state_specs, strict=True)]

    def next_states(
        self, states: list[tf.Tensor], y: Any, predictions: Any, weights: tf.Tensor
    ) -> list[tf.Tensor]:
        """The states after a batch. A batch without rows changes nothing."""
        if not states:
            return []
        targets, predicted = self._flatten(y), self._flatten(predictions)

        def update() -> list[tf.Tensor]:
            updated = []
            for entry, before in self._of_each(states):
                given = [before, targets[entry.output], predicted[entry.output]]
                updated += _updated(entry, *given, weights if entry.is_weighted else None)
            return updated

        return tf.cond(tf.shape(predicted[0])[0] > 0, update, lambda: [tf.identity(s) for s in states])

    def results(self, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """The values of the metrics, by name."""
        return {entry.name: _result(entry, state) for entry, state in self._of_each(states)}

    def _of_each(self, states: list[tf.Tensor]) -> list[tuple[CompiledMetric, list[tf.Tensor]]]:
        pairs, begin = [], 0
        for entry in self.stateful:
            end = begin + len(entry.metric.variables)
            pairs.append((entry, states[begin:end]))
            begin = end
        return pairs

    def _flatten(self, structure: Any) -> list:
        """The metrics in Keras' order of outputs."""
        return tf.nest.flatten(structure) if self._compiled is None else self._compiled._flatten_y(structure)


def _entries(compiled) -> list[CompiledMetric]:
    """All metrics, under the unique names that Keras gives them."""
    if compiled is None:
        return []
    entries: list[CompiledMetric] = []
    counts: dict[str, int] = {}

    def free(name: str) -> str:
        count = counts[name] = counts.get(name, -1) + 1
        return f"{name}_{count}" if count else name

    for is_weighted, lists in ((False, compiled._flat_metrics), (True, compiled._flat_weighted_metrics)):
        for output, its in enumerate(lists):
            prefix = f"{its.output_name}_" if its is not None and its.output_name else ""
            for metric in its.metrics if its is not None else []:
                name = prefix + metric.name
                if is_weighted and name in counts:
                    name = f"{prefix}weighted_{metric.name}"
                entries.append(CompiledMetric(free(name), output, is_weighted, metric))
    return entries


def _updated(
    entry: CompiledMetric, before: list[tf.Tensor], target: Any, predicted: Any, weights: tf.Tensor | None
) -> list[tf.Tensor]:
    given = (target, predicted) if weights is None else (target, predicted, weights)
    after = entry.metric.stateless_update_state(before, *given)
    return [tf.cast(new, old.dtype) for new, old in zip(after, before, strict=True)]


def _result(entry: CompiledMetric, states: list[tf.Tensor]) -> tf.Tensor:
    return tf.cast(entry.metric.stateless_result(states), tf.float32)


def _is_of_a_graph(entry: CompiledMetric, target: Any, predicted: Any, known: set[int]) -> bool:
    """Whether a graph can compute the metric: Python code that inspects values cannot be traced, and a state
    outside Keras' variables would not be found. `known`: variables that the graph may read."""
    states = [tf.TensorSpec(v.shape, tf.as_dtype(v.dtype)) for v in entry.metric.variables]
    if not states:
        return False
    batch = [tf.TensorSpec([None, *value.shape[1:]], value.dtype) for value in (target, predicted)]

    @tf.function(input_signature=[*batch, tf.TensorSpec([None], tf.float32), *states])
    def once(target, predicted, weights, *before):
        used = weights if entry.is_weighted else None
        return _result(entry, _updated(entry, list(before), target, predicted, used))

    try:
        variables = once.get_concrete_function().graph.variables
    except Exception:  # user code may raise anything; Keras' own fit may still compute the metric
        return False
    return all(id(variable) in known for variable in variables)


def _sum_of_rows(values: tf.Tensor) -> tf.Tensor:
    axes = list(range(1, values.shape.rank))
    return tf.reduce_sum(tf.reduce_mean(values, axis=axes) if axes else values)
