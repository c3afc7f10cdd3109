#pragma once

/// \file A model that Headrace did not write, called as one that Headrace traced.

#include <memory>
#include <string>

#include "headrace/engine/engine.h"

namespace headrace {

/// Gives one signature of `model` the ways of docs/formats/traced-model.md, under two names:
///
///   predict    takes the signature's inputs, each of the type and number of values that records have, and
///              casts and reshapes them to what the signature takes (tensor_cast.h); returns the signature's
///              outputs as float32.
///   eval_step  the same; after the inputs come any others, of which only the last counts: `weights`. Rows of
///              weight 0 are left out of the outputs. The first two outputs, `loss` and `metrics`, are empty:
///              the model has neither.
///
/// Its `signatures` has only that signature, under its own name: the model's others are not adapted. All else
/// is the model's own. Its calls copy what they cast, and nothing else.
/// \error kNotFound  the model has no such signature; lists those that it has
Result<std::unique_ptr<Model>> adapt_model(std::unique_ptr<Model> model, const std::string& signature);

}  // namespace headrace
