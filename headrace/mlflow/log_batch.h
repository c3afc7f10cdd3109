#pragma once

/// \file Parses the points that a client logs: the body of log-batch, in place, and the fields of log-metric.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/mlflow/request_fields.h"

namespace headrace::mlflow {

/// Number of bytes that must be readable after a body.
inline constexpr std::size_t kBatchPaddingBytes = 64;

/// A point of a metric. Texts are borrowed.
struct LoggedPoint {
  std::string_view key;
  double value = 0;
  std::int64_t time_ms = 0;  // since 1970
  std::int64_t step = 0;
  std::string_view model_id{};  // this and the next two: empty if not given
  std::string_view dataset_name{};
  std::string_view dataset_digest{};
};

struct LogBatch {
  std::string run_id;
  std::vector<LoggedPoint> points;
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::pair<std::string, std::string>> tags;
};

/// Parses a body, checks names, values and sizes as MLflow does, calls `use`, and returns its result. The
/// batch is valid only during that call. Cost: linear.
/// \error kInvalidArgument  the body breaks a rule; the message says which
/// \error of `use`
/// REQUIRES: kBatchPaddingBytes are readable after `body`
Status read_log_batch(std::string_view body, const std::function<Status(const LogBatch&)>& use);

/// As read_log_batch, for the fields of log-metric: a batch of one point.
Status read_log_metric(const RequestFields& fields, const std::function<Status(const LogBatch&)>& use);

/// These check names and values as names.h says.
/// \error kInvalidArgument  a name or value breaks the rules, or a time is negative
Status check_point(const LoggedPoint& point);
Status check_params(const std::vector<std::pair<std::string, std::string>>& params);
Status check_tags(const std::vector<std::pair<std::string, std::string>>& tags);

}  // namespace headrace::mlflow
