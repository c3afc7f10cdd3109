#include "headrace/prepare/ignite/ignite_rows.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/prepare/ignite/object_rows.h"
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
        objects_(ignite::fetch_from(std::move(cluster), stop_), cell_limit_bytes) {}

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
    return objects_.make(**objects, digest_.rows(), listed_.name, form_);
  }

  std::uint64_t consumed_bytes() const override { return digest_.size_bytes(); }

 private:
  Error changed() const {
    return {Code::kFailedPrecondition,
            concat(listed_.name, ": the rows have changed since they were listed, or come in another order",
                   rows_.key_columns().empty() ? " (order_by in the URL fixes their order)" : "", "; ",
                   kAfterChange)};
  }

  Result<std::string> id_of(const ObjectRows::Values& values) const {
    if (rows_.key_columns().empty()) return concat(digest_.rows());
    ObjectRows::Values key;
    for (const std::size_t column : rows_.key_columns()) key.push_back(values[column]);
    return id_of_key(key);
  }

  OrderedRows rows_;
  const ListedRows listed_;
  const std::stop_token stop_;
  ObjectRows objects_;
  const ObjectRows::Form form_{
      .id = [this](const ObjectRows::Values& values) { return id_of(values); },
      .append_example = [this](const ObjectRows::Values& values,
                               Bytes& out) { return append_ignite_row(rows_.columns(), values, out); }};
  RowsDigest digest_;
  bool is_at_end_ = false;
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
