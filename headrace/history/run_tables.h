#pragma once

/// \file Tables that a run has logged into its event files: docs/formats/event-file.md, "Tables".

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/history/history.h"

namespace headrace {

class LogFolder;

/// A table that was logged at one step.
struct RunTable {
  std::string name;
  std::uint64_t rank = 0;
  std::int64_t step = 0;
  // Where the table's bytes are.
  std::shared_ptr<LogFolder> folder{};
  std::string blob_key{};
};

struct TableContent {
  std::vector<std::string> columns;
  std::vector<Json> rows;  // arrays, with a cell for each column
};

/// The tables of all parts of a run, by name, rank and step. If several attempts have a table at the same
/// step, the latest attempt's is returned. Reads the event files of the series `media` whole, but keeps no
/// tables in memory. If a part has more than 1,000 tables of one name, some between the first and the last
/// are left out.
/// \error of the store, or as `source.open` returns
Result<std::vector<RunTable>> tables_of(const RunRecord& run, const HistorySource& source);

/// Reads a table from the store.
/// \error kDataLoss  it is not a table
/// \error kNotFound  it is gone
/// \error of the store
Result<TableContent> read_table(const RunTable& table, const CallOptions& call = {});
/// \error kDataLoss  the text is not a table of that format
Result<TableContent> parse_table(std::string_view json);

}  // namespace headrace
