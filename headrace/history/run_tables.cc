#include "headrace/history/run_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "headrace/base/text.h"
#include "headrace/events/log_folder.h"
#include "headrace/record/event.h"

namespace headrace {
namespace {

constexpr std::string_view kTableSeries = "media";
constexpr std::size_t kMostColumns = 1000;

using TablesByPlace = std::map<std::tuple<std::string, std::uint64_t, std::int64_t>, RunTable>;

// Adds the tables of a part. Tables that are already there belong to later attempts, and are kept.
Status add_tables(const RunPart& part, const RunSeries& series, const HistorySource& source,
                  TablesByPlace& tables) {
  HEADRACE_TRY(const Location location, source.open(series.url));
  const auto folder = std::make_shared<LogFolder>(location, LogFolderOptions{.warn = source.warn});
  for (bool has_more = true; has_more;) {
    HEADRACE_TRY(const PollOutcome outcome, folder->poll(source.call));
    has_more = outcome.has_more;
  }
  const SeriesQuery query{.plugin = std::string(kTablePlugin), .data_class = DataClass::kBlobSequence};
  folder->for_each_series(
      query, [&](const std::string&, const std::string& tag, const Series& found, const LogTimes& begun) {
        for (const Sample<BlobSequence>* sample : found.blobs(begun)) {
          if (sample->value.blobs.empty()) continue;
          tables.try_emplace({tag, part.start.rank, sample->step},
                             RunTable{.name = tag,
                                      .rank = part.start.rank,
                                      .step = sample->step,
                                      .folder = folder,
                                      .blob_key = folder->blob_key(sample->value, sample->value.blobs[0])});
        }
      });
  return {};
}

}  // namespace

Result<std::vector<RunTable>> tables_of(const RunRecord& run, const HistorySource& source) {
  TablesByPlace found;
  for (const RunPart& part : run.parts) {
    for (const RunSeries& series : series_of(part)) {
      if (series.name == kTableSeries) HEADRACE_CHECK(add_tables(part, series, source, found));
    }
  }
  std::vector<RunTable> tables;
  for (auto& [place, table] : found) tables.push_back(std::move(table));
  return tables;
}

Result<TableContent> read_table(const RunTable& table, const CallOptions& call) {
  HEADRACE_TRY(const Bytes json, table.folder->read_blob(table.blob_key, call));
  auto content = parse_table(as_text(json));
  if (!content)
    return std::move(content).error().in(concat("the table ", table.name, " of step ", table.step));
  return content;
}

Result<TableContent> parse_table(std::string_view json) {
  return read_json(json, "it is not a table as docs/formats/event-file.md describes",
                   [](const Json& from) -> Result<TableContent> {
                     TableContent content;
                     from.get_to("columns", content.columns);
                     const std::set<std::string_view> names(content.columns.begin(), content.columns.end());
                     if (names.size() < content.columns.size() || names.size() > kMostColumns)
                       throw JsonError("two columns have the same name, or there are too many");
                     content.rows = from.at("rows").values();
                     for (const Json& row : content.rows) {
                       if (row.values().size() != content.columns.size())
                         throw JsonError("the number of cells in a row is not the number of columns");
                       for (const Json& cell : row.values()) {
                         if (cell.is_array() || cell.is_object()) throw JsonError("a cell is a list");
                       }
                     }
                     return content;
                   });
}

}  // namespace headrace
