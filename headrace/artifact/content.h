#pragma once

/// \file Bytes that are kept by their SHA-256, once for all artifacts of a tracking root:
/// docs/formats/artifacts.md, "Removal" says how writers and `gc` see each other.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Where contents lie below a tracking root.
inline constexpr std::string_view kContentPrefix = "_headrace/artifacts/content/";

/// Objects that are read or written at a time; each takes a piece of 8 MiB at most.
inline constexpr int kObjectsAtOnce = 8;

/// Bytes to keep. `read` passes all of them on, front to back, whenever it is called.
struct Content {
  std::string sha256;
  std::uint64_t size_bytes = 0;
  std::function<Status(const std::function<Status(BytesView)>& visit, const CallOptions&)> read;
};

/// The bytes of an object, of the version that `info` describes.
Content content_of(const Location& object, const ObjectInfo& info, std::string sha256);
/// Reads an object to its SHA-256.
/// \error kFailedPrecondition  it was replaced meanwhile
Result<std::string> digest_of(const Location& object, const ObjectInfo& info, const CallOptions& call = {});

/// A copy of a content, as a key names it.
struct ContentCopy {
  std::string sha256;
  std::uint64_t number = 0;
  bool is_given_up = false;  // the key is that of its mark
};
std::optional<ContentCopy> parse_content_key(const Location& root, std::string_view key);
Location content_copy(const Location& root, std::string_view sha256, std::uint64_t number);
Location given_up_mark(const Location& root, std::string_view sha256, std::uint64_t number);

/// Keeps those contents of which there is no copy that can be relied upon: one that is not given up, and has
/// the right size. Eight at a time. Cost: a listing of the copies of each; of more than 256, one listing of
/// all.
/// \error kFailedPrecondition  the bytes have changed since their digest was taken
Status keep_contents(const Location& root, std::span<const Content> contents, const CallOptions& call);

/// Takes the bytes of a content. `begin` is called before those of each copy that is tried: what `add` was
/// given before that does not count. An error of either with kDataLoss or kNotFound means the copy.
struct ContentReader {
  std::function<Status(const ObjectInfo&)> begin;
  std::function<Status(BytesView)> add;
};

/// Reads a copy whose bytes have this SHA-256: the first one, and if that is altered or goes away, each other
/// one. `size_bytes`: of the content, if it is known; copies of another size are not read. Cost: a request
/// besides those of reading, more if the first copy does not serve.
/// \error kNotFound  there is no copy; kDataLoss  all are altered: says of one what to do
Status read_content(const Location& root, std::string_view sha256, std::optional<std::uint64_t> size_bytes,
                    const CallOptions& call, const ContentReader& reader);

/// A copy that is there and has the right size; not read. Cost and errors: as read_content
Result<Location> find_content(const Location& root, std::string_view sha256, std::uint64_t size_bytes,
                              const CallOptions& call);

}  // namespace headrace
