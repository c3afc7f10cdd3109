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
  /// Others: the server itself writes Date, Content-Type, Content-Length and Connection, and drops these and
  /// Transfer-Encoding here. Characters that would end a header are written as spaces.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Dropped if the status is one that has no body (1xx, 204, 304).
  std::string body{};
  /// Follows `body`, if it is there: exactly `stream_bytes` in pieces that another thread than the server's
  /// puts. With fewer, the connection ends before the client has a whole answer.
  std::shared_ptr<PieceQueue<std::string>> stream{};
  std::uint64_t stream_bytes = 0;
};

/// {"error": reason}, as TensorFlow Serving and KServe's protocol have it.
HttpAnswer error_answer(unsigned status, std::string_view reason);

enum class ConnectionField { kNone, kClose, kKeepAlive };

/// Writes the head of an answer, with the empty line behind it, into `out` (whose memory is used again). A
/// status outside 200–599 is written as 500.
void write_answer_head(const HttpAnswer& answer, ConnectionField connection, std::string& out);
bool status_has_body(unsigned status);

}  // namespace headrace
