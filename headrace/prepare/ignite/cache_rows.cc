#include "headrace/prepare/ignite/cache_rows.h"

#include <optional>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/prepare/ignite/object_rows.h"
#include "headrace/record/ignite_example.h"

namespace headrace {
namespace {

class IgniteCacheRows final : public RowSource {
 public:
  IgniteCacheRows(const std::shared_ptr<ignite::Cluster>& cluster, std::string cache,
                  std::vector<std::string> columns, const PartitionRange& range, ListedRows listed,
                  std::uint64_t cell_limit_bytes, std::stop_token stop)
      : cache_(cluster, std::move(cache)),
        columns_(std::move(columns)),
        range_(range),
        listed_(std::move(listed)),
        stop_(std::move(stop)),
        objects_(ignite::fetch_from(cluster, stop_), cell_limit_bytes) {}

  Result<std::optional<SourceRow>> next() override {
    while (!page_ || next_in_page_ == page_->rows.size()) {
      if (is_at_end_) return std::optional<SourceRow>();
      HEADRACE_CHECK(next_page());
    }
    const ignite::Entry& entry = page_->rows[next_in_page_++];
    row_ = {entry.key, entry.value};
    partition_.add(row_);
    consumed_bytes_ += entry.key.size() + entry.value.size();
    if (++rows_ > listed_.rows) return changed();
    return objects_.make(row_, rows_, listed_.name, form_);
  }

  std::uint64_t consumed_bytes() const override { return consumed_bytes_; }

 private:
  Status next_page() {
    if (!scan_) HEADRACE_CHECK(open());
    if (page_ && page_->ends_partition && partition_.rows() > 0) {
      RowsDigest ended = std::exchange(partition_, {});
      const std::uint64_t rows = ended.rows();
      digest_.add(page_->partition, rows, ended.finish());
    }
    page_.reset();
    next_in_page_ = 0;
    auto page = scan_->next_page(stop_);
    if (!page) return std::move(page).error().in(concat("reading ", listed_.name));
    page_ = *std::move(page);
    if (page_) return {};
    is_at_end_ = true;
    return rows_ == listed_.rows && digest_.finish() == listed_.digest ? Status() : changed();
  }

  // With one cursor, the partitions are read one after another, in ascending order.
  Status open() {
    ignite::ScanOptions options{.open_cursors = 1};
    for (std::int32_t i = range_.first; range_.first >= 0 && i <= range_.last; ++i)
      options.partitions.push_back(i);
    auto scan = ignite::Scan::open(cache_, std::move(options), stop_);
    if (!scan) return std::move(scan).error().in(concat("reading ", listed_.name));
    scan_ = *std::move(scan);
    return {};
  }

  Error changed() const {
    return {Code::kFailedPrecondition,
            concat(listed_.name, ": the rows have changed since they were listed; ", kAfterChange)};
  }

  const ignite::Cache cache_;
  const std::vector<std::string> columns_;
  const PartitionRange range_;
  const ListedRows listed_;
  const std::stop_token stop_;
  ObjectRows objects_;
  const ObjectRows::Form form_{
      .id = [](const ObjectRows::Values& row) { return id_of_key({row.front()}); },
      .append_example = [this](const ObjectRows::Values& row,
                               Bytes& out) { return append_ignite_example(row[0], row[1], columns_, out); }};
  std::unique_ptr<ignite::Scan> scan_;
  std::optional<ignite::Page> page_;
  std::size_t next_in_page_ = 0;
  std::vector<BytesView> row_;
  RowsDigest partition_;  // digest of the partition that is being read
  PartitionsDigest digest_;
  std::uint64_t rows_ = 0;
  std::uint64_t consumed_bytes_ = 0;
  bool is_at_end_ = false;
};

}  // namespace

std::unique_ptr<RowSource> make_ignite_cache_rows(std::shared_ptr<ignite::Cluster> cluster, std::string cache,
                                                  std::vector<std::string> columns,
                                                  const PartitionRange& range, ListedRows listed,
                                                  std::uint64_t cell_limit_bytes, std::stop_token stop) {
  return std::make_unique<IgniteCacheRows>(cluster, std::move(cache), std::move(columns), range,
                                           std::move(listed), cell_limit_bytes, std::move(stop));
}

}  // namespace headrace
