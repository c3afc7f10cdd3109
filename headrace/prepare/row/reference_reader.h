#pragma once

/// \file Fetches what cells refer to, many at once.

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

/// The bytes of one reference, or why there are none.
struct FetchedReference {
  BytesView data{};
  std::optional<Error> error{};
};

/// One thread at a time. Memory: what was fetched last.
class ReferenceReader {
 public:
  /// `stores` must outlive it. More than `cell_limit_bytes` is an error of the reference.
  ReferenceReader(StoreRegistry& stores, std::uint64_t cell_limit_bytes, CallOptions call = {})
      : stores_(stores), cell_limit_bytes_(cell_limit_bytes), call_(std::move(call)) {}

  /// One request for each, up to `kAtOnce` at once. The data are valid until the next call. An object that is
  /// not there, forbidden, too large or of another version is an error of its reference.
  /// \error kCancelled  stopped
  Result<std::span<const FetchedReference>> fetch(std::span<const Reference> references);

  static constexpr int kAtOnce = 32;

 private:
  struct Wanted {
    std::size_t place = 0;  // of the references
    Location location;
    std::size_t begin = 0;  // in `data_`
  };
  Status fetch_known(std::span<const Reference> references, std::span<const Wanted> wanted);
  Status fetch_one(const Reference& reference, const Wanted& wanted);

  StoreRegistry& stores_;
  const std::uint64_t cell_limit_bytes_;
  const CallOptions call_;
  std::vector<FetchedReference> fetched_;
  Bytes data_;
  std::vector<Bytes> objects_;  // of those of unknown size
};

}  // namespace headrace
