#include <cstdlib>

#include "fuzz/script.h"
#include "headrace/mlflow/search_targets.h"

namespace headrace {
namespace {

// Every clause comes from the text, and a filter gives the same answer twice.
void filter(std::string_view text, std::string_view value, const SearchTarget& target) {
  const auto parsed = SearchFilter::parse(text, target);
  if (!parsed) {
    if (parsed.error().code != Code::kInvalidArgument) std::abort();
    return;
  }
  std::size_t held = 0;
  for (const FilterClause& clause : parsed->clauses()) {
    held += clause.column.key.size();
    for (const std::string& each : clause.texts) held += each.size();
  }
  if (held > text.size() || parsed->clauses().size() > text.size()) std::abort();
  const auto values_of = [&](const SearchColumn& column) -> std::vector<ColumnValue> {
    if (column.entity == Entity::kMetric) return {static_cast<double>(value.size())};
    if (value.empty()) return {std::monostate()};
    return {std::string(value)};
  };
  if (parsed->matches(values_of) != parsed->matches(values_of)) std::abort();
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  Script script({reinterpret_cast<const std::byte*>(data), size});
  const std::string value(as_text(script.take(script.byte() % 32)));
  const std::string_view text = as_text(script.take(size));
  for (const SearchTarget* target :
       {&mlflow::run_target(), &mlflow::experiment_target(), &mlflow::model_target()}) {
    filter(text, value, *target);
    static_cast<void>(parse_order(text, *target));
  }
  const auto page = mlflow::find_page(1000, text, 100);
  if (page && (page->begin > page->end || page->end > 1000 || page->end - page->begin > 100)) std::abort();
  if (matches_like(value, value, false) && !matches_like(value, value, true)) std::abort();
  return 0;
}
