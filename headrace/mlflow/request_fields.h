#pragma once

/// \file The fields of a request to MLflow's API, from a JSON body or a query. Protobuf's JSON is accepted,
/// as by MLflow's server: numbers may be strings, and null means absent.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"

namespace headrace::mlflow {

/// The fields of one request. A value. All errors are kInvalidArgument, and name the field.
class RequestFields {
 public:
  /// Parses a JSON object; an empty body has no fields.
  static Result<RequestFields> parse_body(std::string_view body);
  /// Parses a query such as "a=1&b=2", percent-encoded. A repeated name makes a list.
  static Result<RequestFields> parse_query(std::string_view query);
  explicit RequestFields(Json object) : object_(std::move(object)) {}

  /// Sets a field, such as one from the path of the request.
  void set(std::string_view name, std::string_view value) { object_[name] = Json(value); }

  bool has(std::string_view name) const { return !object_[name].is_null(); }
  /// A text, or an integer as text; empty if absent.
  Result<std::string> text(std::string_view name) const;
  /// As `text`, but an absent or empty field is an error.
  Result<std::string> required_text(std::string_view name) const;
  /// The id of the run: `run_id`, else `run_uuid`, which old clients send.
  Result<std::string> run_id() const;
  /// nullopt if absent.
  Result<std::optional<std::int64_t>> integer(std::string_view name) const;
  /// A number, or one of the texts NaN, Infinity and -Infinity.
  Result<double> required_number(std::string_view name) const;
  /// `otherwise` if absent.
  Result<bool> flag(std::string_view name, bool otherwise) const;
  /// A list of texts; a single text is a list of one; empty if absent.
  Result<std::vector<std::string>> texts(std::string_view name) const;
  /// The `key` and `value` of each object in a list, in order; empty if absent.
  Result<std::vector<std::pair<std::string, std::string>>> pairs(std::string_view name) const;
  Result<RequestFields> object(std::string_view name) const;
  Result<std::vector<RequestFields>> objects(std::string_view name) const;

 private:
  Json object_;
};

}  // namespace headrace::mlflow
