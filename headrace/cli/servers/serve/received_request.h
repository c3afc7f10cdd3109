#pragma once

/// \file A request as the server received it: its head, its body, and its sender.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/cli/servers/serve/byte_budget.h"
#include "headrace/cli/servers/serve/piece_queue.h"

namespace headrace {

/// The head of a request. It owns its text, so it may be moved to other threads. Not thread-safe.
class RequestHead {
 public:
  using Clock = std::chrono::steady_clock;

  /// The method as the client wrote it, in any case: "POST". Only characters of a token.
  std::string_view method() const { return text(method_); }
  /// Path and query: "/v1/models/m?x=1", or "*". A scheme and host before the path are cut off. Nothing is
  /// decoded. The text has no space and no control character.
  std::string_view target() const { return text(target_); }
  /// The first header with that name, in any case, without white space at its ends. It has no NUL, CR or LF.
  std::optional<std::string_view> header(std::string_view name) const;
  /// The size that the client declared; none if the body is chunked, or there is no body.
  std::optional<std::uint64_t> content_length() const { return content_length_; }
  bool is_chunked() const { return is_chunked_; }
  bool is_http_1_0() const { return is_http_1_0_; }

  /// "127.0.0.1:50312", "[::1]:50312".
  const std::string& remote_address() const { return remote_address_; }
  /// The subject of the client's verified certificate, as RFC 2253 writes it: "CN=client,O=org". Empty if the
  /// client showed none.
  const std::string& client_subject() const { return client_subject_; }
  /// When the whole head had arrived.
  Clock::time_point received() const { return received_; }

 private:
  friend class RequestParser;
  friend class ServedConnection;
  struct Piece {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
  };
  struct Field {
    Piece name;
    Piece value;
  };
  std::string_view text(Piece piece) const {
    return std::string_view(text_).substr(piece.offset, piece.size);
  }

  std::string text_;
  Piece method_;
  Piece target_;
  std::vector<Field> fields_;
  std::optional<std::uint64_t> content_length_;
  bool is_chunked_ = false;
  bool is_http_1_0_ = false;
  std::string remote_address_;
  std::string client_subject_;
  Clock::time_point received_{};
};

/// The bytes of a body, in memory of their own that counts against a budget until it is freed. After the last
/// byte, kPaddingBytes more may be read, which simdjson needs. Not thread-safe.
class RequestBody {
 public:
  static constexpr std::size_t kPaddingBytes = 64;

  RequestBody() = default;
  explicit RequestBody(std::shared_ptr<ByteBudget> budget) : charge_(std::move(budget)) {}

  BytesView bytes() const { return {memory_.get(), size_}; }
  std::string_view text() const { return as_text(bytes()); }
  std::size_t size() const { return size_; }

  /// Makes room for `capacity` bytes in total. Returns false if the budget or the system has no memory left.
  [[nodiscard]] bool reserve(std::size_t capacity);
  /// Appends bytes. Room grows by doubling, to at most `limit_bytes`. Returns false if there is no memory
  /// left.
  /// REQUIRES: size() + bytes.size() ≤ limit_bytes
  [[nodiscard]] bool append(BytesView bytes, std::uint64_t limit_bytes);
  /// Free room after the last byte. Write into it, then call `added` to make the bytes part of the body.
  MutableBytesView room() { return {memory_.get() + size_, capacity_ - size_}; }
  void added(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;  // capacity_ + kPaddingBytes
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  ByteCharge charge_;
};

using BodyStream = PieceQueue<RequestBody>;

struct ReceivedRequest {
  RequestHead head;
  /// Already inflated if the client sent gzip or deflate; empty if there is no body.
  RequestBody body;
  /// If HeadVerdict says so, replaces `body`: the body as it arrives. A thread other than the server's takes
  /// the pieces. An answer before the end of the stream ends the connection. The error kOutOfRange means that
  /// a chunked body was too large.
  std::shared_ptr<BodyStream> stream{};
};

}  // namespace headrace
