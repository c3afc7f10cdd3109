#pragma once

/// \file The value of a cell as a label. Vocabularies and records both use it, so they agree.

#include <optional>
#include <string>
#include <string_view>

#include "headrace/prepare/row/row.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/schema/text_encoding.h"

namespace headrace {

/// A longer text cannot be a label.
inline constexpr std::size_t kMostLabelBytes = 1000;

/// The value of the cell without surrounding white space; the label's default if the cell is missing. Returns
/// nullopt for a missing cell without a default, several values, a number with a fraction, or a text longer
/// than kMostLabelBytes. The result views the cell, the definition, or `storage`.
std::optional<std::string_view> label_value(const Cell& cell, const FeatureDefinition& label,
                                            TextEncoding encoding, std::string& storage);

/// The whole number in the cell; nullopt if the cell holds anything else, several numbers included.
std::optional<std::int64_t> whole_number(const Cell& cell);

}  // namespace headrace
