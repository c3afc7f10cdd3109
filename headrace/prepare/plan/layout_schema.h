#pragma once

/// \file Schemas that come with a format: those of layouts, whose columns are known.

#include <optional>
#include <string>

#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

struct LayoutSchemaOptions {
  std::string encoder;     // of texts
  bool keeps_text = true;  // features `text` and `id` beside the vector
  ImageSteps image{};
};

/// None for formats whose columns are their files' own.
/// aclimdb and text-folder: `sentence` (the encoder's vector), `label` (one-hot), `text`, `id`.
/// image-folder: `image`, `label`, `id`.
std::optional<Schema> layout_schema(InputFormat format, const LayoutSchemaOptions& options);

}  // namespace headrace
