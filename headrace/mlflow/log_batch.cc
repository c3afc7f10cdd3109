#include "headrace/mlflow/log_batch.h"

#include <simdjson.h>

#include <limits>
#include <memory>
#include <set>

#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"

namespace headrace::mlflow {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kSpareParserBytes = 1 << 20;

static_assert(kBatchPaddingBytes >= simdjson::SIMDJSON_PADDING);

Error batch_error(std::string_view message) { return {Code::kInvalidArgument, std::string(message)}; }

Error wrong_member(std::string_view name, std::string_view wanted) {
  return batch_error(concat("Invalid value for parameter '", name, "' supplied: it must be ", wanted));
}

Status read_text(std::string_view name, dom::element value, std::string_view& out) {
  if (value.is_null()) return {};
  if (value.get_string().get(out) == simdjson::SUCCESS) return {};
  return wrong_member(name, "a text");
}

// In protobuf's JSON, an integer is a number or its text.
Status read_integer(std::string_view name, dom::element value, std::int64_t& out) {
  std::string_view text;
  if (value.is_null() || value.get_int64().get(out) == simdjson::SUCCESS) return {};
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    if (const auto number = parse_number<std::int64_t>(text)) {
      out = *number;
      return {};
    }
  }
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS && number >= -9.2e18 && number <= 9.2e18) {
    out = static_cast<std::int64_t>(number);
    if (static_cast<double>(out) == number) return {};
  }
  return wrong_member(name, "a 64-bit integer");
}

Status read_number(std::string_view name, dom::element value, double& out) {
  if (value.get_double().get(out) == simdjson::SUCCESS) return {};
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool is_known = text == "NaN" || text == "Infinity" || text == "-Infinity";
    out = text == "NaN" ? std::numeric_limits<double>::quiet_NaN() : text[0] == '-' ? -kInfinity : kInfinity;
    if (is_known) return {};
  }
  return wrong_member(name, "a valid double (64-bit floating point)");
}

Status read_point(dom::element element, LoggedPoint& point) {
  dom::object object;
  if (element.get_object().get(object) != simdjson::SUCCESS)
    return wrong_member("metrics", "a list of objects");
  bool has_value = false;
  for (const auto& [name, value] : object) {
    if (name == "key") {
      HEADRACE_CHECK(read_text(name, value, point.key));
    } else if (name == "value") {
      has_value = true;
      HEADRACE_CHECK(read_number(name, value, point.value));
    } else if (name == "timestamp") {
      HEADRACE_CHECK(read_integer(name, value, point.time_ms));
    } else if (name == "step") {
      HEADRACE_CHECK(read_integer(name, value, point.step));
    } else if (name == "model_id") {
      HEADRACE_CHECK(read_text(name, value, point.model_id));
    } else if (name == "dataset_name") {
      HEADRACE_CHECK(read_text(name, value, point.dataset_name));
    } else if (name == "dataset_digest") {
      HEADRACE_CHECK(read_text(name, value, point.dataset_digest));
    }
  }
  if (!has_value) return batch_error("Missing value for required parameter 'value'.");
  return check_point(point);
}

Status read_points(dom::element value, std::vector<LoggedPoint>& out) {
  dom::array array;
  if (value.is_null()) return {};
  if (value.get_array().get(array) != simdjson::SUCCESS) return wrong_member("metrics", "a list of objects");
  for (const dom::element element : array) {
    if (out.size() == kMetricsPerBatch) {
      return batch_error(concat("A batch logging request can contain at most ", kMetricsPerBatch,
                                " metrics. Please split up metrics across multiple requests and try again."));
    }
    HEADRACE_CHECK(read_point(element, out.emplace_back()));
  }
  return {};
}

Status read_pairs(std::string_view list, dom::element value,
                  std::vector<std::pair<std::string, std::string>>& out) {
  dom::array array;
  if (value.is_null()) return {};
  if (value.get_array().get(array) != simdjson::SUCCESS) return wrong_member(list, "a list of objects");
  for (const dom::element element : array) {
    std::string_view key, text;
    dom::object object;
    if (element.get_object().get(object) != simdjson::SUCCESS) return wrong_member(list, "a list of objects");
    for (const auto& [name, each] : object) {
      if (name == "key") HEADRACE_CHECK(read_text(name, each, key));
      if (name == "value") HEADRACE_CHECK(read_text(name, each, text));
    }
    if (out.size() == kParamsPerBatch) {
      return batch_error(concat("A batch logging request can contain at most ", kParamsPerBatch, " ", list,
                                ". Please split up ", list, " across multiple requests and try again."));
    }
    out.emplace_back(key, text);
  }
  return {};
}

Status read_batch(dom::element root, LogBatch& batch) {
  dom::object object;
  if (root.get_object().get(object) != simdjson::SUCCESS)
    return batch_error("the body must be a JSON object");
  std::string_view run_id, run_uuid;
  for (const auto& [name, value] : object) {
    if (name == "run_id") {
      HEADRACE_CHECK(read_text(name, value, run_id));
    } else if (name == "run_uuid") {
      HEADRACE_CHECK(read_text(name, value, run_uuid));
    } else if (name == "metrics") {
      HEADRACE_CHECK(read_points(value, batch.points));
    } else if (name == "params") {
      HEADRACE_CHECK(read_pairs(name, value, batch.params));
    } else if (name == "tags") {
      HEADRACE_CHECK(read_pairs(name, value, batch.tags));
    }
  }
  batch.run_id = run_id.empty() ? run_uuid : run_id;
  HEADRACE_CHECK(check_run_id(batch.run_id));
  if (batch.points.size() + batch.params.size() + batch.tags.size() > kEntitiesPerBatch) {
    return batch_error(concat("A batch logging request can contain at most ", kEntitiesPerBatch,
                              " metrics, params, and tags. Please split it up and try again."));
  }
  HEADRACE_CHECK(check_params(batch.params));
  return check_tags(batch.tags);
}

}  // namespace

Status check_point(const LoggedPoint& point) {
  HEADRACE_CHECK(check_entity_name(point.key, "name"));
  if (point.time_ms < 0 || point.time_ms > std::numeric_limits<std::int64_t>::max() / 1000)
    return batch_error(concat("Invalid value ", point.time_ms,
                              " for parameter 'timestamp' supplied: metric '", point.key,
                              "'. It is milliseconds since 1970"));
  if (point.dataset_name.empty() != point.dataset_digest.empty())
    return batch_error("Both dataset_name and dataset_digest must be provided if one is provided");
  return {};
}

Status check_params(const std::vector<std::pair<std::string, std::string>>& params) {
  std::set<std::string_view> keys;
  for (const auto& [key, value] : params) {
    HEADRACE_CHECK(check_entity_name(key, "key"));
    HEADRACE_CHECK(check_param_value(value));
    if (!keys.insert(key).second) {
      return batch_error(
          concat("Duplicate parameter keys have been submitted: ['", key,
                 "']. Please ensure the request contains only one param value per param key."));
    }
  }
  return {};
}

Status check_tags(const std::vector<std::pair<std::string, std::string>>& tags) {
  for (const auto& [key, value] : tags) {
    HEADRACE_CHECK(check_entity_name(key, "key"));
    HEADRACE_CHECK(check_tag_value(value));
  }
  return {};
}

Status read_log_batch(std::string_view body, const std::function<Status(const LogBatch&)>& use) {
  // A thread keeps the memory of its last parser, unless the body was large.
  thread_local std::unique_ptr<dom::parser> spare;
  std::unique_ptr<dom::parser> parser = std::move(spare);
  if (parser == nullptr) parser = std::make_unique<dom::parser>();
  dom::element root;
  const auto failed = parser->parse(body.data(), body.size(), false).get(root);
  if (failed != simdjson::SUCCESS)
    return batch_error(concat("the body is not JSON: ", simdjson::error_message(failed)));
  LogBatch batch;
  HEADRACE_CHECK(read_batch(root, batch));
  Status used = use(batch);
  if (parser->capacity() <= kSpareParserBytes) spare = std::move(parser);
  return used;
}

Status read_log_metric(const RequestFields& fields, const std::function<Status(const LogBatch&)>& use) {
  LogBatch batch;
  HEADRACE_TRY(batch.run_id, fields.run_id());
  HEADRACE_TRY(const std::string key, fields.required_text("key"));
  HEADRACE_TRY(const std::string model, fields.text("model_id"));
  HEADRACE_TRY(const std::string dataset, fields.text("dataset_name"));
  HEADRACE_TRY(const std::string digest, fields.text("dataset_digest"));
  LoggedPoint point{.key = key, .model_id = model, .dataset_name = dataset, .dataset_digest = digest};
  HEADRACE_TRY(point.value, fields.required_number("value"));
  HEADRACE_TRY(const auto time_ms, fields.integer("timestamp"));
  HEADRACE_TRY(const auto step, fields.integer("step"));
  point.time_ms = time_ms.value_or(0);
  point.step = step.value_or(0);
  HEADRACE_CHECK(check_run_id(batch.run_id));
  HEADRACE_CHECK(check_point(point));
  batch.points.push_back(point);
  return use(batch);
}

}  // namespace headrace::mlflow
