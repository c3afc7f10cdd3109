#include "headrace/model/export_files.h"

#include <algorithm>
#include <array>

#include "headrace/store/url.h"

namespace headrace {

bool is_saved_model_file(std::string_view name) {
  constexpr std::array<std::string_view, 3> kFiles = {kSavedModelFile, "fingerprint.pb", "keras_metadata.pb"};
  constexpr std::array<std::string_view, 3> kFolders = {"variables/", "assets/", "assets.extra/"};
  return std::ranges::find(kFiles, name) != kFiles.end() ||
         std::ranges::any_of(kFolders, [&](std::string_view folder) { return name.starts_with(folder); });
}

std::vector<ManifestPart> with_saved_model_last(std::vector<ManifestPart> parts) {
  std::stable_partition(parts.begin(), parts.end(),
                        [](const ManifestPart& part) { return last_segment(part.key) != kSavedModelFile; });
  return parts;
}

}  // namespace headrace
