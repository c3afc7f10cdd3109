#pragma once

/// \file Fetches the bytes to which references in cells point, many at once.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/row/row.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The bytes of one reference, or a permanent error.
struct FetchedReference {
  BytesView data{};
  /// kNotFound, kInvalidArgument (the URL cannot be read), or kResourceExhausted (larger than allowed).
  std::optional<Error> error{};
};

/// Not thread-safe. Memory: the bytes of the latest `fetch`.
class ReferenceReader {
 public:
  /// `stores` must outlive the reader. A reference to more than `cell_limit_bytes` fails alone, with
  /// kResourceExhausted.
  ReferenceReader(StoreRegistry& stores, std::uint64_t cell_limit_bytes, CallOptions call = {})
      : stores_(stores), cell_limit_bytes_(cell_limit_bytes), call_(std::move(call)) {}

  /// Fetches every reference. If sizes are known, sends one `read_many` for each store; otherwise one request
  /// for each reference, up to `kAtOnce` at a time. The results are valid until the next call. A missing or
  /// too large object, or a malformed URL, fails only its own reference, because it fails every time. Any
  /// other error may be temporary (no access, a busy server, no file descriptor, damage), so it fails the
  /// whole call: otherwise, the same rows could give different records.
  /// \error kCancelled           `call.stop` was requested
  /// \error kFailedPrecondition  an object now has another version than was listed
  /// \error of the store
  Result<std::span<const FetchedReference>> fetch(std::span<const Reference> references);

  static constexpr int kAtOnce = 32;

 private:
  struct Wanted {
    std::size_t place = 0;  // index into the references
    Location location;
    std::size_t begin = 0;  // index into `data_`
  };
  Status fetch_known(std::span<const Reference> references, std::span<const Wanted> wanted);
  Status fetch_one(const Reference& reference, const Wanted& wanted);
  Error too_large(const Location& location, std::uint64_t size_bytes) const;

  StoreRegistry& stores_;
  const std::uint64_t cell_limit_bytes_;
  const CallOptions call_;
  std::vector<FetchedReference> fetched_;
  Bytes data_;
  std::vector<Bytes> objects_;  // objects whose size is not known beforehand
};

}  // namespace headrace
