"""The tf.Module that is saved: a model's variables, and its training, evaluation and prediction as graphs.

It tracks raw tf.Variables only. A module that held Keras layers would save a second set of variables, which
the functions do not read. Dropout's seeds, the learning rate and the step count are
variables like the weights, so that a checkpoint holds everything a run continues from.
"""

from __future__ import annotations

import dataclasses
import functools

import keras
import tensorflow as tf

from headrace._src import fused_adam


@dataclasses.dataclass(frozen=True)
class Spec:
    """The data that a model is traced for."""

    features: tuple[int, ...]
    classes: int
    label_dtype: str = "int64"


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


def mean_metrics_of(model: keras.Model) -> tuple[list, list[str]]:
    """The compiled metrics that are a mean over examples, and the names of those that are not."""
    compiled = [inner for metric in model.metrics for inner in getattr(metric, "metrics", [])]
    means = [metric for metric in compiled if isinstance(metric, keras.metrics.MeanMetricWrapper)]
    return means, [metric.name for metric in compiled if metric not in means]


def metric_names_of(model: keras.Model) -> tuple[list[str], list[str]]:
    """The names of the elements in a step's `metrics`, and of the compiled metrics that are not there."""
    means, others = mean_metrics_of(model)
    return ["examples", *(metric.name for metric in means)], others


def trains_as_compiled(model: keras.Model) -> bool:
    """Whether a step of `fit` is Keras' own: then the traced `train_step` does what it does."""
    return type(model).train_step is keras.Model.train_step


def takes_class_index(model: keras.Model) -> bool:
    """Whether the loss wants class numbers (sparse_…) where the data has one-hot vectors."""
    loss = model.loss
    name = loss if isinstance(loss, str) else getattr(loss, "name", getattr(loss, "__name__", ""))
    return "sparse" in (name or "").lower()


class TracedModel(tf.Module):
    """A compiled Keras model as named graphs; save it with `concrete_functions` as its signatures.

    `with_training`: also those that change the variables, by what the model was compiled with.
    """

    def __init__(self, model: keras.Model, spec: Spec, with_training: bool = True):
        super().__init__(name="headrace_model")
        self.vars = {variable.name: variable.value for variable in variables_of(model)}
        self.concrete_functions = _concrete_functions(model, spec, self.vars, with_training)


class _Computation:
    """The common part of all signatures. It is traced into each of them."""

    def __init__(self, model: keras.Model, metrics: list):
        self.model, self.metrics = model, metrics
        self.trainable = model.trainable_variables
        self.to_target = _class_index if takes_class_index(model) else _one_hot
        self.apply = model.optimizer.apply
        if fused_adam.can_replace(model.optimizer):
            self.apply = functools.partial(fused_adam.apply, model.optimizer)

    def evaluate(self, features, labels, weights, training):
        predictions = self.model(features, training=training)
        target = self.to_target(labels)
        loss = self.model.compute_loss(x=features, y=target, y_pred=predictions, sample_weight=weights)
        return loss, _metric_sums(self.metrics, target, predictions), predictions

    def differentiate(self, features, labels, weights):
        features, labels, weights = _without_padding(features, labels, weights)
        with tf.GradientTape() as tape:
            loss, sums, _ = self.evaluate(features, labels, weights, training=True)
            scaled = self.model.optimizer.scale_loss(loss)
        values = [variable.value for variable in self.trainable]
        computed = tape.gradient(scaled, values, unconnected_gradients="zero")
        return loss, sums, [tf.convert_to_tensor(gradient) for gradient in computed]


def _concrete_functions(
    model: keras.Model, spec: Spec, all_variables: dict[str, tf.Variable], with_training: bool
) -> dict:
    computation = _Computation(model, mean_metrics_of(model)[0])
    features_spec = tf.TensorSpec([None, *spec.features], tf.float32, name="features")
    labels_spec = tf.TensorSpec([None, spec.classes], tf.as_dtype(spec.label_dtype), name="labels")
    batch = [features_spec, labels_spec, tf.TensorSpec([None], tf.float32, name="weights")]
    gradient_specs = [
        tf.TensorSpec(variable.shape, tf.as_dtype(variable.dtype), name=f"gradient_{i}")
        for i, variable in enumerate(computation.trainable)
    ]

    @tf.function(input_signature=batch)
    def train_step(features, labels, weights):
        loss, sums, computed = computation.differentiate(features, labels, weights)
        computation.apply(computed, computation.trainable)
        return {"loss": loss, "metrics": sums}

    @tf.function(input_signature=batch)
    def gradients(features, labels, weights):
        loss, sums, computed = computation.differentiate(features, labels, weights)
        named = {f"gradient_{i}": gradient for i, gradient in enumerate(computed)}
        return {"loss": loss, "metrics": sums, **named}

    @tf.function(input_signature=gradient_specs)
    def apply_gradients(*computed):
        computation.apply(list(computed), computation.trainable)
        return {"iteration": tf.cast(model.optimizer.iterations.value, tf.int64)}

    @tf.function(input_signature=batch)
    def eval_step(features, labels, weights):
        real = _without_padding(features, labels, weights)
        loss, sums, predictions = computation.evaluate(*real, training=False)
        return {"loss": loss, "metrics": sums, "predictions": predictions}

    @tf.function(input_signature=[features_spec])
    def predict(features):
        return {"predictions": model(features, training=False)}

    @tf.function(input_signature=[])
    def variables():
        return {name: tf.identity(value) for name, value in all_variables.items()}

    traced = [eval_step, predict, variables]
    if with_training:
        traced = [train_step, gradients, apply_gradients, *traced]
        if _learning_rate_of(model.optimizer) is not None:
            traced.append(_learning_rate_setter(model.optimizer))
    concrete = {function.__name__: function.get_concrete_function() for function in traced}
    return {**concrete, "serving_default": concrete["predict"]}


def _learning_rate_of(optimizer: keras.optimizers.Optimizer):
    """The variable; None where a schedule computes the rate."""
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


def _one_hot(labels):
    return tf.cast(labels, tf.float32)


def _class_index(labels):
    return tf.argmax(labels, axis=-1)


def _without_padding(features, labels, weights):
    """Drops rows of weight 0, so that a mean, or a layer's batch statistics, is over the real rows. A batch
    without padding passes through uncopied."""

    def drop():
        real = weights > 0
        return [tf.boolean_mask(tensor, real) for tensor in (features, labels, weights)]

    kept = tf.cond(tf.reduce_all(weights > 0), lambda: [features, labels, weights], drop)
    for tensor, original in zip(kept, (features, labels, weights), strict=True):
        tensor.set_shape(original.shape)
    return kept


def _metric_sums(metrics: list, target, predictions):
    """[examples, sum over examples of each metric]: sums of batches add up to an epoch's exactly."""
    examples = tf.cast(tf.shape(predictions)[0], tf.float32)
    sums = [examples]
    for metric in metrics:
        values = tf.cast(metric._fn(target, predictions, **metric._fn_kwargs), tf.float32)
        sums.append(tf.reduce_mean(values) * examples if values.shape.rank == 0 else _sum_of_rows(values))
    return tf.stack(sums)


def _sum_of_rows(values):
    axes = list(range(1, values.shape.rank))
    return tf.reduce_sum(tf.reduce_mean(values, axis=axes) if axes else values)
