#pragma once

/// \file HTTP/1.1 responses, from bytes to events (RFC 9112). Pure: no socket, no clock, no allocation beyond
/// the limits, so that it can be fuzzed and tested with byte strings. Stricter than the RFC asks of a client,
/// since a lenient reader of a shared connection takes one answer for another: refused are bare line feeds,
/// folded header lines, spaces before a colon, Content-Length beside Transfer-Encoding or given twice, any
/// transfer coding but "chunked", and anything after the number in a Content-Length.

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/http/http_message.h"

namespace headrace {

struct HttpLimits {
  std::size_t head_bytes = 64 << 10;  // status line and header fields, interim responses included
  std::size_t header_count = 128;
};

/// Parses the one response to one request. Every error is kDataLoss, and final.
class HttpResponseParser {
 public:
  enum class Event {
    kNeedMore,  // all input is consumed
    kInterim,   // a 1xx response is over; `status()` tells which
    kHead,      // status and header fields are complete
    kBody,      // `data` is the next piece of the body
    kEnd,       // the response is over; what is not consumed belongs to no one
  };
  struct Step {
    Event event = Event::kNeedMore;
    std::size_t consumed = 0;  // from the start of the input
    BytesView data{};          // kBody: within the input
  };

  /// `method` is the request's: the answer to HEAD has no body whatever its header says, nor has a 2xx to
  /// CONNECT, after which the connection is the tunnel.
  explicit HttpResponseParser(std::string_view method, const HttpLimits& limits = {});

  /// Takes bytes from the front of `input` up to the next event. Call again with the rest.
  Result<Step> next(BytesView input);

  /// The connection was closed by the server. Completes a body that is delimited so; an error in any other
  /// place.
  Status at_end_of_input();

  /// From kHead on.
  int status() const { return status_; }
  HttpHeaders& headers() { return headers_; }
  /// Length of the body if it is known from the head.
  std::optional<std::uint64_t> announced_bytes() const;
  /// The connection may serve another request after kEnd.
  bool keep_alive() const { return keep_alive_; }

  /// How many of the next bytes on the connection are body and nothing else: the caller may read that many
  /// past the parser, into its own memory, and then says so with `skip`.
  std::uint64_t direct_bytes() const { return state_ == State::kSizedBody ? remaining_ : 0; }
  void skip(std::uint64_t bytes);

 private:
  enum class State {
    kStatusLine,
    kHeaderLine,
    kSizedBody,
    kChunkSize,
    kChunkData,
    kChunkEnd,
    kTrailer,
    kUntilClose,
    kDone,
  };

  // A complete line without its end, once there is one; moves `at` past what was consumed.
  Result<std::optional<std::string>> take_line(BytesView input, std::size_t& at);
  Status take_status_line(const std::string& line);
  Status take_header_line(const std::string& line);
  Status take_chunk_size(const std::string& line);
  Result<Event> head_complete();
  Result<Event> line_complete(const std::string& line);
  Step take_body(BytesView input, std::size_t at);

  bool has_no_body() const;

  const bool answers_head_request_;
  const bool answers_connect_request_;
  const HttpLimits limits_;
  State state_ = State::kStatusLine;
  std::string line_;
  std::size_t section_bytes_ = 0;  // of the head, or of the framing of one chunk
  int status_ = 0;
  bool is_version_1_0_ = false;
  bool keep_alive_ = false;
  HttpHeaders headers_;
  std::optional<std::uint64_t> content_length_;
  bool chunked_ = false;
  std::uint64_t remaining_ = 0;  // of the sized body, or of the chunk
};

}  // namespace headrace
