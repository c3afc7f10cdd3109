#pragma once

/// \file The schemas of layouts, which have known columns.

#include <optional>
#include <string>

#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

struct LayoutSchemaOptions {
  std::string encoder;     // of the text vector
  bool keeps_text = true;  // adds the features `text` and `id` to the vector
  ImageSteps image{};
};

/// The schema of a layout; nullopt for a format whose files define the columns. aclimdb and text-folder have
/// `sentence` (the encoder's vector), `label` (one-hot), `text`, `id`; image-folder has `image`, `label`,
/// `id`. text-files and image-files have the same features without `label`.
std::optional<Schema> layout_schema(InputFormat format, const LayoutSchemaOptions& options);

}  // namespace headrace
