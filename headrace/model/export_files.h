#pragma once

/// \file The files of an export.

#include <string_view>
#include <vector>

#include "headrace/record/manifest.h"

namespace headrace {

/// The kind of an export's manifest.
inline constexpr std::string_view kExportKind = "saved_model";
/// The file by which other programs know that a SavedModel is there.
inline constexpr std::string_view kSavedModelFile = "saved_model.pb";

/// Whether a file of this name, relative to a SavedModel's folder, belongs to the SavedModel: others, such as
/// evaluations of it, may lie beside.
bool is_saved_model_file(std::string_view name);

/// The same parts, kSavedModelFile at the end: a program that sees it finds all others.
std::vector<ManifestPart> with_saved_model_last(std::vector<ManifestPart> parts);

}  // namespace headrace
