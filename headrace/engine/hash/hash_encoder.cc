#include "headrace/engine/hash/hash_encoder.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/engine/hash/tokens.h"

namespace headrace {
namespace {

// The ASCII bytes "headrace.hash.v1".
constexpr HashKey kKey{0x6563617264616568U, 0x31762e687361682eU};

constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15U;

std::uint64_t bigram_hash(std::uint64_t first, std::uint64_t second) {
  const std::uint64_t sum = first * kMultiplier + second;
  return (sum ^ sum >> 32) * kMultiplier;
}

class HashEncoder final : public TextEncoder {
 public:
  explicit HashEncoder(int dimension) : dimension_(dimension) {}

  std::string name() const override { return concat("hash:", dimension_); }
  std::string weights_digest() const override {
    return sha256_hex(as_bytes(concat("headrace.hash.v1:", dimension_)));
  }
  int dimension() const override { return dimension_; }

  Status encode(std::span<const std::string_view> texts, std::span<float> out) const override {
    std::vector<std::int32_t> counts(dimension_);
    for (const std::string_view text : texts) {
      std::ranges::fill(counts, 0);
      count_features(text, counts);
      normalise(counts, out.first(dimension_));
      out = out.subspan(dimension_);
    }
    return {};
  }

 private:
  void count_features(std::string_view text, std::span<std::int32_t> counts) const {
    const std::uint64_t dimension = dimension_;
    const auto add = [&](std::uint64_t hash) {
      counts[(hash >> 32) * dimension >> 32] += 1 - static_cast<std::int32_t>(hash >> 30 & 2);
    };
    bool first = true;
    std::uint64_t previous = 0;
    for_each_hash_token(text, [&](std::string_view token) {
      const std::uint64_t hash = siphash_padded(kKey, as_bytes(token));
      add(hash);
      if (!first) add(bigram_hash(previous, hash));
      previous = hash, first = false;
    });
  }

  static void normalise(std::span<const std::int32_t> counts, std::span<float> out) {
    std::int64_t squares = 0;
    for (const std::int64_t count : counts) squares += count * count;
    const auto scale = squares == 0 ? 0.0F : static_cast<float>(1 / std::sqrt(static_cast<double>(squares)));
    for (std::size_t i = 0; i < counts.size(); ++i) out[i] = static_cast<float>(counts[i]) * scale;
  }

  int dimension_;
};

}  // namespace

Result<std::shared_ptr<const TextEncoder>> make_hash_encoder(int dimension) {
  if (dimension < 1 || dimension > kMaxHashEncoderDimension) {
    return Error{Code::kInvalidArgument,
                 concat("hash:", dimension, ": the number of dimensions must be between 1 and ",
                        kMaxHashEncoderDimension)};
  }
  return std::shared_ptr<const TextEncoder>(std::make_shared<HashEncoder>(dimension));
}

}  // namespace headrace
