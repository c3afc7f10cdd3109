#include "headrace/cli/run_table.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "headrace/base/text.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/cli/text_table.h"
#include "headrace/history/run_tables.h"

namespace headrace {
namespace {

constexpr std::size_t kShownBytes = 60;  // of a cell in a terminal

std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "";
  return cell.is_string() ? cell.text() : cell.dump();
}

Error no_table(const RunRecord& run, const std::string& name, const std::vector<RunTable>& tables) {
  std::set<std::string> names;
  for (const RunTable& table : tables) names.insert(table.name);
  const std::string others = join(std::vector<std::string>(names.begin(), names.end()), ", ");
  return {Code::kNotFound,
          concat("the run ", run.id, " has no table ", name, " at that step; ",
                 others.empty() ? "it has logged no tables" : concat("there are: ", others))};
}

void print_table(Console& console, const TableContent& content) {
  std::vector<std::vector<std::string>> rows = {{}};
  for (const std::string& column : content.columns)
    rows.front().push_back(printable_line(column, kShownBytes));
  for (const Json& row : content.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (const Json& cell : row.values()) cells.push_back(printable_line(cell_text(cell), kShownBytes));
  }
  for (const std::string& line : table_lines(rows, Align::kLeft)) console.result(line);
}

}  // namespace

Status show_table(CommandContext& context, const RunRecord& run, const std::string& name,
                  std::optional<std::int64_t> step) {
  HEADRACE_TRY(const std::vector<RunTable> tables, tables_of(run, history_source(context)));
  const RunTable* chosen = nullptr;
  for (const RunTable& table : tables) {
    if (table.name != name || (step && table.step != *step)) continue;
    if (chosen == nullptr || table.rank == chosen->rank) chosen = &table;
  }
  if (chosen == nullptr) return no_table(run, name, tables);
  HEADRACE_TRY(const TableContent content, read_table(*chosen, context.call()));
  if (context.console.json()) {
    context.console.result(Json({{"run", run.id},
                                 {"rank", chosen->rank},
                                 {"table", chosen->name},
                                 {"step", chosen->step},
                                 {"columns", content.columns},
                                 {"rows", content.rows}})
                               .dump());
  } else {
    print_table(context.console, content);
  }
  return {};
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

Result<std::uint64_t> write_tables(CommandContext& context, const std::vector<RunRecord>& runs,
                                   const std::string& name, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  std::optional<std::vector<std::string>> columns;
  std::uint64_t written = 0;
  for (const RunRecord& run : runs) {
    HEADRACE_TRY(const std::vector<RunTable> tables, tables_of(run, history_source(context)));
    for (const RunTable& table : tables) {
      if (table.name != name) continue;
      HEADRACE_TRY(const TableContent content, read_table(table, context.call()));
      if (!columns) {
        columns = content.columns;
        file << "run,rank,step";
        for (const std::string& column : *columns) file << ',' << csv_field(column);
        file << '\n';
      }
      if (content.columns != *columns)
        return Error{Code::kInvalidArgument,
                     concat("the table ", name, " of the run ", run.id, ", step ", table.step,
                            ", has other columns than the tables before it: export this run by itself")};
      for (const Json& row : content.rows) {
        file << csv_field(run.id) << ',' << table.rank << ',' << table.step;
        for (const Json& cell : row.values()) file << ',' << csv_field(cell_text(cell));
        file << '\n';
      }
      ++written;
    }
  }
  if (!file.flush())
    return Error{Code::kResourceExhausted, concat("cannot write ", path, ": is the disk full?")};
  return written;
}

}  // namespace headrace
