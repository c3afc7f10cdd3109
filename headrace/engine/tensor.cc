#include "headrace/engine/tensor.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(std::min(sizes.size(), kRankMax)) {
  std::copy_n(sizes.begin(), rank_, sizes_.begin());
}

std::uint64_t Shape::elements() const {
  std::uint64_t product = 1;
  for (const std::int64_t size : sizes()) product *= static_cast<std::uint64_t>(size);
  return product;
}

std::string Shape::text() const {
  std::vector<std::string> parts;
  for (const std::int64_t size : sizes()) parts.push_back(size < 0 ? "?" : concat(size));
  return concat('[', join(parts, ", "), ']');
}

bool Shape::accepts(const Shape& actual) const {
  if (actual.rank_ != rank_) return false;
  for (std::size_t i = 0; i < rank_; ++i) {
    if (sizes_[i] != actual.sizes_[i] && sizes_[i] != -1) return false;
  }
  return true;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(sizes(), other.sizes()); }

}  // namespace headrace
