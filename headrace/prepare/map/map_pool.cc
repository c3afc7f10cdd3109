#include "headrace/prepare/map/map_pool.h"

#include "headrace/base/text.h"
#include "headrace/os/python_program.h"
#include "headrace/prepare/map/row_frame.h"

namespace headrace {
namespace {

constexpr std::chrono::minutes kStartTimeout{5};
// Room in a frame in addition to one row: for the rows before it, and for the tables.
constexpr std::uint64_t kFrameExtraBytes = 16 << 20;

}  // namespace

MapPool::MapPool(MapProgram program, const Environment& environment, std::stop_token stop)
    : program_(std::move(program)),
      arguments_({program_.interpreter, "-m", "headrace._src.map_worker", program_.function,
                  concat(row_limit_bytes(program_.cell_limit_bytes))}),
      variables_(variables_with_package(program_.package_folder, environment)),
      stop_(std::move(stop)) {
  // Gives sets of texts the same order in all processes.
  variables_.try_emplace("PYTHONHASHSEED", "0");
}

std::uint64_t MapPool::frame_limit_bytes() const {
  return row_limit_bytes(program_.cell_limit_bytes) + kFrameExtraBytes;
}

Result<std::unique_ptr<FramedChild>> MapPool::acquire() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<FramedChild> process = std::move(idle_.back());
      idle_.pop_back();
      return process;
    }
  }
  auto process = start();
  if (!process) return std::move(process).error().in(concat("the map ", program_.function));
  return process;
}

void MapPool::give_back(std::unique_ptr<FramedChild> process) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(process));
}

void MapPool::end_idle() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
}

Result<std::unique_ptr<FramedChild>> MapPool::start() {
  HEADRACE_TRY(std::unique_ptr<FramedChild> process, FramedChild::start(arguments_, variables_));
  const auto answer = process->receive(frame_limit_bytes(), {kStartTimeout, stop_});
  if (!answer) {
    if (answer.error().code == Code::kCancelled) return answer.error();
    const bool has_ended = answer.error().code == Code::kUnavailable;
    return Error{Code::kFailedPrecondition,
                 concat(program_.interpreter, " did not load it (",
                        has_ended ? process->end(kMapEndGrace) : answer.error().message, ")")};
  }
  HEADRACE_TRY(RowFrame frame, RowFrame::parse(*answer));
  if (frame.rows_left() == 0) return process;
  const RowFrame::Row row = frame.next();
  return Error{Code::kInvalidArgument,
               row.cells.empty() ? "it cannot be loaded" : to_string(row.cells.front().cell.data)};
}

}  // namespace headrace
