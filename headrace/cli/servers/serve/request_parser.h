#pragma once

/// \file The heads and chunked bodies of requests (RFC 9112), read with Boost.Beast's parser and stricter
/// than it: what two servers in a row could read differently is refused.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "headrace/cli/servers/serve/received_request.h"

namespace headrace {

/// Why a request is not accepted: a status, and a reason for the client.
struct Refusal {
  unsigned status = 400;
  std::string_view reason;
};

/// Looks for the end of a head in bytes that arrive in pieces. A lone CR or LF, a NUL, and a line that
/// continues the one before it are refused.
class HeadScan {
 public:
  enum class State { kNeedMore, kComplete, kBad };
  /// `bytes` begins where it began in the call before, and may be longer. Time: linear in what is new.
  State look(std::string_view bytes);
  /// kComplete: the size of the head with its empty line.
  std::size_t size() const { return scanned_; }
  void restart() { scanned_ = 0; }

 private:
  std::size_t scanned_ = 0;  // the beginning of a line
};

/// Reads one request after another. One thread at a time.
class RequestParser {
 public:
  explicit RequestParser(std::size_t header_count_max);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;

  /// Reads a whole head, which HeadScan found. Refused are: bad syntax, other versions, too many headers,
  /// both Content-Length and Transfer-Encoding, encodings other than chunked, no Host or several, CONNECT.
  std::optional<Refusal> parse_head(std::string_view bytes, RequestHead& head);
  /// Whether the client wants the connection to go on. REQUIRES: a head was parsed.
  bool keeps_alive() const;

  struct ChunkStep {
    std::size_t consumed = 0;
    bool is_done = false;
    std::optional<Refusal> refusal{};
  };
  /// Appends what `bytes` hold of a chunked body to `body`. Bytes that are not consumed come again, with more
  /// behind them. Trailers are checked and dropped.
  ChunkStep decode(std::string_view bytes, RequestBody& body, std::uint64_t limit_bytes);

 private:
  class BeastParser;
  std::size_t header_count_max_;
  std::unique_ptr<BeastParser> parser_;
};

}  // namespace headrace
