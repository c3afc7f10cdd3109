#include "headrace/serve/configuration/serving_configuration.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/duration.h"
#include "headrace/base/text.h"
#include "headrace/base/toml.h"

namespace headrace {
namespace {

constexpr std::size_t kMostModels = 1'000;
constexpr std::size_t kLongestName = 128;
constexpr std::chrono::hours kLongestTime{24};
constexpr std::int64_t kMostMinRequests = 1'000'000;
constexpr std::string_view kPolicies = "default, latest:N, all, or numbers as in 3,5";

// A table of the file, with its node and its name for messages.
struct NamedTable {
  const TomlNode& node;
  const TomlTable& table;
  std::string name;
};

Result<NamedTable> table_of(const TomlNode& node, std::string name, std::string_view source_name) {
  const auto* const table = node.get<TomlTable>();
  if (table != nullptr) return NamedTable{node, *table, std::move(name)};
  return Error{Code::kInvalidArgument,
               concat(source_name, ", line ", node.line, ": ", name, " must be a table")};
}

Status read_duration(TomlKeys& keys, std::string_view key, std::chrono::milliseconds& value) {
  const TomlNode* const node = keys.find(key);
  if (node == nullptr) return {};
  const auto* const text = node->get<std::string>();
  const auto time = text != nullptr ? parse_duration(*text) : std::nullopt;
  if (!time || time->count() == 0 || *time > kLongestTime)
    return keys.error(*node, key, "must be a time up to 24h, as in \"200ms\", \"30s\" or \"5m\"");
  value = *time;
  return {};
}

// Reads a share in percent, in hundredths of a percent.
Status read_percent(TomlKeys& keys, const NamedTable& in, std::string_view key, std::uint64_t& value) {
  const TomlNode* const node = keys.find(key);
  if (node == nullptr) return keys.error(in.node, key, "is missing: give a percentage from 0 to 100");
  const auto percent = node->number();
  if (!percent || !(*percent >= 0 && *percent <= 100))
    return keys.error(*node, key, "must be a percentage from 0 to 100, without %");
  value = static_cast<std::uint64_t>(std::llround(*percent * 100));
  if (value == 0 && *percent > 0) return keys.error(*node, key, "must be 0, or at least 0.01 percent");
  return {};
}

Status read_version(TomlKeys& keys, const NamedTable& in, VersionName& value) {
  constexpr std::string_view kKey = "version";
  const TomlNode* const node = keys.find(kKey);
  if (node == nullptr)
    return keys.error(in.node, kKey, "is missing: give a number, or a label as in \"candidate\"");
  const auto* const number = node->get<std::int64_t>();
  const auto* const label = node->get<std::string>();
  if (number != nullptr && *number >= 0) {
    value = static_cast<std::uint64_t>(*number);
    return {};
  }
  if (label == nullptr || label->empty())
    return keys.error(*node, kKey, "must be a number, or a label as in \"candidate\"");
  const auto digits = parse_number<std::uint64_t>(*label);
  value = digits ? VersionName(*digits) : VersionName(*label);
  return {};
}

Result<CanaryOptions> read_canary(const NamedTable& in, std::string_view source_name) {
  TomlKeys keys(in.table, in.name, source_name);
  CanaryOptions out;
  HEADRACE_CHECK(read_version(keys, in, out.version));
  HEADRACE_CHECK(read_percent(keys, in, "weight", out.weight));
  HEADRACE_CHECK(keys.text("sticky-header", out.sticky_header));
  if (const TomlNode* const node = keys.find("max-error-rate")) {
    out.max_error_rate = node->number();
    if (!out.max_error_rate || !(*out.max_error_rate >= 0 && *out.max_error_rate <= 1))
      return keys.error(*node, "max-error-rate", "must be a number from 0 to 1");
  }
  if (keys.find("max-latency") != nullptr)
    HEADRACE_CHECK(read_duration(keys, "max-latency", out.max_latency.emplace()));
  HEADRACE_CHECK(read_duration(keys, "window", out.window));
  HEADRACE_CHECK(keys.integer("min-requests", 1, kMostMinRequests, out.min_requests));
  HEADRACE_CHECK(keys.finish());
  return out;
}

Result<ShadowOptions> read_shadow(const NamedTable& in, std::string_view source_name) {
  TomlKeys keys(in.table, in.name, source_name);
  ShadowOptions out;
  HEADRACE_CHECK(read_version(keys, in, out.version));
  HEADRACE_CHECK(read_percent(keys, in, "fraction", out.fraction));
  if (const TomlNode* const node = keys.find("tolerance")) {
    const auto tolerance = node->number();
    if (!tolerance || !(*tolerance >= 0))
      return keys.error(*node, "tolerance", "must be a number that is not negative");
    out.tolerance = *tolerance;
  }
  HEADRACE_CHECK(keys.finish());
  return out;
}

Status read_sizes(TomlKeys& keys, std::vector<std::uint64_t>& sizes) {
  constexpr std::string_view kKey = "batch-sizes";
  const TomlNode* const node = keys.find(kKey);
  if (node == nullptr) return {};
  sizes.clear();
  const auto* const array = node->get<TomlArray>();
  if (array == nullptr) return keys.error(*node, kKey, "must be a list of whole numbers, as in [1, 8, 64]");
  for (const TomlNode& element : *array) {
    const auto* const size = element.get<std::int64_t>();
    if (size == nullptr || *size < 1)
      return keys.error(element, kKey, "must be a list of whole numbers, as in [1, 8, 64]");
    sizes.push_back(static_cast<std::uint64_t>(*size));
  }
  return {};
}

Status read_limits(TomlKeys& keys, ModelConfiguration& model) {
  HEADRACE_CHECK(keys.integer("batch-rows", 1, kMostBatchRows, model.batch_rows));
  HEADRACE_CHECK(read_sizes(keys, model.batch_sizes));
  HEADRACE_CHECK(keys.integer("lanes", 1, kMostLanes, model.lanes));
  HEADRACE_CHECK(keys.integer("queue-rows", 1, kMostQueueRows, model.queue_rows));
  return read_duration(keys, "deadline", model.deadline);
}

Result<ModelConfiguration> read_model(const NamedTable& in, std::string_view source_name,
                                      const ModelConfiguration& defaults,
                                      const std::function<Status(const std::string&)>& check_place) {
  TomlKeys keys(in.table, in.name, source_name);
  ModelConfiguration out = defaults;
  HEADRACE_CHECK(keys.text("place", out.place));
  const TomlNode* const place = keys.find("place");
  if (place == nullptr)
    return keys.error(in.node, "place",
                      "is missing: give the URL of a model, as in \"s3://models/models/imdb\"");
  if (const Status known = check_place(out.place); !known)
    return keys.error(*place, "place", concat("cannot be used: ", known.error().message));
  if (const TomlNode* const versions = keys.find("versions")) {
    const auto* const text = versions->get<std::string>();
    if (text == nullptr) return keys.error(*versions, "versions", concat("must be a text: ", kPolicies));
    auto policy = parse_version_policy(*text);
    if (!policy) return keys.error(*versions, "versions", policy.error().message);
    out.versions = *std::move(policy);
  }
  HEADRACE_CHECK(read_limits(keys, out));
  if (const Status fits = check_options(out.batching()); !fits)
    return keys.error(in.node, "batch-sizes", concat("do not fit: ", fits.error().message));
  const auto section = [&](const TomlNode& node, std::string_view key) {
    return table_of(node, concat(in.name.substr(0, in.name.size() - 1), ".", key, "]"), source_name);
  };
  if (const TomlNode* const node = keys.find("canary")) {
    HEADRACE_TRY(const NamedTable table, section(*node, "canary"));
    HEADRACE_TRY(out.canary, read_canary(table, source_name));
  }
  if (const TomlNode* const node = keys.find("shadow")) {
    HEADRACE_TRY(const NamedTable table, section(*node, "shadow"));
    HEADRACE_TRY(out.shadow, read_shadow(table, source_name));
  }
  HEADRACE_CHECK(keys.finish());
  return out;
}

}  // namespace

BatcherOptions ModelConfiguration::batching() const {
  BatcherOptions out{
      .rows_max = batch_rows, .allowed_rows = batch_sizes, .lanes = lanes, .waiting_rows_max = queue_rows};
  if (!batch_sizes.empty() && batch_sizes.back() != batch_rows) out.allowed_rows.push_back(batch_rows);
  return out;
}

bool ModelConfiguration::loads_as(const ModelConfiguration& other) const {
  ModelConfiguration same = other;
  same.deadline = deadline;
  same.canary = canary;
  same.shadow = shadow;
  return *this == same;
}

Status check_served_name(std::string_view name) {
  const bool has_other = std::ranges::any_of(
      name, [](char c) { return c == '/' || c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!name.empty() && name.size() <= kLongestName && !has_other) return {};
  return Error{Code::kInvalidArgument, concat("a model's name has 1 to ", kLongestName,
                                              " bytes, and no \"/\", \":\" or control character")};
}

Result<VersionPolicy> parse_version_policy(std::string_view text) {
  constexpr std::string_view kLatestWord = "latest:";
  VersionPolicy policy;
  if (text == "default") return policy;
  if (text == "all") return VersionPolicy{.choice = VersionPolicy::Choice::kAll};
  if (text.starts_with(kLatestWord)) {
    const auto count = parse_number<std::uint64_t>(text.substr(kLatestWord.size()));
    policy = {.choice = VersionPolicy::Choice::kLatest, .latest = count.value_or(0)};
  } else {
    policy.choice = VersionPolicy::Choice::kNumbers;
    for (const std::string& word : split(text, ',')) {
      const auto number = parse_number<std::uint64_t>(word);
      if (!number) {
        return Error{Code::kInvalidArgument,
                     concat("is ", printable_line(text, 64), "; it must be ", kPolicies)};
      }
      policy.numbers.push_back(*number);
    }
  }
  HEADRACE_CHECK(check_policy(policy));
  return policy;
}

Result<ServingConfiguration> parse_serving_configuration(
    std::string_view text, std::string_view source_name, const ModelConfiguration& defaults,
    const std::function<Status(const std::string&)>& check_place) {
  HEADRACE_TRY(const TomlTable table, parse_toml(text, source_name));
  TomlKeys keys(table, "", source_name);
  const TomlNode* const models = keys.find("models");
  ServingConfiguration out;
  HEADRACE_CHECK(keys.text("record", out.record));
  if (const TomlNode* const record = keys.find("record")) {
    if (const Status known = check_place(out.record); !known)
      return keys.error(*record, "record", concat("cannot be used: ", known.error().message));
  }
  HEADRACE_CHECK(keys.finish());
  const auto* const named = models != nullptr ? models->get<TomlTable>() : nullptr;
  if (named == nullptr || named->entries.empty()) {
    return Error{
        Code::kInvalidArgument,
        concat(source_name, ": there is no model; give each a table, as in [models.imdb], with its place")};
  }
  for (const auto& [name, node] : named->entries) {
    if (const Status good = check_served_name(name); !good)
      return keys.error(node, concat("models.", printable_line(name, kLongestName)), good.error().message);
    HEADRACE_TRY(const NamedTable model, table_of(node, concat("[models.", name, "]"), source_name));
    HEADRACE_TRY(out.models[name], read_model(model, source_name, defaults, check_place));
  }
  if (out.models.size() <= kMostModels) return out;
  return Error{Code::kInvalidArgument, concat(source_name, ": there are more than ", kMostModels, " models")};
}

}  // namespace headrace
