#include "headrace/serve/request_log/model_log.h"

#include <limits>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {

ModelLog::ModelLog(std::shared_ptr<SegmentLog> log, std::string model, ModelLogOptions options,
                   Background& background)
    : log_(std::move(log)), model_(std::move(model)), options_(std::move(options)), background_(background) {}

std::shared_ptr<ModelLog> ModelLog::open(const Location& location, std::string model, ModelLogOptions options,
                                         Background& background) {
  SegmentLogOptions segments;
  segments.ending = std::string(kRequestLogEnding);
  segments.most_held_bytes = std::numeric_limits<std::size_t>::max();  // RequestLog enforces the bound
  segments.call.stop = options.stop;
  segments.now = options.now;
  // A log that neither continues nor replaces another sends no request, so opening it cannot fail.
  auto log = *SegmentLog::open(location, false, std::move(segments), background);
  return std::shared_ptr<ModelLog>(
      new ModelLog(std::move(log), std::move(model), std::move(options), background));
}

std::string ModelLog::append(BytesView framed_record) {
  if (!log_->append(framed_record)) return drop();
  std::uint64_t dropped = 0;
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.logged;
    dropped = std::exchange(dropped_in_row_, 0);
    if (!std::exchange(is_flush_ordered_, true)) order_flush();
  }
  return dropped == 0 ? "" : concat("requests of ", model_, " are logged again; ", dropped, " were dropped");
}

std::string ModelLog::drop() {
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.dropped;
    if (dropped_in_row_++ != 0) return "";
  }
  return concat("requests of ", model_, " are not logged: ", log_->location().describe(),
                " accepts records too slowly; ", format_size(waiting_bytes()), " are waiting");
}

// REQUIRES: mutex_ is held
void ModelLog::order_flush() {
  background_.add_at(Background::Clock::now() + options_.flush_each, [weak = weak_from_this()] {
    if (const auto log = weak.lock()) log->flush();
  });
}

void ModelLog::flush() {
  {
    const std::scoped_lock lock(mutex_);
    is_flush_ordered_ = false;  // records that arrive from now on may miss this flush
  }
  const Status flushed = log_->flush();
  if (options_.stop.stop_requested()) return;
  if (!flushed) options_.remark(concat("the log of requests of ", model_, ": ", flushed.error().message));
  if (waiting_bytes() == 0) return;
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(is_flush_ordered_, true)) order_flush();
}

void ModelLog::close() {
  const Status closed = log_->close();
  if (closed) return;
  options_.remark(concat("the log of requests of ", model_, " loses ", format_size(waiting_bytes()), ": ",
                         closed.error().message));
}

ModelLog::Counts ModelLog::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace headrace
