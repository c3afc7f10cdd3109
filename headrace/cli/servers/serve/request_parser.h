#pragma once

/// \file Parses the heads and chunked bodies of requests (RFC 9112). Uses Boost.Beast's parser, but is
/// stricter: everything that two servers in a row could read differently is refused.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "headrace/cli/servers/serve/received_request.h"

namespace headrace {

/// Why a request is refused: a status, and a reason for the client.
struct Refusal {
  unsigned status = 400;
  std::string_view reason;
};

/// Looks for the end of a head in bytes that arrive in pieces. Refuses a lone CR or LF, a NUL, and a line
/// that continues the previous one.
class HeadScan {
 public:
  enum class State { kNeedMore, kComplete, kBad };
  /// Looks at the bytes received so far. `bytes` begins at the same byte as in the previous call, and may be
  /// longer. Cost: linear in the new bytes.
  State look(std::string_view bytes);
  /// After kComplete: the size of the head, including its empty line.
  std::size_t size() const { return scanned_; }
  void restart() { scanned_ = 0; }

 private:
  std::size_t scanned_ = 0;  // the beginning of a line
};

/// Parses one request after another. Not thread-safe.
class RequestParser {
 public:
  explicit RequestParser(std::size_t header_count_max);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;

  /// Parses a whole head that HeadScan found. Refuses bad syntax, other versions, too many headers, both
  /// Content-Length and Transfer-Encoding, encodings other than chunked, no Host or several, and CONNECT.
  std::optional<Refusal> parse_head(std::string_view bytes, RequestHead& head);
  /// Whether the client wants to keep the connection. REQUIRES: a head was parsed
  bool keeps_alive() const;

  struct ChunkStep {
    std::size_t consumed = 0;
    bool is_done = false;
    std::optional<Refusal> refusal{};
  };
  /// Decodes `bytes`, a part of a chunked body, and appends them to `body`. Pass bytes that were not consumed
  /// again, with more after them. Trailers are checked and dropped.
  ChunkStep decode(std::string_view bytes, RequestBody& body, std::uint64_t limit_bytes);

 private:
  class BeastParser;
  std::size_t header_count_max_;
  std::unique_ptr<BeastParser> parser_;
};

}  // namespace headrace
