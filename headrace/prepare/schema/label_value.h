#pragma once

/// \file What a cell says of a label: one place for those who collect vocabularies and those who look up.

#include <optional>
#include <string>
#include <string_view>

#include "headrace/prepare/row/row.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/schema/text_encoding.h"

namespace headrace {

/// Longer ones are no labels.
inline constexpr std::size_t kMostLabelBytes = 1000;

/// The value without white space around it; of a missing cell, the default. None: nothing, several values,
/// one with a fraction, or more than kMostLabelBytes. Views the cell, the definition, or `storage`.
std::optional<std::string_view> label_value(const Cell& cell, const FeatureDefinition& label,
                                            TextEncoding encoding, std::string& storage);

/// The whole number that a cell holds by itself; none if it holds anything else.
std::optional<std::int64_t> whole_number(const Cell& cell);

}  // namespace headrace
