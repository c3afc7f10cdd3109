#pragma once

/// \file Makes a model that Headrace did not write callable like one that Headrace traced.

#include <memory>
#include <string>

#include "headrace/engine/engine.h"

namespace headrace {

/// Adapts one signature of `model` to docs/formats/traced-model.md. `prepare` of the result takes two names:
///
///   predict    takes the signature's inputs, with the types and the number of values that records have.
///              Casts (tensor_cast.h) and reshapes them to what the signature takes. Returns the signature's
///              outputs as float32.
///   eval_step  does the same. Other inputs may follow; only the last of them, `weights`, is used. Rows with
///              weight 0 are left out of the outputs. The first two outputs, `loss` and `metrics`, are empty,
///              because the model has neither.
///
/// `signatures` of the result has only that signature, under its own name; the model's other signatures are
/// not adapted. Everything else is passed on to the model. Calls copy only the values that they cast, and the
/// rows that they keep when others are left out.
/// \error kNotFound  the model has no such signature; the message lists those that it has
Result<std::unique_ptr<Model>> adapt_model(std::unique_ptr<Model> model, const std::string& signature);

}  // namespace headrace
