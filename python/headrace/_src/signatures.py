"""The tf.Module that is saved: a model's variables, and its training, evaluation and prediction as graphs.

The module tracks only raw tf.Variables. A module with Keras layers would save a second set of variables,
which the functions do not read. Dropout's seeds, the learning rate and the step count are variables like the
weights, so that a checkpoint holds everything that a run continues from.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator

import keras
import tensorflow as tf

from headrace._src import fused_adam
from headrace._src.binding import Binding, Feature
from headrace._src.compiled_metrics import CompiledMetrics

ROW_WEIGHTS = "weights"
"""The argument of a step that says which rows are records: 0 marks a row that is not."""
RECORD_WEIGHTS = "record_weights"
"""The argument with the feature that holds the weights of records."""
# Keras' methods that a traced step replaces, so a model's own versions would not run.
_STEPS = (
    "train_step",
    "test_step",
    "compute_metrics",
    "get_metrics_result",
    "make_train_function",
    "make_test_function",
    "fit",
)


@dataclasses.dataclass(frozen=True)
class Variable:
    name: str
    role: str  # trainable, non_trainable, seed or optimizer
    value: tf.Variable

    @property
    def checkpoint_key(self) -> str:
        return f"vars/{self.name.replace('.', '..')}/.ATTRIBUTES/VARIABLE_VALUE"


def variables_of(model: keras.Model) -> list[Variable]:
    """Every variable that a run continues from, under a name that is unique and has no slash."""
    trainable = {id(v) for v in model.trainable_variables}
    metrics = {id(v) for v in model.metrics_variables}
    optimizer = {id(v) for v in model.optimizer.variables}
    found: dict[str, Variable] = {}
    for variable in [*model.variables, *model.optimizer.variables]:
        if id(variable) in metrics:
            continue
        name = variable.path.replace("/", "__")
        if name in found and found[name].value is variable.value:
            continue
        while name in found:
            name += "_"
        if id(variable) in trainable:
            role = "trainable"
        elif id(variable) in optimizer:
            role = "optimizer"
        else:
            role = "seed" if "seed_generator" in variable.path else "non_trainable"
        found[name] = Variable(name, role, variable.value)
    return list(found.values())


def metrics_of(model: keras.Model, binding: Binding) -> CompiledMetrics:
    return CompiledMetrics(model, binding, [variable.value for variable in variables_of(model)])


def trains_as_compiled(model: keras.Model) -> bool:
    """Whether a step of `fit` is Keras' own; only then does the traced `train_step` do the same."""
    return not {"train_step", "make_train_function", "fit"} & set(own_steps(model))


def own_steps(model: keras.Model) -> list[str]:
    """The methods of Keras that the model overrides although the traced steps replace them."""
    return [
        name
        for name in _STEPS
        if getattr(getattr(model, name), "__func__", None) is not getattr(keras.Model, name)
    ]


class TracedModel(tf.Module):
    """A compiled Keras model as named graphs; save it with `concrete_functions` as its signatures.

    `with_training`: also the graphs that change the variables, with the compiled optimizer and losses.
    """

    def __init__(self, model: keras.Model, binding: Binding, with_training: bool = True):
        super().__init__(name="headrace_model")
        self.vars = {variable.name: _savable(variable.value) for variable in variables_of(model)}
        self.tables = _tables_of(model)
        self.concrete_functions = _concrete_functions(model, binding, self.vars, with_training)


def _savable(variable: tf.Variable) -> tf.Variable:
    """Names the variables of a TFSMLayer, which Keras calls "x:0:0", so that TensorFlow can save them."""
    if variable.name.count(":") > 1:
        variable._handle_name = f"{variable.name.partition(':')[0]}:0"
    return variable


def _tables_of(model: keras.Model) -> list[tf.lookup.StaticHashTable]:
    """Lookup tables of layers, such as the vocabulary of a TextVectorization. They are not trained."""
    return [
        value
        for layer in model._flatten_layers()
        for value in vars(layer).values()
        if isinstance(value, tf.lookup.StaticHashTable)
    ]


class _LossOfOutput:
    """Replaces the metric in which Keras adds up the loss of one output: keeps the loss of the batch."""

    value: tf.Tensor

    def update_state(self, value, sample_weight=None):
        self.value = value


@contextlib.contextmanager
def _losses_of_outputs(model: keras.Model) -> Iterator[list[_LossOfOutput]]:
    """The losses of the outputs, if there are several. Call this after the model's loss is computed."""
    compiled = model._compile_loss
    trackers = compiled._metrics
    compiled._metrics = [_LossOfOutput() for _ in trackers]
    try:
        yield compiled._metrics
    finally:
        compiled._metrics = trackers


class _Computation:
    """The common part of all signatures. It is traced into each of them."""

    def __init__(self, model: keras.Model, binding: Binding):
        self.model, self.binding = model, binding
        self.metrics = metrics_of(model, binding)
        self.trainable = model.trainable_variables
        self.apply = model.optimizer.apply
        if fused_adam.can_replace(model.optimizer):
            self.apply = functools.partial(fused_adam.apply, model.optimizer)

    @property
    def batch_spec(self) -> list[tf.TensorSpec]:
        """The arguments of a step."""
        binding = self.binding
        columns = [_column_spec(to.tensor, to.feature) for to in binding.inputs]
        columns += [_column_spec(to.tensor, to.label) for to in binding.targets]
        if binding.weights is not None:
            columns.append(_column_spec(RECORD_WEIGHTS, binding.weights))
        rows = tf.TensorSpec([None], tf.float32, name=ROW_WEIGHTS)
        return [*columns, rows, *self.metrics.state_specs]

    def records_of(self, batch):
        """The columns, without the rows that are not records and with the rows' weights last; and the states
        of metrics."""
        columns = len(batch) - len(self.metrics.state_specs)
        return _without_padding(batch[:columns]), list(batch[columns:])

    def evaluate(self, columns, states, training):
        """Loss, the step's results for the metrics, and predictions, for the result of `records_of`."""
        inputs, targets = len(self.binding.inputs), len(self.binding.targets)
        labels, rest = columns[inputs : inputs + targets], columns[inputs + targets :]
        x, y = self.binding.x(columns[:inputs]), self.binding.y(labels)
        weights = rest[-1]  # all are 1
        of_records = self.binding.sample_weights(labels, rest[:-1], training)
        if of_records is not None:
            weights = weights * of_records
        predictions = self.model(x, training=training)
        with _losses_of_outputs(self.model) as losses:
            loss = self.model.compute_loss(x=x, y=y, y_pred=predictions, sample_weight=weights)
        metrics = {
            "metrics": self.metrics.sums(y, predictions, [of.value for of in losses]),
            **self.metrics.named_states(self.metrics.next_states(states, y, predictions, weights)),
        }
        return loss, metrics, predictions

    def differentiate(self, batch):
        """Loss, metrics, and the gradients as TensorFlow computes them: gradients of embeddings list each row
        as often as the batch has looked it up."""
        columns, states = self.records_of(batch)
        with tf.GradientTape() as tape:
            loss, metrics, _ = self.evaluate(columns, states, training=True)
            scaled = self.model.optimizer.scale_loss(loss)
        values = [variable.value for variable in self.trainable]
        return loss, metrics, tape.gradient(scaled, values, unconnected_gradients="zero")


def _concrete_functions(
    model: keras.Model, binding: Binding, all_variables: dict[str, tf.Variable], with_training: bool
) -> dict:
    computation = _Computation(model, binding)
    metrics = computation.metrics
    batch_spec = computation.batch_spec
    gradient_specs = [
        tf.TensorSpec(variable.shape, tf.as_dtype(variable.dtype), name=f"gradient_{i}")
        for i, variable in enumerate(computation.trainable)
    ]

    @tf.function(input_signature=batch_spec)
    def train_step(*batch):
        loss, metrics, computed = computation.differentiate(batch)
        computation.apply(computed, computation.trainable)
        return {"loss": loss, **metrics}

    @tf.function(input_signature=batch_spec)
    def gradients(*batch):
        loss, metrics, computed = computation.differentiate(batch)
        named = {f"gradient_{i}": tf.convert_to_tensor(gradient) for i, gradient in enumerate(computed)}
        return {"loss": loss, **metrics, **named}

    @tf.function(input_signature=gradient_specs)
    def apply_gradients(*computed):
        computation.apply(list(computed), computation.trainable)
        iterations = keras.ops.convert_to_tensor(model.optimizer.iterations)  # may be a computed value
        return {"iteration": tf.cast(iterations, tf.int64)}

    @tf.function(input_signature=batch_spec)
    def eval_step(*batch):
        columns, states = computation.records_of(batch)
        loss, metrics, predictions = computation.evaluate(columns, states, training=False)
        return {"loss": loss, **metrics, **binding.named(predictions)}

    @tf.function(input_signature=batch_spec[: len(binding.inputs)])
    def predict(*columns):
        return binding.named(model(binding.x(list(columns)), training=False))

    @tf.function(input_signature=[])
    def variables():
        return {name: tf.identity(value) for name, value in all_variables.items()}

    @tf.function(input_signature=[])
    def reset_metrics():
        return metrics.named_states(metrics.first_states())

    @tf.function(input_signature=metrics.state_specs)
    def metric_results(*states):
        return metrics.results(list(states))

    traced = [eval_step, predict, variables]
    if metrics.stateful:
        traced += [reset_metrics, metric_results]
    if with_training:
        traced = [train_step, gradients, apply_gradients, *traced]
        if _learning_rate_of(model.optimizer) is not None:
            traced.append(_learning_rate_setter(model.optimizer))
    concrete = {function.__name__: function.get_concrete_function() for function in traced}
    return {**concrete, "serving_default": concrete["predict"]}


def _learning_rate_of(optimizer: keras.optimizers.Optimizer):
    """The variable of the learning rate; None if a schedule computes the rate."""
    rate = getattr(optimizer, "_learning_rate", None)
    return rate if isinstance(rate, keras.Variable) else None


def learning_rate_name(model: keras.Model) -> str | None:
    rate = _learning_rate_of(model.optimizer)
    return rate.path.replace("/", "__") if rate is not None else None


def _learning_rate_setter(optimizer: keras.optimizers.Optimizer):
    rate = _learning_rate_of(optimizer).value

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="learning_rate")])
    def set_learning_rate(learning_rate):
        rate.assign(tf.cast(learning_rate, rate.dtype))
        return {"learning_rate": rate.read_value()}

    return set_learning_rate


def _column_spec(tensor: str, feature: Feature) -> tf.TensorSpec:
    return tf.TensorSpec([None, *feature.tensor_shape], feature.tensor_dtype, name=tensor)


def _without_padding(batch):
    """Drops rows of weight 0, so that means and layers' batch statistics cover only the real rows. A batch
    without padding is not copied."""
    weights = batch[-1]

    def drop():
        real = weights > 0
        return [tf.boolean_mask(tensor, real) for tensor in batch]

    kept = tf.cond(tf.reduce_all(weights > 0), lambda: list(batch), drop)
    for tensor, original in zip(kept, batch, strict=True):
        tensor.set_shape(original.shape)
    return kept
