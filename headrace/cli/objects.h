#pragma once

/// \file What the commands over objects share: object or folder, counting, times for people.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/cli/command.h"

namespace headrace {

/// The object of that name; none if there is none, as for a store's root.
Result<std::optional<ObjectInfo>> find_object(const Location& location, const CallOptions& call);

/// Does anything lie below? One listing that ends at the first object.
Result<bool> is_folder(const Location& location, const CallOptions& call);

Error nothing_at(const Location& location);

/// "2026-11-21 03:26:00" (UTC); blanks of the same width if the store does not tell.
std::string format_modified(const ObjectInfo& object);

struct Totals {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};
Result<Totals> total_below(const Location& folder, const CallOptions& call);

/// Is it an object that publishes a folder: a manifest? Written last and removed first.
bool is_manifest_key(std::string_view key);

/// kCancelled, where `stop` was stopped: for loops.
Status check_stop(const std::stop_token& stop, std::string_view doing);

}  // namespace headrace
