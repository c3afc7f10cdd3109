#pragma once

/// \file Rows of Python, as headrace.prepare writes them below its output: docs/formats/plan.md, "Staged
/// rows".

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace {

/// Below an output.
inline constexpr std::string_view kStagedFolder = "_headrace/staged";

/// Whether a key, or a URL, is that of such a folder.
bool is_staged_folder(std::string_view key);

struct StagedPart {
  std::uint64_t rows_before = 0;
  /// Its rows lay in a store, so they must not name files of this machine. Others are of the program that
  /// staged them.
  bool is_from_store = false;
};

/// Of a name as docs/formats/plan.md says; none if it is another.
std::optional<StagedPart> parse_staged_name(std::string_view name);
/// Of a file of such a name in such a folder.
std::optional<StagedPart> staged_part(std::string_view url);

/// What tells a file's content beside its URL: the store's version; of a staged part nothing, as its name
/// does.
std::string_view version_of_content(std::string_view url, std::string_view version);

}  // namespace headrace
