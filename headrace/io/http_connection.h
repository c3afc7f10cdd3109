#pragma once

/// \file One connection to one server, which carries one request after another. Internal to the HTTP client.

#include <memory>
#include <string>

#include "headrace/io/http_message.h"
#include "headrace/io/http_parser.h"
#include "headrace/io/http_socket.h"

namespace headrace {

/// Not thread-safe.
class HttpConnection {
 public:
  HttpConnection(std::unique_ptr<ByteStream> stream, const HttpLimits& limits);

  /// Sends the request and reads the whole answer. An answer that comes before the request is sent in full
  /// ends the sending. 408 and every other status is a success here.
  /// \error kUnavailable  the connection was lost; kDataLoss  the answer is malformed or longer than there is
  ///                      room for; kDeadlineExceeded, kCancelled
  Result<HttpResponse> exchange(const HttpRequest& request, IoWait& wait);

  /// The last exchange left the connection at the start of the next answer.
  bool reusable() const { return reusable_; }
  /// Some byte of the answer to the last request came. If not, the server may have closed the connection
  /// before it saw the request.
  bool answered() const { return answered_; }
  /// Nothing has arrived since, not even the end: worth another request.
  bool is_quiet();

 private:
  enum class Sent { kAll, kAnswerCameFirst, kLost };
  Result<Sent> send(BytesView data, IoWait& wait);
  Result<Sent> send_request(const HttpRequest& request, IoWait& wait, HttpResponseParser& parser);
  Result<bool> wait_for_continue(IoWait& wait, HttpResponseParser& parser);
  // More input into `buffer_`, which must be used up; false at the end of the input.
  Result<bool> fill(IoWait& wait);
  Result<bool> receive(MutableBytesView target, IoWait& wait, std::size_t& received);
  Status read_head(IoWait& wait, HttpResponseParser& parser);
  Status read_body(const HttpRequest& request, IoWait& wait, HttpResponseParser& parser,
                   HttpResponse& response);
  Status read_directly(MutableBytesView target, IoWait& wait, HttpResponseParser& parser);
  BytesView unparsed() const { return BytesView(buffer_).subspan(begin_, end_ - begin_); }
  Error lost(std::string_view doing) const;

  std::unique_ptr<ByteStream> stream_;
  const HttpLimits limits_;
  Bytes buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string why_lost_;
  bool reusable_ = false;
  bool answered_ = false;
  bool head_read_ = false;
};

}  // namespace headrace
