#include "headrace/stream/arrangement.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "headrace/stream/order.h"

namespace headrace {
namespace {

// The number of batches whose records are sorted together.
constexpr std::uint64_t kGroupBatches = 64;

// Sorts the records of several batches by length and cuts them into batches again. Within a batch, the
// records keep their original order. Then shuffles the batches.
void bucket_group(std::span<const std::int64_t> values, const HashKey& key, std::uint64_t batch_size,
                  std::span<std::uint32_t> group) {
  std::vector<std::uint32_t> sorted(group.begin(), group.end());
  std::ranges::stable_sort(sorted, {}, [&](std::uint32_t i) { return std::max<std::int64_t>(values[i], 0); });
  const std::uint64_t batches = group.size() / batch_size;
  for (std::uint64_t b = 0; b < batches; ++b) {
    const auto from = std::span(sorted).subspan(permute(key, batches, b) * batch_size, batch_size);
    std::ranges::sort(from);
    std::ranges::copy(from, group.subspan(b * batch_size).begin());
  }
}

}  // namespace

std::string_view arrangement_name(ArrangementKind kind) {
  switch (kind) {
    case ArrangementKind::kNone:
      return "none";
    case ArrangementKind::kBalance:
      return "balance";
    case ArrangementKind::kBucket:
      return "bucket";
  }
  return "none";
}

std::uint64_t arrangement_seed(std::uint64_t seed, std::uint64_t epoch, std::uint64_t window) {
  return derive_order_key(seed, "arrange", epoch, window).low;
}

std::vector<std::uint32_t> balanced_order(std::span<const std::int64_t> values, std::uint64_t seed) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  // The positions of the records that have a class. All other positions keep their record.
  std::vector<std::uint32_t> filled;
  std::ranges::copy_if(order, std::back_inserter(filled),
                       [&](std::uint32_t i) { return values[i] != kNoValue; });
  std::vector<std::uint32_t> by_class = filled;
  std::ranges::stable_sort(by_class, {}, [&](std::uint32_t i) { return values[i]; });
  std::vector<std::uint32_t> begins;  // where each class begins in `by_class`; then the end of the last one
  for (std::uint32_t i = 0; i < by_class.size(); ++i) {
    if (i == 0 || values[by_class[i]] != values[by_class[i - 1]]) begins.push_back(i);
  }
  const std::uint64_t classes = begins.size();
  begins.push_back(static_cast<std::uint32_t>(by_class.size()));
  const HashKey key = derive_order_key(seed, "classes", 0, 0);
  for (std::uint64_t number = 0; number < classes; ++number) {
    const auto members = std::span(by_class).subspan(begins[number], begins[number + 1] - begins[number]);
    const std::uint64_t first_place = permute(key, classes, number);
    HashKey pass{};
    for (std::uint64_t round = 0; round * classes < filled.size(); ++round) {
      const std::uint64_t draw = round % members.size();
      if (draw == 0) pass = derive_order_key(seed, "class", number, round / members.size());
      const std::uint64_t place = round * classes + (first_place + round) % classes;
      if (place < filled.size()) order[filled[place]] = members[permute(pass, members.size(), draw)];
    }
  }
  return order;
}

std::vector<std::uint32_t> bucketed_order(std::span<const std::int64_t> values, std::uint64_t seed,
                                          std::uint64_t first_position, std::uint64_t batch_size) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  // Batches that reach beyond the window keep their order.
  const std::uint64_t begin = (batch_size - first_position % batch_size) % batch_size;
  std::uint64_t batches = order.size() < begin ? 0 : (order.size() - begin) / batch_size;
  std::span<std::uint32_t> rest = std::span(order).subspan(std::min<std::uint64_t>(begin, order.size()));
  for (std::uint64_t group = 0; batches > 0; ++group) {
    const std::uint64_t size = std::min(batches, kGroupBatches) * batch_size;
    bucket_group(values, derive_order_key(seed, "bucket", group, 0), batch_size, rest.first(size));
    rest = rest.subspan(size);
    batches -= size / batch_size;
  }
  return order;
}

}  // namespace headrace
