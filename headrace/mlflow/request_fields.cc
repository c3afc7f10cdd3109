#include "headrace/mlflow/request_fields.h"

#include "headrace/base/text.h"
#include "headrace/mlflow/state_text.h"
#include "headrace/net/url_encoding.h"
#include "headrace/track/mlflow_run.h"

namespace headrace::mlflow {
namespace {

Error field_error(std::string_view name, std::string_view wanted) {
  return {Code::kInvalidArgument, concat("the parameter '", name, "' must be ", wanted)};
}

}  // namespace

Result<RequestFields> RequestFields::parse_body(std::string_view body) {
  if (trim(body).empty()) return RequestFields(Json::object());
  auto parsed = parse_json(body);
  if (!parsed) return Error{Code::kInvalidArgument, concat("the body is not JSON: ", parsed.error().message)};
  if (!parsed->is_object()) return Error{Code::kInvalidArgument, "the body must be a JSON object"};
  return RequestFields(*std::move(parsed));
}

Result<RequestFields> RequestFields::parse_query(std::string_view query) {
  Json object = Json::object();
  for (const std::string& pair : split(query, '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const auto name = percent_decode(std::string_view(pair).substr(0, equals), true);
    const auto value =
        percent_decode(equals == pair.npos ? "" : std::string_view(pair).substr(equals + 1), true);
    if (!name || !value || !is_valid_utf8(*name) || !is_valid_utf8(*value))
      return Error{Code::kInvalidArgument, "the query is not percent-encoded UTF-8"};
    Json& field = object[*name];
    if (field.is_null()) {
      field = Json(*value);
      continue;
    }
    if (!field.is_array()) field = Json::array({std::move(field)});
    field.push_back(Json(*value));
  }
  return RequestFields(std::move(object));
}

Result<std::string> RequestFields::text(std::string_view name) const {
  const Json& field = object_[name];
  if (field.is_null()) return std::string();
  if (field.is_string()) return field.text();
  if (field.is_integer()) return field.dump();  // ids of experiments may be numbers
  return field_error(name, "a text");
}

Result<std::string> RequestFields::required_text(std::string_view name) const {
  HEADRACE_TRY(std::string value, text(name));
  if (value.empty())
    return Error{Code::kInvalidArgument, concat("Missing value for required parameter '", name, "'.")};
  return value;
}

Result<std::string> RequestFields::run_id() const {
  return required_text(has("run_id") || !has("run_uuid") ? "run_id" : "run_uuid");
}

Result<std::optional<std::int64_t>> RequestFields::integer(std::string_view name) const {
  constexpr std::string_view kWanted = "a 64-bit integer";
  const Json& field = object_[name];
  std::optional<std::int64_t> value;
  if (field.is_null()) return value;
  if (field.is_string()) {
    value = parse_number<std::int64_t>(field.text());
  } else if (field.is_number()) {
    // Protobuf also accepts 5.0.
    const double number = field.as<double>();
    if (field.is_integer()) {
      value = parse_number<std::int64_t>(field.dump());
    } else if (number >= -9.2e18 && number <= 9.2e18) {
      value = static_cast<std::int64_t>(number);
      if (static_cast<double>(*value) != number) value.reset();
    }
  }
  if (!value) return field_error(name, kWanted);
  return value;
}

Result<double> RequestFields::required_number(std::string_view name) const {
  const Json& field = object_[name];
  if (field.is_null())
    return Error{Code::kInvalidArgument, concat("Missing value for required parameter '", name, "'.")};
  if (const auto value = read_number(field)) return *value;
  return field_error(name, "a number");
}

Result<bool> RequestFields::flag(std::string_view name, bool otherwise) const {
  const Json& field = object_[name];
  if (field.is_null()) return otherwise;
  if (field == Json(true) || field == Json("true")) return true;
  if (field == Json(false) || field == Json("false")) return false;
  return field_error(name, "true or false");
}

Result<std::vector<std::string>> RequestFields::texts(std::string_view name) const {
  const Json& field = object_[name];
  std::vector<std::string> out;
  if (field.is_null()) return out;
  if (!field.is_array()) {
    HEADRACE_TRY(out.emplace_back(), text(name));
    return out;
  }
  for (const Json& each : field.values()) {
    if (!each.is_string() && !each.is_integer()) return field_error(name, "a list of texts");
    out.push_back(each.is_string() ? each.text() : each.dump());
  }
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> RequestFields::pairs(std::string_view name) const {
  HEADRACE_TRY(const std::vector<RequestFields> given, objects(name));
  std::vector<std::pair<std::string, std::string>> out;
  for (const RequestFields& each : given) {
    HEADRACE_TRY(std::string key, each.required_text("key"));
    HEADRACE_TRY(std::string value, each.text("value"));
    out.emplace_back(std::move(key), std::move(value));
  }
  return out;
}

Result<RequestFields> RequestFields::object(std::string_view name) const {
  if (!object_[name].is_object()) return field_error(name, "an object");
  return RequestFields(object_[name]);
}

Result<std::vector<RequestFields>> RequestFields::objects(std::string_view name) const {
  const Json& field = object_[name];
  std::vector<RequestFields> out;
  if (field.is_null()) return out;
  if (!field.is_array()) return field_error(name, "a list of objects");
  for (const Json& each : field.values()) {
    if (!each.is_object()) return field_error(name, "a list of objects");
    out.emplace_back(each);
  }
  return out;
}

}  // namespace headrace::mlflow
