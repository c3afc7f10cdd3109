#pragma once

/// \file A continued dataset's record of the rows of one slice: docs/formats/plan.md, "Work".

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/prepare/source/known_inputs.h"

namespace headrace {

/// A row as reports name it: by its place in a file, or by its id if it is an object of a folder.
struct RejectedRow {
  std::string_view source;  // empty: an object of a folder
  std::uint64_t row = 0;
  std::string_view id;
};

/// The rejected rows that may be retried. The last line about a row in the reports counts. Rows that were
/// rejected because another row has their id are left out. Not thread-safe.
class RejectedRows {
 public:
  RejectedRows() = default;
  RejectedRows(const RejectedRows&) = delete;
  RejectedRows& operator=(const RejectedRows&) = delete;

  /// Takes a line of a report, in the order of the reports.
  void take(const RejectedRow& row, std::string_view status, std::string_view reason);

  /// Why a row was rejected; null if it was not rejected. Borrowed from this.
  const std::string* find(const RejectedRow& row) const;
  /// True if `take` saw a rejected row of this file. JSON does not keep this.
  bool has_source(std::string_view source) const { return sources_.contains(source); }
  bool is_empty() const { return reasons_of_rows_.empty(); }

 private:
  friend struct SlicePast;
  void add(std::uint64_t row_hash, std::string_view reason);

  std::map<std::uint64_t, const std::string*> reasons_of_rows_;  // by the hash of the row
  std::set<std::string, std::less<>> reasons_;
  std::set<std::string, std::less<>> sources_;
};

struct SlicePast {
  KnownInputs inputs;     // for an append to a folder whose objects are rows: the objects that were read
  RejectedRows rejected;  // for a retry

  std::string to_json() const;
  /// Reads the result of to_json. \error kDataLoss  it has another form
  Status read_json(std::string_view json);
};

}  // namespace headrace
