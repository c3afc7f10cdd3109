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

}  // namespace

std::uint64_t siphash(const HashKey& key, BytesView data) {
  SipState state(key);
  std::uint64_t last = static_cast<std::uint64_t>(data.size()) << 56;
  for (; data.size() >= 8; data = data.subspan(8)) state.absorb(load_little_endian<std::uint64_t>(data.data()));
  for (std::size_t i = 0; i < data.size(); ++i) last |= std::to_integer<std::uint64_t>(data[i]) << (8 * i);
  state.absorb(last);
  return state.finish();
}

std::uint64_t siphash(const HashKey& key, std::uint64_t value) {
  SipState state(key);
  state.absorb(value);
  state.absorb(std::uint64_t{8} << 56);
  return state.finish();
}

}  // namespace headrace
