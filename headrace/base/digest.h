#pragma once

/// \file SHA-256 (FIPS 180-4), which names plans, configurations, models and weights by their content; and
/// bytes as hexadecimal and base64 text.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// SHA-256 digest of a byte sequence that arrives in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(BytesView data);
  /// Returns the 32 bytes of the digest. Call it once, after the last `update`.
  Bytes finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Bytes sha256(BytesView data);
/// The digest as 64 lower-case hexadecimal digits.
std::string sha256_hex(BytesView data);
/// Two lower-case hexadecimal digits per byte.
std::string hex(BytesView data);

/// Base64 of RFC 4648, section 4, with padding.
std::string base64(BytesView data);
/// Decodes what `base64` writes. None if `text` is empty or not padded base64.
std::optional<Bytes> parse_base64(std::string_view text);

}  // namespace headrace
