#include "headrace/model/export_files.h"

#include <algorithm>

#include "headrace/store/url.h"

namespace headrace {

std::vector<ManifestPart> with_saved_model_last(std::vector<ManifestPart> parts) {
  std::stable_partition(parts.begin(), parts.end(),
                        [](const ManifestPart& part) { return last_segment(part.key) != kSavedModelFile; });
  return parts;
}

}  // namespace headrace
