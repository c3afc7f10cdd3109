#include "headrace/cli/servers/serve/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <cstring>
#include <limits>

#include "headrace/base/text.h"

namespace headrace {

namespace beast = boost::beast;

HeadScan::State HeadScan::look(std::string_view bytes) {
  while (scanned_ < bytes.size()) {
    const char* const line = bytes.data() + scanned_;
    const std::size_t rest = bytes.size() - scanned_;
    const char* const end = static_cast<const char*>(std::memchr(line, '\n', rest));
    // An incomplete line is looked at again. Its first byte already shows whether it is HTTP at all.
    if (end == nullptr) {
      const bool is_text = *line == '\r' || (*line > 0x20 && *line < 0x7f);
      return is_text ? State::kNeedMore : State::kBad;
    }
    const std::size_t length = static_cast<std::size_t>(end - line);
    if (length == 0 || line[length - 1] != '\r') return State::kBad;
    if (std::memchr(line, '\r', length - 1) != nullptr || std::memchr(line, '\0', length) != nullptr)
      return State::kBad;
    if (*line == ' ' || *line == '\t') return State::kBad;
    scanned_ += length + 1;
    if (length == 1) return State::kComplete;
  }
  return State::kNeedMore;
}

namespace {

// Where Beast reports a wrong version, there may be one space too many instead.
Refusal wrong_version(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  const std::size_t last = line.rfind(' ');
  if (std::count(line.begin(), line.end(), ' ') == 2 && line.substr(last + 1).starts_with("HTTP/"))
    return {505, "the server speaks HTTP/1.1 and HTTP/1.0"};
  return {400, "the first line of the request is not valid HTTP/1.1"};
}

// Bytes that are not consumed belong to the line of a chunk's size, or to a trailer.
bool has_lone_line_feed(std::string_view bytes) {
  for (std::size_t at = 0; (at = bytes.find('\n', at)) != std::string_view::npos; ++at) {
    if (at == 0 || bytes[at - 1] != '\r') return true;
  }
  return false;
}

}  // namespace

class RequestParser::BeastParser final : public beast::http::basic_parser<true> {
 public:
  BeastParser(RequestHead& head, std::size_t header_count_max)
      : head_(&head), header_count_max_(header_count_max) {
    body_limit(boost::none);
    header_limit(std::numeric_limits<std::uint32_t>::max());  // the connection's buffer bounds it
  }

  void set_body(RequestBody& body, std::uint64_t limit_bytes) {
    head_ = nullptr;
    body_ = &body;
    limit_bytes_ = limit_bytes;
    eager(true);
  }

  std::optional<Refusal> refusal;
  int hosts = 0;
  std::optional<RequestHead::Piece> transfer_encoding;
  bool has_content_length = false;
  bool is_body_begun = false;

 private:
  using error_code = beast::error_code;

  RequestHead::Piece piece(beast::string_view text) const {
    return {static_cast<std::uint32_t>(text.data() - head_->text_.data()),
            static_cast<std::uint32_t>(text.size())};
  }
  void refuse(unsigned status, std::string_view reason, error_code& error) {
    refusal = Refusal{status, reason};
    error = beast::http::error::bad_value;
  }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version,
                       error_code&) override {
    head_->method_ = piece(method);
    head_->target_ = piece(target);
    head_->is_http_1_0_ = version == 10;
  }
  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_field_impl(beast::http::field field, beast::string_view name, beast::string_view value,
                     error_code& error) override {
    if (++header_count_ > header_count_max_) return refuse(431, "the request has too many headers", error);
    if (head_ == nullptr) return;  // a trailer
    if (value.empty()) value = name.substr(0, 0);
    if (field == beast::http::field::host) ++hosts;
    if (field == beast::http::field::content_length) has_content_length = true;
    if (field == beast::http::field::transfer_encoding) {
      if (transfer_encoding) return refuse(400, "the request has several Transfer-Encoding headers", error);
      transfer_encoding = piece(value);
    }
    head_->fields_.push_back({piece(name), piece(value)});
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view text, error_code&) override { return text.size(); }
  void on_chunk_header_impl(std::uint64_t size, beast::string_view, error_code& error) override {
    if (size > limit_bytes_ - body_->size()) refuse(413, "the body of the request is too large", error);
  }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view text, error_code& error) override {
    if (!body_->append(as_bytes({text.data(), text.size()}), limit_bytes_))
      refuse(429, "the server holds as many bytes of requests as it may; try again later", error);
    return text.size();
  }
  void on_finish_impl(error_code&) override {}

  RequestHead* head_;
  const std::size_t header_count_max_;
  std::size_t header_count_ = 0;
  RequestBody* body_ = nullptr;
  std::uint64_t limit_bytes_ = 0;
};

RequestParser::RequestParser(std::size_t header_count_max) : header_count_max_(header_count_max) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;

std::optional<Refusal> RequestParser::parse_head(std::string_view bytes, RequestHead& head) {
  head.text_.assign(bytes);
  head.fields_.reserve(8);
  parser_ = std::make_unique<BeastParser>(head, header_count_max_);
  beast::error_code error;
  parser_->put(boost::asio::const_buffer(head.text_.data(), head.text_.size()), error);
  if (parser_->refusal) return parser_->refusal;
  if (error == beast::http::error::bad_version) return wrong_version(head.text_);
  if ((error == beast::http::error::bad_content_length || error == beast::http::error::bad_transfer_encoding))
    return Refusal{400,
                   "Content-Length and Transfer-Encoding of the request are wrong, or contradict each other"};
  if (error == beast::http::error::multiple_content_length)
    return Refusal{400, "the request has several sizes in Content-Length"};
  if (error || !parser_->is_header_done())
    return Refusal{400, "the head of the request is not valid HTTP/1.1"};

  if (parser_->hosts > 1 || (parser_->hosts == 0 && !head.is_http_1_0_))
    return Refusal{400, "the request must have one Host header"};
  if (parser_->transfer_encoding) {
    if (parser_->has_content_length)
      return Refusal{400, "a request cannot have both Content-Length and Transfer-Encoding"};
    if (head.is_http_1_0_) return Refusal{400, "HTTP/1.0 has no Transfer-Encoding"};
    if (to_lower(head.text(*parser_->transfer_encoding)) != "chunked")
      return Refusal{501, "the server knows only the Transfer-Encoding chunked"};
    head.is_chunked_ = true;
  } else if (parser_->has_content_length) {
    if (const auto length = parser_->content_length()) head.content_length_ = *length;
  }

  const std::string_view target = head.target();
  if (head.method() == "CONNECT") return Refusal{501, "the server is not a proxy"};
  const std::string scheme = to_lower(target.substr(0, 8));
  if (scheme.starts_with("http://") || scheme == "https://") {
    const std::size_t path = target.find('/', scheme.find("//") + 2);
    if (path == std::string_view::npos) return Refusal{400, "the target of the request has no path"};
    head.target_.offset += static_cast<std::uint32_t>(path);
    head.target_.size -= static_cast<std::uint32_t>(path);
  } else if (target.front() != '/' && target != "*") {
    return Refusal{400, "the target of a request begins with a slash"};
  }
  return std::nullopt;
}

bool RequestParser::keeps_alive() const { return parser_->keep_alive(); }

RequestParser::ChunkStep RequestParser::decode(std::string_view bytes, RequestBody& body,
                                               std::uint64_t limit_bytes) {
  ChunkStep step;
  // No body is shorter than this. Beast's parser asserts that when the first chunk is the last.
  static constexpr std::string_view kShortest = "0\r\n\r\n";
  if (!parser_->is_body_begun && bytes.front() == '0' && bytes.size() < kShortest.size()) return step;
  parser_->set_body(body, limit_bytes);
  beast::error_code error;
  step.consumed = parser_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  step.is_done = parser_->is_done();
  parser_->is_body_begun = parser_->is_body_begun || step.consumed > 0;
  if (parser_->refusal) {
    step.refusal = parser_->refusal;
  } else if ((error && error != beast::http::error::need_more) ||
             (!step.is_done && has_lone_line_feed(bytes.substr(step.consumed)))) {
    step.refusal = Refusal{400, "the chunks of the request's body are not valid"};
  }
  return step;
}

}  // namespace headrace
