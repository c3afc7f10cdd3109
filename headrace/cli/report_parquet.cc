#include <fstream>

#include "headrace/base/text.h"
#include "headrace/cli/inspect_statistics.h"
#include "headrace/cli/parquet.h"
#include "headrace/statistics/report_lines.h"

namespace headrace {
namespace {

Result<std::uint64_t> write_lines(const PublishedFolder& published, const CallOptions& call,
                                  const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  std::uint64_t lines = 0;
  HEADRACE_CHECK(visit_report_lines(published, call, [&](std::string_view line) -> Status {
    ++lines;
    file << line << '\n';
    return {};
  }));
  if (!file.flush())
    return Error{Code::kResourceExhausted, concat("cannot write ", path, ": is the disk full?")};
  return lines;
}

}  // namespace

Status write_report_parquet(CommandContext& context, const PublishedFolder& published,
                            const std::string& target) {
  HEADRACE_TRY(const Location to, context.stores.open(target));
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder(context.environment)));
  const std::string lines = concat(staged.path(), "/report.jsonl");
  const std::string parquet = concat(staged.path(), "/report.parquet");
  HEADRACE_TRY(const std::uint64_t count, write_lines(published, context.call(), lines));
  if (count == 0)
    return Error{Code::kNotFound,
                 concat(published.folder.describe(),
                        " has no report: no row was rejected, dropped or changed; prepare with "
                        "--report all to have a line for each")};
  HEADRACE_CHECK(run_parquet_program(context, "report_parquet.py", {lines, parquet}));
  HEADRACE_CHECK(upload_file(context, parquet, to));
  context.console.note(concat(to.describe(), " has ", count, " rows"));
  return {};
}

}  // namespace headrace
