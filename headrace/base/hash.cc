#include "headrace/base/hash.h"

#include <bit>

namespace headrace {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  explicit SipState(const HashKey& key)
      : v0(key.low ^ 0x736f6d6570736575U),
        v1(key.high ^ 0x646f72616e646f6dU),
        v2(key.low ^ 0x6c7967656e657261U),
        v3(key.high ^ 0x7465646279746573U) {}

  void round() {
    v0 += v1, v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1, v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  void absorb(std::uint64_t word) {
    v3 ^= word;
    round(), round();
    v0 ^= word;
  }
  std::uint64_t finish() {
    v2 ^= 0xff;
    round(), round(), round(), round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

// Up to seven bytes as a little-endian integer. The loads may overlap, which makes the common case fast:
// hashes of short words.
std::uint64_t load_tail(BytesView tail) {
  const std::size_t size = tail.size();
  if (size >= 4) {
    const std::uint64_t low = load_little_endian<std::uint32_t>(tail.data());
    const std::uint64_t high = load_little_endian<std::uint32_t>(tail.data() + size - 4);
    return low | high << (8 * (size - 4));
  }
  if (size == 0) return 0;
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint64_t>(tail[i]) << (8 * i); };
  return at(0) | at(size / 2) | at(size - 1);
}

}  // namespace

std::uint64_t siphash(const HashKey& key, BytesView data) {
  SipState state(key);
  const std::uint64_t last = static_cast<std::uint64_t>(data.size()) << 56;
  for (; data.size() >= 8; data = data.subspan(8))
    state.absorb(load_little_endian<std::uint64_t>(data.data()));
  state.absorb(last | load_tail(data));
  return state.finish();
}

std::uint64_t siphash_padded(const HashKey& key, BytesView data) {
  SipState state(key);
  const std::uint64_t last = static_cast<std::uint64_t>(data.size()) << 56;
  const std::byte* at = data.data();
  for (std::size_t words = data.size() / 8; words > 0; --words, at += 8)
    state.absorb(load_little_endian<std::uint64_t>(at));
  state.absorb(last | load_little_endian<std::uint64_t>(at));
  return state.finish();
}

std::uint64_t siphash(const HashKey& key, std::uint64_t value) {
  SipState state(key);
  state.absorb(value);
  state.absorb(std::uint64_t{8} << 56);
  return state.finish();
}

}  // namespace headrace
