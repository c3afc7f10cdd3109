#include "headrace/net/http/http_parser.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

Error malformed(std::string_view what) {
  return Error{Code::kDataLoss, concat("the answer is not valid HTTP/1.1: ", what)};
}

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_field_text(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); });
}

bool list_has(std::string_view value, std::string_view member) {
  return std::ranges::any_of(split(value, ','),
                             [&](const std::string& part) { return to_lower(trim(part)) == member; });
}

constexpr std::size_t kMaxFramingBytes = 4096;  // of one chunk's size line, or of the trailer section

}  // namespace

HttpResponseParser::HttpResponseParser(std::string_view method, const HttpLimits& limits)
    : answers_head_request_(method == "HEAD"),
      answers_connect_request_(method == "CONNECT"),
      limits_(limits) {}

bool HttpResponseParser::has_no_body() const {
  return answers_head_request_ || (answers_connect_request_ && status_ / 100 == 2) || status_ == 204 ||
         status_ == 304;
}

Result<HttpResponseParser::Step> HttpResponseParser::next(BytesView input) {
  std::size_t at = 0;
  while (true) {
    switch (state_) {
      case State::kDone:
        return Step{Event::kEnd, at, {}};
      case State::kSizedBody:
      case State::kChunkData:
      case State::kUntilClose:
        if (remaining_ == 0 && state_ == State::kSizedBody) {
          state_ = State::kDone;
        } else if (remaining_ == 0 && state_ == State::kChunkData) {
          state_ = State::kChunkEnd;
        } else {
          return take_body(input, at);
        }
        break;
      default: {
        HEADRACE_TRY(const std::optional<std::string> line, take_line(input, at));
        if (!line) return Step{Event::kNeedMore, at, {}};
        HEADRACE_TRY(const Event event, line_complete(*line));
        if (event != Event::kNeedMore) return Step{event, at, {}};
      }
    }
  }
}

HttpResponseParser::Step HttpResponseParser::take_body(BytesView input, std::size_t at) {
  if (at == input.size()) return {Event::kNeedMore, at, {}};
  std::uint64_t size = input.size() - at;
  if (state_ != State::kUntilClose) {
    size = std::min(size, remaining_);
    remaining_ -= size;
  }
  return {Event::kBody, at + static_cast<std::size_t>(size),
          input.subspan(at, static_cast<std::size_t>(size))};
}

void HttpResponseParser::skip(std::uint64_t bytes) { remaining_ -= std::min(bytes, remaining_); }

std::optional<std::uint64_t> HttpResponseParser::announced_bytes() const {
  if (state_ == State::kDone) return 0;
  if (chunked_) return std::nullopt;
  return content_length_;
}

Result<std::optional<std::string>> HttpResponseParser::take_line(BytesView input, std::size_t& at) {
  const bool in_head = state_ == State::kStatusLine || state_ == State::kHeaderLine;
  const std::size_t limit = in_head ? limits_.head_bytes : kMaxFramingBytes;
  const std::string_view rest = as_text(input.subspan(at));
  const std::size_t end = rest.find('\n');
  const std::size_t length = end == std::string_view::npos ? rest.size() : end + 1;
  if (length > limit - std::min(limit, section_bytes_)) {
    return malformed(
        concat(in_head ? "its head" : "the framing of a chunk", " is longer than ", limit, " bytes"));
  }
  section_bytes_ += length;
  line_.append(rest.substr(0, length));
  at += length;
  if (end == std::string_view::npos) return std::optional<std::string>();
  if (!line_.ends_with("\r\n")) return malformed("a line ends without a carriage return");
  line_.resize(line_.size() - 2);
  if (line_.find('\r') != std::string::npos) return malformed("a carriage return within a line");
  return std::optional<std::string>(std::exchange(line_, {}));
}

Result<HttpResponseParser::Event> HttpResponseParser::line_complete(const std::string& line) {
  switch (state_) {
    case State::kStatusLine:
      HEADRACE_CHECK(take_status_line(line));
      break;
    case State::kHeaderLine:
      if (line.empty()) return head_complete();
      HEADRACE_CHECK(take_header_line(line));
      break;
    case State::kChunkSize:
      HEADRACE_CHECK(take_chunk_size(line));
      break;
    case State::kChunkEnd:
      if (!line.empty()) return malformed("a chunk is longer than its size says");
      state_ = State::kChunkSize;
      section_bytes_ = 0;
      break;
    default:  // kTrailer: bounded by take_line, and dropped
      if (line.empty()) state_ = State::kDone;
  }
  return Event::kNeedMore;
}

Status HttpResponseParser::take_status_line(const std::string& line) {
  const bool has_version = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  if (!has_version)
    return malformed("it does not begin with \"HTTP/1.1 \"; is this a port of another protocol?");
  is_version_1_0_ = line[7] == '0';
  const auto status = parse_number<unsigned>(std::string_view(line).substr(9, 3));
  if (line.size() < 12 || !status || *status < 100 || *status > 599 ||
      (line.size() > 12 && line[12] != ' ')) {
    return malformed("its status is not a number from 100 to 599");
  }
  if (!is_field_text(std::string_view(line).substr(12)))
    return malformed("a control character in the status line");
  status_ = static_cast<int>(*status);
  state_ = State::kHeaderLine;
  return {};
}

Status HttpResponseParser::take_header_line(const std::string& line) {
  if (headers_.size() >= limits_.header_count) {
    return malformed(concat("more than ", limits_.header_count, " header fields"));
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || !is_token(std::string_view(line).substr(0, colon))) {
    return malformed("a header line is not \"name: value\"");
  }
  const std::string_view value = trim(std::string_view(line).substr(colon + 1));
  if (!is_field_text(value)) return malformed("a control character in a header field");
  headers_.push_back({line.substr(0, colon), std::string(value)});

  const std::string name = to_lower(headers_.back().name);
  if (name == "content-length") {
    const bool digits = value.find_first_not_of("0123456789") == std::string_view::npos;
    const auto length = digits ? parse_number<std::uint64_t>(value) : std::nullopt;
    if (!length || *length > (std::uint64_t{1} << 62)) return malformed("Content-Length is not a number");
    if (content_length_) return malformed("Content-Length is given twice");
    content_length_ = length;
  } else if (name == "transfer-encoding") {
    if (chunked_ || to_lower(value) != "chunked" || is_version_1_0_) {
      return malformed("Transfer-Encoding is not \"chunked\"");
    }
    chunked_ = true;
  }
  return {};
}

Result<HttpResponseParser::Event> HttpResponseParser::head_complete() {
  if (chunked_ && content_length_) return malformed("both Transfer-Encoding and Content-Length are given");
  if (status_ < 200) {
    if (status_ == 101) return malformed("it switches to another protocol");
    headers_.clear();
    content_length_.reset();
    chunked_ = false;
    state_ = State::kStatusLine;  // section_bytes_ is not reset, which bounds the number of interim answers
    return Event::kInterim;
  }
  const std::string_view connection = find_header(headers_, "Connection").value_or("");
  keep_alive_ = is_version_1_0_ ? list_has(connection, "keep-alive") : !list_has(connection, "close");
  section_bytes_ = 0;
  if (has_no_body()) {
    state_ = State::kDone;
  } else if (chunked_) {
    state_ = State::kChunkSize;
  } else if (content_length_) {
    state_ = State::kSizedBody;
    remaining_ = *content_length_;
  } else {
    state_ = State::kUntilClose;
    keep_alive_ = false;
  }
  return Event::kHead;
}

Status HttpResponseParser::take_chunk_size(const std::string& line) {
  const std::size_t end = std::min(line.find_first_of("; \t"), line.size());
  std::uint64_t size = 0;
  const auto [stop, error] = std::from_chars(line.data(), line.data() + end, size, 16);
  if (end == 0 || end > 15 || error != std::errc{} || stop != line.data() + end || !is_field_text(line)) {
    return malformed("a chunk has no valid size");
  }
  if (trim(std::string_view(line).substr(end)).starts_with(';') || end == line.size() ||
      trim(std::string_view(line).substr(end)).empty()) {
    remaining_ = size;
    state_ = size == 0 ? State::kTrailer : State::kChunkData;
    section_bytes_ = 0;
    return {};
  }
  return malformed("the size of a chunk is followed by something other than an extension");
}

Status HttpResponseParser::at_end_of_input() {
  switch (state_) {
    case State::kDone:
      return {};
    case State::kUntilClose:
      state_ = State::kDone;
      return {};
    case State::kStatusLine:
    case State::kHeaderLine:
      return Error{Code::kDataLoss, "the connection was closed within the head of the answer"};
    default:
      return Error{Code::kDataLoss,
                   concat("the connection was closed within the body of the answer, ", remaining_,
                          " bytes before the end", chunked_ ? " of a chunk" : "")};
  }
}

}  // namespace headrace
