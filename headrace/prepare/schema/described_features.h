#pragma once

/// \file Describes the features of a schema's records as a manifest does.

#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/prepare/schema/vocabularies.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// Sets `features` and `encoders` of `out`.
/// REQUIRES: each label has a vocabulary, and each encoder of the schema is in `encoders`
void describe_features(const Schema& schema, const Vocabularies& vocabularies, const TextEncoders& encoders,
                       DatasetAttributes& out);

}  // namespace headrace
