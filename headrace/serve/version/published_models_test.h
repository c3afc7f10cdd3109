#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/coordinate/chain.h"
#include "headrace/model/export_files.h"
#include "headrace/model/named_model.h"
#include "headrace/serve/version/model_source.h"
#include "headrace/store/layers/metered.h"

namespace headrace {

using TestFiles = std::map<std::string, std::string>;

inline TestFiles model_files(const std::string& text) {
  return {{"saved_model.pb", "graph " + text},
          {"variables/variables.index", "index " + text},
          {"variables/variables.data-00000-of-00001", "data " + text}};
}

inline void write_files(const Location& folder, const TestFiles& files) {
  for (const auto& [name, text] : files) {
    const auto written = write_text(*folder.store, folder.at(name).key, text);
    ASSERT_TRUE(written) << written.error().message;
  }
}

/// The manifest that publishes these files in the folder `below`.
inline Manifest manifest_naming(const TestFiles& files, const std::string& below = "") {
  Manifest manifest{.kind = std::string(kExportKind), .created_by = "run", .plan = "plan"};
  for (const auto& [name, text] : files) {
    manifest.parts.push_back(
        {.key = below + name, .size_bytes = text.size(), .crc32c = crc32c(as_bytes(text)), .role = "model"});
  }
  return manifest;
}

/// As manifest_naming, and also writes the files.
inline Manifest manifest_of(const Location& folder, const TestFiles& files, const std::string& below = "") {
  for (const auto& [name, text] : files) write_files(folder, {{below + name, text}});
  return manifest_naming(files, below);
}

/// Publishes a version of a named model in the way that training does.
inline void publish_version(const Location& model, std::uint64_t number, const std::string& text) {
  const Location folder = version_folder(model, number);
  const auto published = Ownership(folder, 0, 0, 0).publish(manifest_of(folder, model_files(text)));
  ASSERT_TRUE(published) << published.error().message;
}

/// Publishes the export of a run, each time as a new owner.
inline void publish_export(const Location& folder, const std::string& text,
                           OwnershipAction action = OwnershipAction::kBegin) {
  const auto seen = read_chain(folder);
  ASSERT_TRUE(seen);
  auto owner = Ownership::take(folder, *seen, {.action = action, .output_entry = seen->last + 1});
  ASSERT_TRUE(owner) << owner.error().message;
  const std::string below = owner->entry() == 1 ? "" : concat("o", owner->entry(), "/");
  ASSERT_TRUE(owner->publish(manifest_of(folder, model_files(text), below)));
}

inline std::uint64_t calls_in(const StoreMetrics& metrics) {
  std::uint64_t calls = 0;
  for (std::size_t i = 0; i < kStoreOperations; ++i)
    calls += metrics.of(static_cast<StoreOperation>(i)).calls;
  return calls;
}

inline std::vector<std::uint64_t> numbers_of(const WantedVersions& wanted) {
  std::vector<std::uint64_t> numbers;
  for (const auto& version : wanted.versions) numbers.push_back(version->number);
  return numbers;
}

inline bool poll_of(ModelSource& source) {
  const auto polled = source.poll({});
  EXPECT_TRUE(polled) << polled.error().message;
  return polled && *polled;
}

}  // namespace headrace
