#pragma once

/// \file Tests whether a store does what Headrace relies on, and says what to do if it does not.

#include <functional>
#include <string>
#include <string_view>

#include "headrace/store/store.h"

namespace headrace {

struct Finding {
  enum class Outcome { kOk, kWarning, kFailure };
  std::string name;  // "conditional create"
  Outcome outcome = Outcome::kOk;
  std::string text;      // what was found
  std::string advice{};  // one sentence; empty where there is nothing to do
};

using Report = std::function<void(Finding)>;

struct ExamineOptions {
  /// Size of the object that measures the speed. 0: do not measure.
  std::uint64_t speed_bytes = 64 << 20;
  CallOptions call{};
};

/// Writes objects with unique names into `folder`; reads, replaces, lists and finally removes them. Reports
/// each promise of store.h that Headrace's formats rely on (whole writes, conditional create and replace,
/// reads of one version, listing, removal), and the speed of reading and writing.
void examine_writes(Store& store, std::string_view folder, const ExamineOptions& options,
                    const Report& report);

}  // namespace headrace
