#include "headrace/prepare/source/ignite_cache_input.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/access.h"
#include "headrace/prepare/ignite/cache_rows.h"
#include "headrace/prepare/ignite/cache_url.h"
#include "headrace/prepare/source/input_kind.h"

namespace headrace {
namespace {

class IgniteCacheInputs final : public InputKind {
 public:
  std::string_view name() const override { return "ignite-cache"; }

  Result<Input> find(const InputPlace& place, const InputRequest& request) const override {
    HEADRACE_TRY(const IgniteCacheUrl url, parse_ignite_cache_url(place.url));
    auto slices = list(url, place, request);
    if (!slices) return std::move(slices).error().in(concat("listing the rows of ", place.describe()));
    return input_of_slices(place, *std::move(slices), request);
  }

  Result<std::unique_ptr<RowSource>> open(const Input& input, const Slice& slice, StoreRegistry& stores,
                                          const SliceReading& reading) const override {
    HEADRACE_TRY(const Url parsed, parse_url(input.url, "", url_form()));
    HEADRACE_TRY(IgniteCacheUrl url, parse_ignite_cache_url(parsed));
    const Result<PartitionRange> range = parse_partition_range(slice.place);
    if (!range) return Error(range.error()).in(slice.name);
    HEADRACE_TRY(auto cluster, ignite::connect_cluster(url.hosts, stores.environment(), reading.stop));
    return make_ignite_cache_rows(std::move(cluster), std::move(url.cache), std::move(url.columns), *range,
                                  {.name = slice.name, .rows = range->rows, .digest = slice.digest},
                                  reading.cell_limit_bytes, reading.stop);
  }

 private:
  static Result<std::vector<Slice>> list(const IgniteCacheUrl& url, const InputPlace& place,
                                         const InputRequest& request) {
    HEADRACE_TRY(const auto cluster, ignite::connect_cluster(url.hosts, place.environment, request.stop));
    HEADRACE_TRY(const std::vector<PartitionRange> ranges,
                 list_partitions(ignite::Cache(cluster, url.cache), request.limits.size_bytes, request.stop));
    std::vector<Slice> slices;
    for (const PartitionRange& range : ranges) {
      slices.push_back({.size_bytes = range.size_bytes,
                        .digest = range.digest,
                        .name = concat(place.url.text(), "#", slices.size() + 1),
                        .place = partitions_to_json(range)});
    }
    return slices;
  }
};

}  // namespace

const InputKind& ignite_cache_input_kind() {
  static const IgniteCacheInputs kind;
  return kind;
}

}  // namespace headrace
