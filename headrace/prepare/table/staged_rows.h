#pragma once

/// \file Rows from Python, which headrace.prepare stages below its output: docs/formats/plan.md, "Staged
/// rows".

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace {

/// The folder of staged rows below an output.
inline constexpr std::string_view kStagedFolder = "_headrace/staged";

/// True if a key or a URL names such a folder.
bool is_staged_folder(std::string_view key);

struct StagedPart {
  std::uint64_t rows_before = 0;
  /// True if the rows came from a store: they must not name files of this machine then. Other rows came from
  /// the program that staged them.
  bool is_from_store = false;
};

/// Parses a name as docs/formats/plan.md defines it; nullopt for any other name.
std::optional<StagedPart> parse_staged_name(std::string_view name);
/// The same for the URL of a file in such a folder; nullopt for any other file.
std::optional<StagedPart> staged_part(std::string_view url);

/// The version that, together with the URL, identifies the content of a file. It is the store's version, but
/// empty for a staged part, whose name holds a digest of the content.
std::string_view version_of_content(std::string_view url, std::string_view version);

}  // namespace headrace
