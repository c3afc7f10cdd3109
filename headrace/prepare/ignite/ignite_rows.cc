#include "headrace/prepare/ignite/ignite_rows.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/value_text.h"
#include "headrace/prepare/table/record_rows.h"
#include "headrace/record/ignite_example.h"

namespace headrace {
namespace {

class IgniteRows final : public RowSource {
 public:
  IgniteRows(std::shared_ptr<ignite::Cluster> cluster, OrderedQuery query, ListedRows listed,
             std::uint64_t cell_limit_bytes, std::stop_token stop)
      : rows_(cluster, std::move(query)),
        listed_(std::move(listed)),
        stop_(std::move(stop)),
        types_(ignite::fetch_from(std::move(cluster), stop_)),
        row_limit_bytes_(row_limit_bytes(cell_limit_bytes)),
        cells_(make_example_rows(cell_limit_bytes)) {}

  Result<std::optional<SourceRow>> next() override {
    if (is_at_end_) return std::optional<SourceRow>();
    auto objects = rows_.next(stop_);
    if (!objects) return std::move(objects).error().in(concat("reading ", listed_.name));
    if (*objects == nullptr) {
      is_at_end_ = true;
      if (digest_.rows() != listed_.rows || digest_.finish() != listed_.digest) return changed();
      return std::optional<SourceRow>();
    }
    digest_.add(**objects);
    if (digest_.rows() > listed_.rows) return changed();
    return row_of(**objects);
  }

  std::uint64_t consumed_bytes() const override { return digest_.size_bytes(); }

 private:
  Error changed() const {
    return {Code::kFailedPrecondition,
            concat(listed_.name, ": the rows have changed since they were listed, or come in another order",
                   rows_.key_columns().empty() ? ", for which order_by in the URL is good" : "",
                   "; prepare again with --overwrite")};
  }

  Result<std::optional<SourceRow>> row_of(const std::vector<BytesView>& objects) {
    values_.clear();
    id_.clear();
    ignite::DecodeBudget budget{.bytes = row_limit_bytes_};
    SourceRow row{.place = {.row = digest_.rows()}};
    for (std::size_t i = 0; i < objects.size(); ++i) {
      Result<ignite::Value> value = ignite::decode_object(objects[i], types_, budget);
      if (!value && value.error().code == Code::kResourceExhausted)
        return rejected(std::move(row), "too large", value.error().message);
      if (!value) return std::move(value).error().in(concat(listed_.name, ", row ", row.place.row));
      values_.push_back(*std::move(value));
    }
    HEADRACE_TRY(id_, id_of_row());
    row.id = id_;
    example_.clear();
    if (const Status made = append_ignite_row(rows_.columns(), values_, example_); !made)
      return rejected(std::move(row), "a column has no form as a cell", made.error().message);
    std::optional<RowProblem> problem = cells_->begin(example_);
    if (!problem) problem = cells_->read(0);
    if (problem) return rejected(std::move(row), problem->reason, problem->detail);
    row.cells = cells_->cells();
    return std::optional(std::move(row));
  }

  std::optional<SourceRow> rejected(SourceRow row, std::string reason, std::string detail) {
    if (id_.empty()) id_ = concat(row.place.row);
    row.id = id_;
    row.verdict = RowVerdict::kRejected;
    row.reason = std::move(reason);
    row.detail = std::move(detail);
    return row;
  }

  Result<std::string> id_of_row() const {
    const std::vector<std::size_t>& key = rows_.key_columns();
    if (key.empty()) return concat(digest_.rows());
    if (const auto* const text = std::get_if<std::string_view>(&values_[key.front()]);
        text && key.size() == 1)
      return std::string(*text);
    Json::Array parts;
    for (const std::size_t column : key) {
      HEADRACE_TRY(Json part, ignite::to_json(values_[column]));
      parts.push_back(std::move(part));
    }
    return key.size() == 1 ? parts.front().dump() : Json(std::move(parts)).dump();
  }

  OrderedRows rows_;
  const ListedRows listed_;
  const std::stop_token stop_;
  ignite::BinaryTypes types_;
  const std::uint64_t row_limit_bytes_;
  const std::unique_ptr<RecordRows> cells_;
  RowsDigest digest_;
  bool is_at_end_ = false;
  std::vector<ignite::Value> values_;
  Bytes example_;
  std::string id_;
};

}  // namespace

void RowsDigest::add(const std::vector<BytesView>& row) {
  ++rows_;
  for (const BytesView object : row) {
    digest_.update(object);
    size_bytes_ += object.size();
  }
}

std::unique_ptr<RowSource> make_ignite_rows(std::shared_ptr<ignite::Cluster> cluster, OrderedQuery query,
                                            ListedRows listed, std::uint64_t cell_limit_bytes,
                                            std::stop_token stop) {
  return std::make_unique<IgniteRows>(std::move(cluster), std::move(query), std::move(listed),
                                      cell_limit_bytes, std::move(stop));
}

}  // namespace headrace
