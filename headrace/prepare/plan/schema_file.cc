#include "headrace/prepare/plan/schema_file.h"

#include <set>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSchemaLimitBytes = 64 << 20;

}  // namespace

Result<Schema> schema_of_file(StoreRegistry& stores, const std::string& url, const std::stop_token& stop) {
  HEADRACE_TRY(const Location location, stores.open(url));
  auto read = read_object(*location.store, location.key, kSchemaLimitBytes, {.stop = stop});
  if (!read) return std::move(read).error().in("reading the schema");
  return parse_schema(as_text(read->data), location.describe());
}

Status read_vocabularies(StoreRegistry& stores, Schema& schema, const std::stop_token& stop) {
  for (FeatureDefinition& feature : schema.features) {
    if (feature.vocabulary_url.empty()) continue;
    HEADRACE_TRY(const Location location, stores.open(feature.vocabulary_url));
    auto read = read_object(*location.store, location.key, kSchemaLimitBytes, {.stop = stop});
    if (!read) return std::move(read).error().in(concat("reading the vocabulary of ", feature.name));
    std::set<std::string> seen;
    for (const std::string& line : split(as_text(read->data), '\n')) {
      const std::string_view value = trim(line);
      if (value.empty()) continue;
      if (!seen.insert(std::string(value)).second) {
        return Error{Code::kInvalidArgument, concat(location.describe(), " has \"", value, "\" twice")};
      }
      feature.vocabulary.emplace_back(value);
    }
    if (seen.empty()) return Error{Code::kInvalidArgument, concat(location.describe(), " is empty")};
    feature.vocabulary_url.clear();
  }
  return {};
}

}  // namespace headrace
