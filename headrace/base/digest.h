#pragma once

/// \file SHA-256 (FIPS 180-4): names plans, configurations, models and weights by their
/// content. And bytes as text.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// Digest of a byte sequence that arrives in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(BytesView data);
  /// 32 bytes; call once.
  Bytes finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Bytes sha256(BytesView data);
/// 64 lower-case hexadecimal digits.
std::string sha256_hex(BytesView data);
std::string hex(BytesView data);

/// RFC 4648, section 4, with padding.
std::string base64(BytesView data);
/// None if it is not that, padding included.
std::optional<Bytes> parse_base64(std::string_view text);

}  // namespace headrace
