#pragma once

/// \file The fields of a request to MLflow's API: of a body in JSON, or of a query. Protobuf's JSON is
/// accepted as MLflow's server does: numbers may be texts, and null is absent.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"

namespace headrace::mlflow {

/// All errors are kInvalidArgument and name the field.
class RequestFields {
 public:
  /// A body; an empty one has no fields.
  static Result<RequestFields> parse_body(std::string_view body);
  /// "a=1&b=2", percent-encoded. A name may repeat.
  static Result<RequestFields> parse_query(std::string_view query);
  explicit RequestFields(Json object) : object_(std::move(object)) {}

  /// Sets a field, as those that are part of a path.
  void set(std::string_view name, std::string_view value) { object_[name] = Json(value); }

  bool has(std::string_view name) const { return !object_[name].is_null(); }
  /// Empty if it is absent.
  Result<std::string> text(std::string_view name) const;
  /// It is there, and not empty.
  Result<std::string> required_text(std::string_view name) const;
  /// The run that is meant: `run_id`, else `run_uuid`, as old clients say it.
  Result<std::string> run_id() const;
  Result<std::optional<std::int64_t>> integer(std::string_view name) const;
  /// A number, or the texts NaN, Infinity, -Infinity.
  Result<double> required_number(std::string_view name) const;
  Result<bool> flag(std::string_view name, bool otherwise) const;
  Result<std::vector<std::string>> texts(std::string_view name) const;
  /// A list of objects with `key` and `value`, in order.
  Result<std::vector<std::pair<std::string, std::string>>> pairs(std::string_view name) const;
  Result<RequestFields> object(std::string_view name) const;
  Result<std::vector<RequestFields>> objects(std::string_view name) const;

 private:
  Json object_;
};

}  // namespace headrace::mlflow
