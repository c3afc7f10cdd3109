#pragma once

/// \file Parses HTTP/1.1 responses, from bytes to events (RFC 9112). It uses no socket and no clock, and
/// allocates no more than the limits allow, so that it can be fuzzed and tested with byte strings.
///
/// It is stricter than the RFC requires of a client, because a lenient reader of a shared connection can take
/// one answer for another. It refuses bare line feeds, folded header lines, spaces before a colon,
/// Content-Length beside Transfer-Encoding or given twice, any transfer coding except "chunked", and any text
/// after the number in a Content-Length.

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/http/http_message.h"

namespace headrace {

struct HttpLimits {
  std::size_t head_bytes = 64 << 10;  // status line and header fields, including interim responses
  std::size_t header_count = 128;
};

/// Parses the response to one request. Every error is kDataLoss, and final. Not thread-safe.
class HttpResponseParser {
 public:
  enum class Event {
    kNeedMore,  // all input is consumed
    kInterim,   // a 1xx response is over; `status()` is its status
    kHead,      // status and header fields are complete
    kBody,      // `data` is the next piece of the body
    kEnd,       // the response is over; input that is not consumed is not part of it
  };
  struct Step {
    Event event = Event::kNeedMore;
    std::size_t consumed = 0;  // from the start of the input
    BytesView data{};          // kBody: views the input
  };

  /// `method` is the method of the request. The answer to HEAD has no body, whatever its header says. Neither
  /// has a 2xx answer to CONNECT, after which the connection is the tunnel.
  explicit HttpResponseParser(std::string_view method, const HttpLimits& limits = {});

  /// Consumes bytes from the front of `input` up to the next event. Call it again with the rest.
  Result<Step> next(BytesView input);

  /// To be called when the server has closed the connection. Completes a body that ends with the connection.
  /// It is an error in any other place.
  Status at_end_of_input();

  /// Valid from kHead on.
  int status() const { return status_; }
  HttpHeaders& headers() { return headers_; }
  /// Size of the body, if the head gives it.
  std::optional<std::uint64_t> announced_bytes() const;
  /// Whether the connection can take another request after kEnd.
  bool keep_alive() const { return keep_alive_; }

  /// How many of the next bytes on the connection belong only to the body. The caller may read up to that
  /// many directly into its own memory, without the parser. It must then call `skip` with their number.
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

  // Returns a line without its end, once it is complete. Moves `at` past the consumed bytes.
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
  std::size_t section_bytes_ = 0;  // size so far of the head, or of the framing of one chunk
  int status_ = 0;
  bool is_version_1_0_ = false;
  bool keep_alive_ = false;
  HttpHeaders headers_;
  std::optional<std::uint64_t> content_length_;
  bool chunked_ = false;
  std::uint64_t remaining_ = 0;  // bytes left of the sized body or of the chunk
};

}  // namespace headrace
