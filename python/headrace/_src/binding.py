"""Decides which features of a record become which inputs and targets of a Keras model, and converts their
values to what the model takes.

A feature goes to the input that --features names for it; otherwise to the input with the feature's name;
otherwise to the only remaining input that fits by type and size. Labels go to outputs in the same way. If two
fit, nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import warnings
from typing import Any

import keras
import tensorflow as tf

from headrace._src import losses
from headrace._src.errors import ModelError

_PIXELS = "uint8"
_MASK = ":mask"  # suffix of the name of a feature's mask in options
_USUAL_CHANNELS = 3
_MOST_FILLED_BYTES = 2**30  # per ragged feature of a batch, padding included
_GIVEN = ("training", "mask")  # parameters of `call` that Keras itself supplies
_PROBED_VALUES = (16, 17)  # lengths of a ragged feature in the rows that a model is tried with


@dataclasses.dataclass(frozen=True)
class Feature:
    """A feature of the data, as the loader returns it: [rows, *shape] of `dtype`."""

    name: str
    dtype: str  # float32, int64, bytes, or uint8 for the pixels of images
    # Pixels have height, width and channels; -1 where the model decides. A ragged feature has one size: rows
    # are padded or cut to it; -1 means the longest row of the batch.
    shape: tuple[int, ...]
    classes: int = 0  # for a label with a vocabulary
    one_hot: bool = False
    optional: bool = False  # a record may lack it; its values are then 0 or empty
    ragged: bool = False  # a record may have any number of values
    mask: bool = False  # the tensor is float32: 1 for a value of the record, 0 for padding or a missing value

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Feature:
        return cls(**{**data, "shape": tuple(data["shape"])})

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "shape": list(self.shape)}

    @property
    def tensor_dtype(self) -> tf.DType:
        if self.mask:
            return tf.float32
        return tf.string if self.dtype == "bytes" else tf.as_dtype(self.dtype)

    @property
    def tensor_shape(self) -> list[int | None]:
        """The shape of one row in the signatures."""
        return [None if size < 0 else size for size in self.shape]

    def filled(self, rows: tf.RaggedTensor) -> tf.Tensor:
        """The tensor for the signatures, from ragged rows. Fails if the rows take too much memory, or if a
        row has another number of values than the shape."""
        lengths = rows.row_lengths()
        if self.ragged and self.shape[0] < 0:
            width = tf.maximum(tf.reduce_max(lengths), 1)
        else:
            width = tf.constant(self.size, tf.int64)
        size = {"float32": 4, "int64": 8, "bytes": 40}[self.dtype]
        fits = width * rows.nrows() <= tf.constant(_MOST_FILLED_BYTES // size, tf.int64)
        checks = [tf.debugging.Assert(fits, [f"rows of {self.name}, filled up, take more than 1 GiB"])]
        if not self.ragged:
            is_right = tf.reduce_all((lengths == 0) | (lengths == width))
            checks.append(
                tf.debugging.Assert(is_right, [f"a record does not have {self.size} values of {self.name}"])
            )
        with tf.control_dependencies(checks):
            if self.mask:
                tensor = tf.sequence_mask(lengths, width, self.tensor_dtype)
            else:
                tensor = rows.to_tensor(shape=tf.stack([tf.constant(-1, tf.int64), width]))
        return tensor if self.ragged else tf.reshape(tensor, [-1, *self.shape])

    def __str__(self) -> str:
        if self.mask:
            return f"the mask of {self.name}"
        if self.ragged:
            return f"{self.name} {self.dtype}[any number]"
        if self.dtype == _PIXELS:
            return f"{self.name} image[{', '.join('?' if size < 0 else str(size) for size in self.shape)}]"
        classes = f", {self.classes} classes" if self.classes else ""
        empty = "empty" if self.dtype == "bytes" else "0"
        gaps = f" ({empty} where missing)" if self.optional else ""
        return f"{self.name} {self.dtype}{list(self.shape)}{classes}{gaps}"


@dataclasses.dataclass(frozen=True)
class Spec:
    """The data that a model is traced for (docs/formats/traced-model.md, `spec`)."""

    features: tuple[Feature, ...]
    labels: tuple[Feature, ...]
    inputs: dict[str, str]  # input → feature, as --features says
    outputs: dict[str, str]  # output → label, as --labels says
    weights: Feature | None = None  # the weights of records, as --weights says
    class_weights: dict[int, float] = dataclasses.field(default_factory=dict)  # other classes have weight 1

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Spec:
        weights = data.get("weights")
        return cls(
            *(tuple(map(Feature.from_json, data.get(part, []))) for part in ("features", "labels")),
            data.get("inputs", {}),
            data.get("outputs", {}),
            Feature.from_json(weights) if weights else None,
            {int(number): float(weight) for number, weight in data.get("class_weights", {}).items()},
        )

    @property
    def usual_features(self) -> list[Feature]:
        """For a model that does not declare its inputs: the numeric features; if there are none, the texts.
        Ragged features are offered only if there are no others."""
        even = [f for f in self.features if not f.ragged] or list(self.features)
        return [f for f in even if f.dtype != "bytes"] or even

    def offered(self) -> dict[str, Any]:
        """The arguments that a model's function may declare."""
        return {
            "features": _one_or_all({f.name: _shown_shape(f) for f in self.usual_features}),
            "classes": _one_or_all({f.name: f.classes or f.size for f in self.labels}),
        }


def _one_or_all(values: dict[str, Any]) -> Any:
    return next(iter(values.values())) if len(values) == 1 else values


def _shown_shape(feature: Feature) -> int | tuple[int | None, ...]:
    if feature.dtype == _PIXELS:
        height, width, channels = (None if size < 0 else size for size in feature.shape)
        return height, width, channels or _USUAL_CHANNELS
    if feature.ragged:
        return (None,)
    return feature.shape[0] if len(feature.shape) == 1 else feature.shape


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of the model and the feature that it takes."""

    tensor: str  # name in the signatures
    name: str  # the model's
    feature: Feature
    dtype: tf.DType  # the model's
    shape: tuple[int | None, ...]  # the model's, of one row

    def convert(self, values: tf.Tensor) -> tf.Tensor:
        if values.dtype != self.dtype:
            values = tf.cast(values, self.dtype)
        if self.shape != self.feature.shape and not self.feature.ragged:
            values = tf.reshape(values, [-1, *self.shape])
        return values


@dataclasses.dataclass(frozen=True)
class Target:
    """An output of the model and the label that its loss compares it with."""

    tensor: str
    output: str
    label: Feature
    kind: str  # classes, binary, multi-label or regression
    classes: int  # scores of the output; 0: for regression
    scores: str  # the meaning of the output's numbers: probability, logit or margin
    takes_index: bool  # whether the loss takes class indices
    shape: tuple[int, ...]  # of one row of the output
    ignored_class: int | None  # a class index that the loss ignores

    @property
    def _is_number_of_class(self) -> bool:
        return self.kind == "classes" and self.label.size == 1 and not self.label.one_hot

    def convert(self, values: tf.Tensor) -> tf.Tensor:
        """The target as the loss takes it. Fails for class indices that the output does not have."""
        if self.label.one_hot and (self.takes_index or self.kind == "binary"):
            values = tf.argmax(values, axis=-1)
        elif self._is_number_of_class and not self.takes_index:
            values = tf.one_hot(self._checked(tf.reshape(values, [-1])), self.classes)
        if self.takes_index:
            return tf.reshape(tf.cast(values, tf.int64), [-1])
        return tf.reshape(tf.cast(values, tf.float32), [-1, *self.shape])

    def _checked(self, numbers: tf.Tensor) -> tf.Tensor:
        if self.label.classes:
            return numbers  # indices of a vocabulary are always valid
        wrong = tf.boolean_mask(numbers, (numbers < 0) | (numbers >= self.classes))
        reason = f"but {self.output} has the classes 0 to {self.classes - 1}"
        check = tf.debugging.Assert(tf.size(wrong) == 0, [f"the label {self.label.name} is", wrong, reason])
        with tf.control_dependencies([check] if check is not None else []):
            return tf.identity(numbers)

    def numbers_of_classes(self, values: tf.Tensor) -> tf.Tensor:
        """The class of each row of the label. REQUIRES: kind is classes or binary"""
        if self.label.size > 1:
            return tf.argmax(values, axis=-1)
        values = tf.reshape(values, [-1])
        # The negative class is 0, or -1 if the output is a margin.
        return tf.cast(values > 0 if self.kind == "binary" else values, tf.int64)

    def to_json(self) -> dict[str, Any]:
        members = {"tensor": self.tensor, "output": self.output, "label": self.label.to_json()}
        scores = {} if self.scores == "probability" else {"scores": self.scores}
        ignored = {} if self.ignored_class is None else {"ignored_class": self.ignored_class}
        return {**members, "kind": self.kind, **scores, **ignored}


@dataclasses.dataclass(frozen=True)
class Output:
    tensor: str
    name: str
    dtype: tf.DType
    shape: tuple[int | None, ...]


class Binding:
    """The connection of a model with its data: which feature goes where, and in which structure."""

    def __init__(self, model: keras.Model, name: str, spec: Spec):
        """\\raises ModelError: the model and the data do not fit each other; the message lists both sides"""
        self._model = model
        self.sample_predictions = self._bind_inputs(model, name, spec)  # for a row of zeros
        self.outputs = _outputs(model, self.sample_predictions, self._open_shapes(model))
        self.targets = _bind_targets(model, name, spec, self.outputs)
        self.weights = spec.weights
        self._class_weights = _weights_of_classes(self.targets, spec.class_weights)

    @property
    def features(self) -> list[Feature]:
        """All features to read from each record: inputs, labels and weights, each once. Features that will be
        padded (`filled`) are ragged."""
        found = {to.label.name: to.label for to in self.targets}
        if self.weights is not None:
            found.setdefault(self.weights.name, self.weights)
        for to in self.inputs:
            feature = dataclasses.replace(to.feature, ragged=to.feature.ragged or to.feature.mask, mask=False)
            if feature.ragged or feature.name not in found:
                found[feature.name] = feature
        return list(found.values())

    @property
    def has_weights(self) -> bool:
        """Whether records or classes have weights."""
        return self.weights is not None or bool(self._class_weights)

    def x(self, columns: list[tf.Tensor]) -> Any:
        """The model's input, made from the columns of `inputs`."""
        converted = [to.convert(values) for to, values in zip(self.inputs, columns, strict=True)]
        return tf.nest.pack_sequence_as(self._input_structure, converted)

    def y(self, columns: list[tf.Tensor]) -> Any:
        """The targets of the losses, in the structure of the output, from the columns of `targets`."""
        converted = {to.output: to.convert(values) for to, values in zip(self.targets, columns, strict=True)}
        flat = [converted.get(output.name) for output in self.outputs]
        return tf.nest.pack_sequence_as(self.sample_predictions, flat)

    def sample_weights(
        self, labels: list[tf.Tensor], record_weights: list[tf.Tensor], training: bool
    ) -> tf.Tensor | None:
        """Keras' sample_weight, float32 [rows]: the weights of records; in training, times the weights of
        their classes. None if neither has weights.

        Args:
            labels: the columns of `targets`.
            record_weights: the column of `weights`, if that is not None.
        """
        factors = [tf.reshape(tf.cast(column, tf.float32), [-1]) for column in record_weights]
        if training and self._class_weights:
            numbers = self.targets[0].numbers_of_classes(labels[0])
            weights = tf.constant(self._class_weights, tf.float32)
            is_known = (numbers >= 0) & (numbers < len(self._class_weights))
            known = tf.gather(weights, tf.where(is_known, numbers, 0))
            factors.append(tf.where(is_known, known, 1.0))  # a loss may ignore the class index -1
        return functools.reduce(tf.multiply, factors) if factors else None

    def sample_targets(self) -> Any:
        """The targets of a row of zeros."""
        return self.y([_zeros(to.label) for to in self.targets])

    def named(self, predictions: Any) -> dict[str, tf.Tensor]:
        """The outputs by their names in the signatures."""
        flat = tf.nest.flatten(predictions)
        return {output.tensor: value for output, value in zip(self.outputs, flat, strict=True)}

    def resolve_metrics(self) -> None:
        """Lets Keras resolve metric names such as "accuracy" for these outputs."""
        y = self.sample_targets()
        self._model.compute_loss(None, y, self.sample_predictions, None)
        self._model.compute_metrics(None, y, self.sample_predictions, None)
        self._model.reset_metrics()

    def describe(self) -> dict[str, Any]:
        """The members of model.json about inputs, targets, weights and outputs
        (docs/formats/traced-model.md)."""
        weights = {} if self.weights is None else {"weights": self.weights.to_json()}
        return {
            **weights,
            "inputs": [
                {"tensor": to.tensor, "name": to.name, "feature": to.feature.to_json()} for to in self.inputs
            ],
            "targets": [to.to_json() for to in self.targets],
            "outputs": [
                {"tensor": to.tensor, "name": to.name, "shape": [-1 if n is None else n for n in to.shape]}
                for to in self.outputs
            ],
        }

    def _bind_inputs(self, model: keras.Model, name: str, spec: Spec) -> Any:
        """Finds the structure that the model takes, and returns its first predictions."""
        failures: list[Exception] = []
        for structure in _input_structures(model, name, spec):
            self._input_structure = structure
            self.inputs = _bind_inputs(name, spec, structure)
            try:
                with warnings.catch_warnings():  # Keras warns about a structure that the model does not take
                    warnings.simplefilter("ignore", UserWarning)
                    return model(self.x([_zeros(to.feature) for to in self.inputs]), training=False)
            except Exception as error:
                failures.append(error)
        given = ", ".join(f"{to.name} {to.feature.tensor_shape}" for to in self.inputs)
        if len(failures) == 1:
            raise ModelError("features", f"{name} does not take {given}: {failures[0]}") from failures[0]
        raise ModelError(
            "features",
            f"{name} takes {given} neither as a dictionary: {failures[0]}\nnor as a tuple: {failures[1]}\n"
            f'Write call(self, inputs), and in it inputs["{self.inputs[0].name}"]; or '
            f"{', '.join(to.name for to in self.inputs)} = inputs, in the order of --features",
        ) from failures[0]

    def _open_shapes(self, model: keras.Model) -> list[tuple[int | None, ...]]:
        """The shape of a row of each output. None: the shape depends on the number of values in the
        inputs."""
        first = tf.nest.flatten(self.sample_predictions)
        if not any(-1 in to.feature.shape for to in self.inputs):
            return [tuple(values.shape[1:]) for values in first]
        zeros = [_zeros(to.feature, _PROBED_VALUES[1]) for to in self.inputs]
        other = tf.nest.flatten(model(self.x(zeros), training=False))
        return [
            tuple(a if a == b else None for a, b in zip(one.shape[1:], two.shape[1:], strict=True))
            for one, two in zip(first, other, strict=True)
        ]


def _zeros(feature: Feature, values: int = _PROBED_VALUES[0]) -> tf.Tensor:
    shape = [1, *(values if size is None else size for size in feature.tensor_shape)]
    return tf.fill(shape, "") if feature.tensor_dtype == tf.string else tf.zeros(shape, feature.tensor_dtype)


# ---- inputs --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """An input as the model declares it; a model without declared inputs has only the name."""

    name: str
    dtype: tf.DType | None = None
    shape: tuple[int | None, ...] | None = None

    def takes(self, feature: Feature) -> bool:
        return self._takes_type(feature) and self._takes_shape(feature)

    def fits(self, feature: Feature) -> bool:
        """Whether the input takes this feature without --features. A feature whose rows would be cut must be
        named."""
        is_cut = feature.ragged and self.shape is not None and None not in self.shape
        return self.takes(feature) and not is_cut

    def _takes_type(self, feature: Feature) -> bool:
        if self.dtype is None:
            return True
        if feature.mask:
            return self.dtype != tf.string
        if self.dtype == tf.string or feature.dtype == "bytes":
            return self.dtype == tf.string and feature.dtype == "bytes"
        return self.dtype.is_floating or feature.dtype != "float32"

    def _takes_shape(self, feature: Feature) -> bool:
        if self.shape is None:
            return True
        if feature.dtype == _PIXELS:
            return len(self.shape) == 3 and all(
                size < 0 or wanted in (None, size)
                for wanted, size in zip(self.shape, feature.shape, strict=True)
            )
        if feature.ragged:
            return len(self.shape) == 1
        if None not in self.shape:
            return math.prod(self.shape) == feature.size
        return len(self.shape) == len(feature.shape) and all(
            wanted in (None, size) for wanted, size in zip(self.shape, feature.shape, strict=True)
        )

    def hint(self, features: list[Feature]) -> str:
        """Advice on making one vector from several numbers, if that may be wanted."""
        takes_vector = self.shape is not None and len(self.shape) == 1 and self.shape[0] not in (None, 1)
        numbers = [feature for feature in features if feature.shape == () and feature.dtype != "bytes"]
        if not takes_vector or self.dtype == tf.string or len(numbers) < 2:
            return ""
        return ", or make one vector from several columns, with columns = […] in the schema"

    def shape_for(self, feature: Feature) -> tuple[int, ...]:
        """The shape in which the model takes the feature. The feature decides the sizes that the model leaves
        open."""
        if self.shape is None or None in self.shape:
            return feature.shape
        return self.shape

    def sized(self, feature: Feature) -> Feature:
        """The feature with its images or ragged rows in the size that the model takes."""
        if feature.ragged:
            length = self.shape[0] if self.shape else None
            return dataclasses.replace(feature, shape=(length or -1,))
        if feature.dtype != _PIXELS:
            return feature
        wanted = self.shape or (None, None, None)
        sizes = [own if size < 0 else size for size, own in zip(feature.shape, wanted, strict=True)]
        height, width, channels = sizes
        if height is None or width is None:
            raise ModelError(
                "features",
                f"{self.name} takes images of any size: give the size of {feature.name} with --image-size "
                "HEIGHTxWIDTH",
            )
        return dataclasses.replace(feature, shape=(height, width, channels or _USUAL_CHANNELS))

    def __str__(self) -> str:
        if self.dtype is None:
            return self.name
        sizes = ["?" if size is None else size for size in self.shape or ()]
        return f"{self.name} {self.dtype.name}[{', '.join(map(str, sizes))}]"


def _input_structures(model: keras.Model, model_name: str, spec: Spec) -> list[Any]:
    """The structures that the model's input may have, the likeliest first, with a _Wanted in each place."""
    tensors = getattr(model, "_inputs_struct", None)
    if tensors is None and getattr(model, "inputs", None):
        tensors = model.inputs[0] if len(model.inputs) == 1 else model.inputs
    if tensors is not None:
        return [_wanted_of(tensors, _repeated_names(tensors))]
    _check_call(model, model_name)
    names = _names_of_inputs(spec)
    if not spec.inputs and len(names) == 1:
        return [_Wanted(names[0])]
    wanted = {name: _Wanted(name) for name in names}
    return [wanted, tuple(wanted.values())] if len(names) > 1 else [wanted]


def _names_of_inputs(spec: Spec) -> list[str]:
    """The inputs of a model that declares none, in the order of --features."""
    places = {feature.name: place for place, feature in enumerate(spec.features)}
    named = sorted(spec.inputs, key=lambda name: places.get(spec.inputs[name].removesuffix(_MASK), 0))
    return named or [feature.name for feature in spec.usual_features]


def _check_call(model: keras.Model, model_name: str) -> None:
    """\\raises ModelError if `call` needs more than the one argument that `fit` gives"""
    parameters = list(inspect.signature(model.call).parameters.values())
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in _GIVEN
    ]
    if len(needed) <= 1:
        return
    names = ", ".join(needed)
    raise ModelError(
        "features",
        f"{model_name} returned a model with call(self, {names}), but Keras calls a model with one argument. "
        f"Write call(self, inputs), and in it {names} = inputs, in the order of --features; or "
        f'{needed[0]} = inputs["FEATURE"], …',
    )


def _wanted_of(tensors: Any, repeated: set[str], path: tuple[str, ...] = ()) -> Any:
    """A key of a dictionary names an input; `repeated` keys are prefixed with the keys above them."""
    if isinstance(tensors, dict):
        return {key: _wanted_of(its, repeated, (*path, str(key))) for key, its in tensors.items()}
    if isinstance(tensors, list | tuple):
        return [_wanted_of(its, repeated, (*path, "")) for its in tensors]
    own = _own_name(tensors, path)
    above = [key for key in path[:-1] if key]
    return _wanted(tensors, "/".join([*above, own]) if own in repeated else own)


def _own_name(tensor: keras.KerasTensor, path: tuple[str, ...]) -> str:
    return (path and path[-1]) or tensor.name


def _repeated_names(tensors: Any) -> set[str]:
    names = [to.name for to in tf.nest.flatten(_wanted_of(tensors, set()))]
    return {name for name in names if names.count(name) > 1}


def _wanted(tensor: keras.KerasTensor, name: str) -> _Wanted:
    return _Wanted(name, tf.as_dtype(tensor.dtype), tuple(tensor.shape[1:]))


def _bind_inputs(model_name: str, spec: Spec, structure: Any) -> list[Input]:
    wanted = tf.nest.flatten(structure)
    found = _match(wanted, spec.features, spec.inputs, f"{model_name} has the inputs", "features")
    bound = [to.sized(feature) for to, feature in zip(wanted, found, strict=True)]
    tensors = ["features"] if len(wanted) == 1 else _tensor_names([to.name for to in wanted])
    return [
        Input(
            tensor=tensor,
            name=to.name,
            feature=feature,
            dtype=feature.tensor_dtype if to.dtype is None else to.dtype,
            shape=feature.shape if feature.dtype == _PIXELS else to.shape_for(feature),
        )
        for tensor, to, feature in zip(tensors, wanted, bound, strict=True)
    ]


def _match(
    wanted: list, features: tuple[Feature, ...], asked: dict[str, str], head: str, option: str
) -> list[Feature]:
    """The feature of each; \\raises ModelError with both lists if the choice is not clear."""

    def error(reason: str, can_be_said: bool = True) -> ModelError:
        have = "\n  ".join(map(str, features)) or "none"
        want = "\n  ".join(map(str, wanted))
        names = [to.name for to in wanted]
        example = ",".join(f"{name}={_example(name, features)}" for name in names)
        lists = f"{reason}\n{head}\n  {want}\nthe data have\n  {have}"
        say = f"\nSay which goes where: --{option} {example}"
        return ModelError(option, lists + say if can_be_said else lists)

    known = _masks(features) | {feature.name: feature for feature in features}
    bound: dict[str, Feature] = {}
    for name, feature in asked.items():
        if name not in {to.name for to in wanted}:
            raise error(f"there is no {name}")
        if feature not in known and feature.endswith(_MASK):
            raise error(f"{feature.removesuffix(_MASK)} has no mask: every record has all of its values")
        if feature not in known:
            raise error(f"there is no feature {feature}")
        bound[name] = known[feature]
    for to in wanted:
        if to.name not in bound and to.name in known:
            bound[to.name] = known[to.name]
    for to in wanted:
        if to.name in bound and not to.takes(bound[to.name]):
            raise error(f"{to} does not take {bound[to.name]}")
    left = [to for to in wanted if to.name not in bound]
    free = [feature for feature in features if feature not in bound.values()]
    for to in left:
        fitting = [feature for feature in free if to.fits(feature)]
        rivals = [other for other in left if other is not to and any(map(other.fits, fitting))]
        if len(fitting) != 1 or rivals:
            nothing = f"nothing fits {to}: give it the shape and type of one of those below{to.hint(free)}"
            if not fitting:
                raise error(nothing, can_be_said=any(map(to.takes, free)))
            raise error(f"it is not clear what {to.name} takes")
        bound[to.name] = fitting[0]
    return [bound[to.name] for to in wanted]


def _masks(features: tuple[Feature, ...]) -> dict[str, Feature]:
    """The masks of features that have one, by their name in options and by the name that an input may
    have."""
    masks: dict[str, Feature] = {}
    for feature in features:
        if (feature.ragged or feature.optional) and feature.dtype != _PIXELS:
            mask = dataclasses.replace(feature, mask=True)
            masks |= {f"{feature.name}{_MASK}": mask, f"{feature.name}_mask": mask}
    return masks


def _example(name: str, features: tuple[Feature, ...]) -> str:
    return next((f.name for f in features if f.name == name), "FEATURE")


def _tensor_names(names: list[str]) -> list[str]:
    """Unique names that are valid for a signature's arguments."""
    made: list[str] = []
    for name in names:
        tensor = re.sub(r"\W", "_", name, flags=re.ASCII)
        while tensor in made or not tensor or tensor[0].isdigit():
            tensor = f"_{tensor}"
        made.append(tensor)
    return made


# ---- outputs -------------------------------------------------------------------------------------


def _outputs(model: keras.Model, predictions: Any, shapes: list[tuple[int | None, ...]]) -> list[Output]:
    flat = tf.nest.flatten(predictions)
    functional = getattr(model, "_functional", model)  # a Sequential wraps a functional model
    declared = getattr(functional, "output_names", None) or []
    if isinstance(predictions, dict):
        names = sorted(predictions)  # the order in which tf.nest flattens
    elif len(declared) == len(flat):
        names = list(declared)
    else:
        names = [f"output_{i}" for i in range(len(flat))]
    tensors = ["predictions"] if len(flat) == 1 else _tensor_names(names)
    return [
        Output(tensor, name, value.dtype, shape)
        for tensor, name, value, shape in zip(tensors, names, flat, shapes, strict=True)
    ]


def _losses(model: keras.Model, outputs: list[Output]) -> dict[str, Any]:
    """The loss of each output that has a loss."""
    loss = model.loss
    if isinstance(loss, dict):
        return {o.name: loss[o.name] for o in outputs if loss.get(o.name) is not None}
    if isinstance(loss, list | tuple):
        pairs = zip(outputs, loss, strict=False)
        return {output.name: its for output, its in pairs if its is not None}
    return {output.name: loss for output in outputs}


@dataclasses.dataclass(frozen=True)
class _Compared:
    """An output with a loss, which needs a label."""

    name: str
    loss: losses.Loss
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def fits(self, label: Feature) -> bool:
        return self.kind(label) is not None

    takes = fits

    def kind(self, label: Feature) -> str | None:
        """The kind of target if the loss can compare this output with that label, otherwise None."""
        if label.dtype not in ("int64", "float32"):
            return None
        is_number = label.size == 1 and label.dtype == "int64"
        if self.loss.takes_index:
            is_index = label.one_hot or is_number
            return "classes" if is_index and label.classes in (0, self.size) else None
        if label.classes:
            if self.size == label.classes > 1:
                return "classes"
            return "binary" if self.size == 1 and label.classes == 2 else None
        if is_number and self.loss.is_of_classes and self.size > 1:
            return "classes"
        if label.size != self.size:
            return None
        if self.loss.is_of_yes_or_no:
            return "binary" if self.size == 1 else "multi-label"
        return "classes" if self.loss.is_of_classes and self.size > 1 else "regression"

    def __str__(self) -> str:
        return f"{self.name} {list(self.shape)}, loss {self.loss}"


def _bind_targets(model: keras.Model, model_name: str, spec: Spec, outputs: list[Output]) -> list[Target]:
    wanted = {name: losses.read(loss) for name, loss in _losses(model, outputs).items()}
    compared = [_Compared(o.name, wanted[o.name], o.shape) for o in outputs if o.name in wanted]
    if not compared:
        raise ModelError("loss", f"{model_name} is compiled without a loss for any of its outputs")
    for to in compared:
        if to.loss.is_of_sequences:
            raise ModelError(
                "loss",
                f"{model_name} has the loss {to.loss}, whose labels have another length than the "
                "output. headrace train compares an output with a label of one fixed shape: call fit "
                "yourself, on the batches of headrace.open",
            )
        if None in to.shape:
            raise ModelError(
                "classes",
                f"the output {to.name} of {model_name} has as many values as its input, but labels have a "
                "fixed number of values: end the model with a layer that gives a fixed shape, such as "
                "pooling",
            )
    if len(compared) == len(spec.labels) == 1 and not compared[0].fits(spec.labels[0]):
        raise ModelError("classes", _misfit(model_name, compared[0], spec.labels[0]))
    bound = _match(compared, spec.labels, spec.outputs, f"{model_name} has the outputs", "labels")
    tensors = ["labels"]
    if len(compared) > 1:
        tensors = [f"labels_{name}" for name in _tensor_names([to.name for to in compared])]
    return [
        Target(
            tensor=tensor,
            output=to.name,
            label=label,
            kind=to.kind(label),
            classes=0 if to.kind(label) == "regression" else to.size,
            scores=to.loss.scores,
            takes_index=to.loss.takes_index,
            shape=to.shape,
            ignored_class=to.loss.ignored_class,
        )
        for tensor, to, label in zip(tensors, compared, bound, strict=True)
    ]


def _weights_of_classes(targets: list[Target], given: dict[int, float]) -> list[float]:
    """A weight for each class, or an empty result; \\raises ModelError if there are no classes."""
    if not given:
        return []
    instead = "weigh records instead: give --weights the feature that has a weight for each record"
    if len(targets) > 1:
        names = ", ".join(to.output for to in targets)
        raise ModelError(
            "class_weights",
            f"--class-weights are for a single label; this model learns {names}: {instead}",
        )
    (target,) = targets
    if target.kind not in ("classes", "binary"):
        raise ModelError(
            "class_weights",
            f"--class-weights needs a label with classes, but {target.output} learns "
            f"{target.label} ({target.kind}): {instead}",
        )
    classes = 2 if target.kind == "binary" else target.classes
    unknown = [number for number in given if not 0 <= number < classes]
    if unknown:
        raise ModelError(
            "class_weights",
            f"--class-weights has the class {unknown[0]}, but {target.output} has the classes 0 to "
            f"{classes - 1}",
        )
    return [given.get(number, 1.0) for number in range(classes)]


def _misfit(model_name: str, output: _Compared, label: Feature) -> str:
    gives = f"{model_name} gives outputs of shape {output.shape}"
    if label.classes:
        return f"{gives}, but the data has {label.classes} classes: {_layer_for_classes(output, label)}"
    if label.dtype == "bytes":
        return (
            f"{model_name} cannot learn {label.name}, which the dataset stores as text: give the feature "
            'type = "label" in the schema (for numbers, "int64" or "float32"), and prepare the data again'
        )
    given = f"{gives} and the loss {output.loss}, but the label is {label}"
    if output.loss.takes_index:
        return f'{given}, not a class index: give the feature type = "label" in the schema'
    if label.size == 1 and label.dtype == "int64" and output.size > 1:
        return (
            f"{given}. To learn a number, give the last layer 1 unit. To learn a class, use the loss "
            'sparse_categorical_crossentropy, or give the feature type = "label" in the schema and prepare '
            "the data again"
        )
    return f"{given}: the last layer must have {label.size} units"


def _layer_for_classes(output: _Compared, label: Feature) -> str:
    also = ""
    if label.classes > 2 and "binary" in output.loss.words:
        also = ", with a softmax and the loss sparse_categorical_crossentropy"
    elif label.classes == 2 and not output.loss.takes_index:
        also = " (or 1, with a sigmoid and the loss binary_crossentropy)"
    return f"the last layer must have {label.classes} units{also}"
