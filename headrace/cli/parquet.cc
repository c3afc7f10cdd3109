#include "headrace/cli/parquet.h"

#include <filesystem>

#include "headrace/base/text.h"
#include "headrace/cli/own_package.h"
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/os/child_process.h"

namespace headrace {
namespace {

constexpr std::chrono::hours kConversionDeadline{1};

}  // namespace

Status upload_file(CommandContext& context, const std::string& path, const Location& to) {
  HEADRACE_TRY(const Location from, context.stores.open(std::filesystem::absolute(path).string()));
  const CallOptions call = context.call();
  HEADRACE_TRY(const ObjectInfo object, from.store->stat(from.key, call));
  HEADRACE_TRY(const auto upload, to.store->start_upload(to.key, {.call = call}));
  HEADRACE_CHECK(
      read_in_pieces(*from.store, object, call, [&](BytesView piece) { return upload->append(piece); }));
  HEADRACE_CHECK(upload->commit());
  return {};
}

Status run_parquet_program(const CommandContext& context, const std::string& program,
                           std::vector<std::string> arguments) {
  HEADRACE_TRY(const std::string interpreter, find_interpreter(context.environment, ""));
  HEADRACE_TRY(const std::string package_folder, own_python_package());
  std::vector<std::string> command = {interpreter, concat(package_folder, "/headrace/_src/", program)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  HEADRACE_TRY(const ChildResult done, run_child(std::move(command), context.environment.variables,
                                                 {.deadline = kConversionDeadline, .stop = context.stop}));
  if (done.exit_status == 0) return {};
  return Error{Code::kFailedPrecondition, concat(interpreter, ": ", trim(done.error_tail))};
}

}  // namespace headrace
