#pragma once

/// \file Contents: bytes that are kept by their SHA-256, once for all artifacts of a tracking root.
/// docs/formats/artifacts.md, "Removal", describes how writers and `gc` notice each other.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Prefix of contents below a tracking root.
inline constexpr std::string_view kContentPrefix = "_headrace/artifacts/content/";

/// How many objects are read or written at a time. Each takes a buffer of at most 8 MiB.
inline constexpr int kObjectsAtOnce = 8;

/// Bytes to keep. Each call of `read` passes all of them to `visit`, from front to back.
struct Content {
  std::string sha256;
  std::uint64_t size_bytes = 0;
  std::function<Status(const std::function<Status(BytesView)>& visit, const CallOptions&)> read;
};

/// The bytes of an object, in the version that `info` describes.
Content content_of(const Location& object, const ObjectInfo& info, std::string sha256);
/// Reads an object and computes its SHA-256, as hexadecimal digits.
/// \error kFailedPrecondition  it was replaced meanwhile
Result<std::string> digest_of(const Location& object, const ObjectInfo& info, const CallOptions& call = {});

/// A copy of a content, as its key names it.
struct ContentCopy {
  std::string sha256;
  std::uint64_t number = 0;
  bool is_given_up = false;  // the key is that of its mark `given-up`
};
/// None if the key is not that of a copy or a mark.
std::optional<ContentCopy> parse_content_key(const Location& root, std::string_view key);
Location content_copy(const Location& root, std::string_view sha256, std::uint64_t number);
Location given_up_mark(const Location& root, std::string_view sha256, std::uint64_t number);

/// Keeps each content that has no usable copy. A copy is usable if it has the right size and was not given
/// up; its bytes are not read. Writes eight at a time. Cost: a listing for each content; for more than 256
/// contents, one listing of all.
/// \error kFailedPrecondition  the bytes have changed since their digest was computed
Status keep_contents(const Location& root, std::span<const Content> contents, const CallOptions& call);

/// Receives the bytes of a content. `begin` is called before each copy is read: discard all bytes that `add`
/// received before. If `begin` or `add` returns kDataLoss or kNotFound, the copy counts as bad, and the next
/// one is read.
struct ContentReader {
  std::function<Status(const ObjectInfo&)> begin;
  std::function<Status(BytesView)> add;
};

/// Reads a content: the first copy and, if that is altered or disappears, the next ones. `size_bytes`: size
/// of the content, if it is known; copies of another size are not read. Cost: one request and those of
/// reading; more if the first copy is bad.
/// \error kNotFound  there is no copy; kDataLoss  all copies are altered: the message says what to do about
///                   one of them
Status read_content(const Location& root, std::string_view sha256, std::optional<std::uint64_t> size_bytes,
                    const CallOptions& call, const ContentReader& reader);

/// Finds a copy that has the right size, without reading it. Cost and errors: as read_content, but one
/// request alone.
Result<Location> find_content(const Location& root, std::string_view sha256, std::uint64_t size_bytes,
                              const CallOptions& call);

}  // namespace headrace
