#pragma once

/// \file The points that a client logs: the body of log-batch, read where it lies, and log-metric.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/mlflow/request_fields.h"

namespace headrace::mlflow {

/// Bytes that must be readable behind a body.
inline constexpr std::size_t kBatchPaddingBytes = 64;

/// A point of a metric. Texts are borrowed.
struct LoggedPoint {
  std::string_view key;
  double value = 0;
  std::int64_t time_ms = 0;  // since 1970
  std::int64_t step = 0;
  std::string_view model_id{};  // empty: none; so are the others
  std::string_view dataset_name{};
  std::string_view dataset_digest{};
};

struct LogBatch {
  std::string run_id;
  std::vector<LoggedPoint> points;
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::pair<std::string, std::string>> tags;
};

/// Parses a body, checks names, values and sizes as MLflow does, and returns what `use` returns. The batch
/// is valid during the call. `body` has kBatchPaddingBytes behind it.
/// \error kInvalidArgument  the message names what is wrong. Time: linear
Status read_log_batch(std::string_view body, const std::function<Status(const LogBatch&)>& use);

/// The same for the fields of log-metric: a batch of one point.
Status read_log_metric(const RequestFields& fields, const std::function<Status(const LogBatch&)>& use);

/// \error kInvalidArgument  the name breaks the rules, or the time is negative
Status check_point(const LoggedPoint& point);
Status check_params(const std::vector<std::pair<std::string, std::string>>& params);
Status check_tags(const std::vector<std::pair<std::string, std::string>>& tags);

}  // namespace headrace::mlflow
