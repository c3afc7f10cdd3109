#pragma once

/// \file The features that records of a schema have, as a manifest describes them.

#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/prepare/schema/vocabularies.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// Sets `features` and `encoders`. REQUIRES: each label has a vocabulary, and each encoder is there
void describe_features(const Schema& schema, const Vocabularies& vocabularies, const TextEncoders& encoders,
                       DatasetAttributes& out);

}  // namespace headrace
