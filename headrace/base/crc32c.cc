#include "headrace/base/crc32c.h"

#include <array>
#include <atomic>

#include "headrace/base/crc32c_methods.h"

namespace headrace {
namespace {

constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrc32cPolynomial : 0);
    tables[0][i] = crc;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (int t = 1; t < 8; ++t) tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
  }
  return tables;
}
constexpr auto kTables = make_tables();

std::uint32_t extend_by_table(std::uint32_t state, const std::byte* data, std::size_t size) {
  for (; size >= 8; data += 8, size -= 8) {
    const std::uint64_t word = load_little_endian<std::uint64_t>(data) ^ state;
    state = 0;
    for (int i = 0; i < 8; ++i) state ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; size > 0; ++data, --size)
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(*data)) & 0xff];
  return state;
}

// Polynomials modulo the CRC's polynomial. The highest bit is the coefficient of x^0.
constexpr std::uint32_t kOne = 1U << 31;

std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (; a != 0; a <<= 1) {
    if ((a & kOne) != 0) sum ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kCrc32cPolynomial : 0);  // times x
  }
  return sum;
}

std::uint32_t choose_and_extend(std::uint32_t state, const std::byte* data, std::size_t size);

// The method of this processor. Before the first call, the function that chooses it. Needs no dynamic
// initialisation, so static initialisers may use it.
constinit std::atomic<ExtendCrc32c> chosen{choose_and_extend};

std::uint32_t choose_and_extend(std::uint32_t state, const std::byte* data, std::size_t size) {
  const Crc32cMethod best = is_supported(Crc32cMethod::kFolding)        ? Crc32cMethod::kFolding
                            : is_supported(Crc32cMethod::kThreeStreams) ? Crc32cMethod::kThreeStreams
                                                                        : Crc32cMethod::kTable;
  const ExtendCrc32c extend = extend_crc32c(best);
  chosen.store(extend, std::memory_order_relaxed);
  return extend(state, data, size);
}

}  // namespace

bool is_supported(Crc32cMethod method) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool streams = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  if (method == Crc32cMethod::kThreeStreams) return streams;
  if (method == Crc32cMethod::kFolding) {
    return streams && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }
#endif
  return method == Crc32cMethod::kTable;
}

ExtendCrc32c extend_crc32c(Crc32cMethod method) {
#if defined(__x86_64__)
  if (method == Crc32cMethod::kThreeStreams) return extend_by_three_streams;
  if (method == Crc32cMethod::kFolding) return extend_by_folding;
#endif
  (void)method;
  return extend_by_table;
}

std::uint32_t crc32c(BytesView data, std::uint32_t before) {
  return ~chosen.load(std::memory_order_relaxed)(~before, data.data(), data.size());
}

std::uint32_t combined_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  std::uint32_t power = kOne >> 8;  // x^8, then x^16, x^32, …
  for (; second_bytes != 0; second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) first = product(first, power);
    power = product(power, power);
  }
  return first ^ second;
}

}  // namespace headrace
