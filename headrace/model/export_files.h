#pragma once

/// \file The files of an export.

#include <string_view>
#include <vector>

#include "headrace/record/manifest.h"

namespace headrace {

/// The kind of an export's manifest.
inline constexpr std::string_view kExportKind = "saved_model";
/// The file by which other programs recognise a SavedModel.
inline constexpr std::string_view kSavedModelFile = "saved_model.pb";

/// Whether a file with this name, relative to the folder of a SavedModel, belongs to the SavedModel. Other
/// files, such as evaluations, may lie in the same folder.
bool is_saved_model_file(std::string_view name);

/// Moves kSavedModelFile to the end of the parts, so that a program that sees this file finds all others.
std::vector<ManifestPart> with_saved_model_last(std::vector<ManifestPart> parts);

}  // namespace headrace
