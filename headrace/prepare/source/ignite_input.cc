#include "headrace/prepare/source/ignite_input.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/access.h"
#include "headrace/prepare/ignite/ignite_rows.h"
#include "headrace/prepare/ignite/key_ranges.h"
#include "headrace/prepare/source/input_kind.h"

namespace headrace {
namespace {

// The timeout of a page. A node may have to sort all rows before it can send the first page.
constexpr std::chrono::minutes kPageTimeout{5};

class IgniteSqlInputs final : public InputKind {
 public:
  std::string_view name() const override { return "ignite-sql"; }

  Result<Input> find(const InputPlace& place, const InputRequest& request) const override {
    HEADRACE_TRY(const IgniteQueryUrl url, parse_ignite_query_url(place.url));
    auto slices = list(url, place, request);
    if (!slices) return std::move(slices).error().in(concat("listing the rows of ", place.describe()));
    return input_of_slices(place, *std::move(slices), request);
  }

  Result<std::unique_ptr<RowSource>> open(const Input& input, const Slice& slice, StoreRegistry& stores,
                                          const SliceReading& reading) const override {
    HEADRACE_TRY(const Url parsed, parse_url(input.url, "", url_form()));
    HEADRACE_TRY(const IgniteQueryUrl url, parse_ignite_query_url(parsed));
    Result<PlacedRange> range = parse_range(slice.place);
    if (!range) return std::move(range).error().in(slice.name);
    OrderedQuery query = std::move(range->query);
    query.statement = url.statement;
    query.schema = url.schema;
    query.page_rows = page_rows_for(url, range->rows, slice.size_bytes);
    HEADRACE_TRY(auto cluster,
                 ignite::connect_cluster(url.hosts, stores.environment(), reading.stop, kPageTimeout));
    return make_ignite_rows(std::move(cluster), std::move(query),
                            {.name = slice.name, .rows = range->rows, .digest = slice.digest},
                            reading.cell_limit_bytes, reading.stop);
  }

 private:
  static Result<std::vector<Slice>> list(const IgniteQueryUrl& url, const InputPlace& place,
                                         const InputRequest& request) {
    HEADRACE_TRY(const auto cluster,
                 ignite::connect_cluster(url.hosts, place.environment, request.stop, kPageTimeout));
    HEADRACE_TRY(const OrderedQuery query, find_query(cluster, url, request.stop));
    HEADRACE_TRY(const std::vector<KeyRange> ranges,
                 list_ranges(cluster, query, request.limits.size_bytes, request.stop));
    std::vector<Slice> slices;
    for (const KeyRange& range : ranges) {
      slices.push_back({.size_bytes = range.size_bytes,
                        .digest = range.digest,
                        .name = concat(place.url.text(), "#", slices.size() + 1),
                        .place = range_to_json(range, query)});
    }
    return slices;
  }
};

}  // namespace

const InputKind& ignite_sql_input_kind() {
  static const IgniteSqlInputs kind;
  return kind;
}

}  // namespace headrace
