#include "headrace/prepare/ignite/object_rows.h"

#include <utility>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace {

Result<std::string> id_of_key(const std::vector<ignite::Value>& key) {
  const auto* const text = key.size() == 1 ? std::get_if<std::string_view>(&key.front()) : nullptr;
  if (text) return std::string(*text);
  Json::Array parts;
  for (const ignite::Value& value : key) {
    HEADRACE_TRY(Json part, ignite::to_json(value));
    parts.push_back(std::move(part));
  }
  return key.size() == 1 ? parts.front().dump() : Json(std::move(parts)).dump();
}

ObjectRows::ObjectRows(ignite::BinaryTypes::Fetch fetch, std::uint64_t cell_limit_bytes)
    : types_(std::move(fetch)),
      row_limit_bytes_(row_limit_bytes(cell_limit_bytes)),
      cells_(make_example_rows(cell_limit_bytes)) {}

Result<std::optional<SourceRow>> ObjectRows::make(const std::vector<BytesView>& objects, std::uint64_t number,
                                                  std::string_view slice, const Form& form) {
  values_.clear();
  id_.clear();
  ignite::DecodeBudget budget{.bytes = row_limit_bytes_};
  SourceRow row{.place = {.row = number}};
  for (const BytesView object : objects) {
    Result<ignite::Value> value = ignite::decode_object(object, types_, budget);
    if (!value && value.error().code == Code::kResourceExhausted)
      return rejected(std::move(row), "too large", value.error().message);
    if (!value) return std::move(value).error().in(concat(slice, ", row ", number));
    values_.push_back(*std::move(value));
  }
  HEADRACE_TRY(id_, form.id(values_));
  row.id = id_;
  example_.clear();
  if (const Status made = form.append_example(values_, example_); !made)
    return rejected(std::move(row), "a column has no form as a cell", made.error().message);
  std::optional<RowProblem> problem = cells_->begin(example_);
  if (!problem) problem = cells_->read(0);
  if (problem) return rejected(std::move(row), problem->reason, problem->detail);
  row.cells = cells_->cells();
  return std::optional(std::move(row));
}

std::optional<SourceRow> ObjectRows::rejected(SourceRow row, std::string reason, std::string detail) {
  if (id_.empty()) id_ = concat(row.place.row);
  row.id = id_;
  row.verdict = RowVerdict::kRejected;
  row.reason = std::move(reason);
  row.detail = std::move(detail);
  return row;
}

}  // namespace headrace
