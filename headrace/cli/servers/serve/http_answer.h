#pragma once

/// \file Answers to HTTP requests, and how they are written.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/cli/servers/serve/piece_queue.h"

namespace headrace {

struct HttpAnswer {
  unsigned status = 200;
  std::string content_type = "application/json";
  /// Further headers. The server itself writes Date, Content-Type, Content-Length and Connection, and drops
  /// these and Transfer-Encoding here. Characters that would end a header are written as spaces.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Dropped if the status has no body (1xx, 204, 304).
  std::string body{};
  /// If set, follows `body`: exactly `stream_bytes` bytes, in pieces that a thread other than the server's
  /// puts in. If there are fewer, the connection ends before the client has the whole answer.
  std::shared_ptr<PieceQueue<std::string>> stream{};
  std::uint64_t stream_bytes = 0;
};

/// {"error": reason}, as in the protocols of TensorFlow Serving and KServe.
HttpAnswer error_answer(unsigned status, std::string_view reason);

enum class ConnectionField { kNone, kClose, kKeepAlive };

/// Writes the head of an answer, with the empty line after it, into `out`, whose memory is reused. A status
/// outside 200–599 is written as 500.
void write_answer_head(const HttpAnswer& answer, ConnectionField connection, std::string& out);
bool status_has_body(unsigned status);

}  // namespace headrace
