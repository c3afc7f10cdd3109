#include "headrace/stream/order.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace headrace {
namespace {

constexpr std::uint64_t kLowKey = 0x6865616472616365;   // "headrace"
constexpr std::uint64_t kHighKey = 0x6563617264616568;  // the same, backwards
constexpr int kRounds = 6;

}  // namespace

HashKey derive_order_key(std::uint64_t seed, std::string_view label, std::uint64_t a, std::uint64_t b) {
  Bytes bytes = to_bytes(label);
  bytes.push_back(std::byte{0});
  append_little_endian(bytes, a);
  append_little_endian(bytes, b);
  return {siphash({seed, kLowKey}, bytes), siphash({seed, kHighKey}, bytes)};
}

std::uint64_t permute(const HashKey& key, std::uint64_t n, std::uint64_t i) {
  if (n <= 1) return i;
  const int bits = std::bit_width(std::max<std::uint64_t>(n, 4) - 1);
  const int half = (bits + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t x = i;
  do {
    std::uint64_t left = x >> half, right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t mixed = left ^ (siphash(key, (round << 56) | right) & mask);
      left = right;
      right = mixed;
    }
    x = (left << half) | right;
  } while (x >= n);
  return x;
}

std::string_view shuffle_mode_name(ShuffleMode mode) {
  switch (mode) {
    case ShuffleMode::kNone:
      return "none";
    case ShuffleMode::kWindow:
      return "window";
    case ShuffleMode::kExact:
      return "exact";
  }
  return "none";
}

EpochOrder::EpochOrder(std::uint64_t seed, std::uint64_t epoch, std::span<const OrderBlock> blocks,
                       ShuffleMode mode, std::uint64_t window_bytes)
    : seed_(seed),
      epoch_(epoch),
      mode_(mode),
      permuted_blocks_(blocks.size()),
      first_records_(blocks.size()) {
  std::iota(permuted_blocks_.begin(), permuted_blocks_.end(), std::uint64_t{0});
  if (mode == ShuffleMode::kWindow) {
    const HashKey key = derive_order_key(seed, "block", epoch, 0);
    for (std::uint64_t& block : permuted_blocks_) block = permute(key, blocks.size(), block);
  }
  for (std::uint64_t i = 0; i < permuted_blocks_.size(); ++i) {
    const OrderBlock& block = blocks[permuted_blocks_[i]];
    if (windows_.empty() || windows_.back().size_bytes >= window_bytes) {
      windows_.push_back({.first_position = record_count_, .first_block = i});
    }
    Window& window = windows_.back();
    window.record_count += block.record_count;
    window.size_bytes += block.size_bytes;
    ++window.block_count;
    first_records_[i] = record_count_;
    record_count_ += block.record_count;
  }
}

std::uint64_t EpochOrder::window_at(std::uint64_t position) const {
  const auto after =
      std::upper_bound(windows_.begin(), windows_.end(), position,
                       [](std::uint64_t p, const Window& window) { return p < window.first_position; });
  return static_cast<std::uint64_t>(after - windows_.begin()) - 1;
}

HashKey EpochOrder::window_key(std::uint64_t window) const {
  return derive_order_key(seed_, "record", epoch_, window);
}

std::uint64_t EpochOrder::record_in_window(const HashKey& key, std::uint64_t record_count,
                                           std::uint64_t i) const {
  return mode_ == ShuffleMode::kNone ? i : permute(key, record_count, i);
}

OrderedRecord EpochOrder::at(std::uint64_t position) const {
  std::uint64_t record = position;
  if (mode_ == ShuffleMode::kExact) {
    record = permute(derive_order_key(seed_, "exact", epoch_, 0), record_count_, position);
  } else if (mode_ == ShuffleMode::kWindow) {
    const std::uint64_t number = window_at(position);
    const Window& window = windows_[number];
    record = window.first_position +
             record_in_window(window_key(number), window.record_count, position - window.first_position);
  }
  const auto after = std::upper_bound(first_records_.begin(), first_records_.end(), record);
  const auto block = static_cast<std::uint64_t>(after - first_records_.begin()) - 1;
  return {permuted_blocks_[block], record - first_records_[block]};
}

std::uint64_t batches_in_epoch(std::uint64_t record_count, std::uint64_t batch_size, bool drop_remainder) {
  return record_count / batch_size + (drop_remainder || record_count % batch_size == 0 ? 0 : 1);
}

}  // namespace headrace
