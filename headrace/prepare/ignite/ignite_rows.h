#pragma once

/// \file Rows of Ignite as rows of `prepare`, checked against the listing.

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/base/digest.h"
#include "headrace/prepare/ignite/ordered_rows.h"
#include "headrace/prepare/row/row_source.h"

namespace headrace {

/// Number, size and digest of rows. Equal for the same objects in the same order. Not thread-safe.
class RowsDigest {
 public:
  void add(const std::vector<BytesView>& row);
  std::uint64_t rows() const { return rows_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// SHA-256, hexadecimal; call once.
  std::string finish() { return hex(digest_.finish()); }

 private:
  Sha256 digest_;
  std::uint64_t rows_ = 0;
  std::uint64_t size_bytes_ = 0;
};

struct ListedRows {
  std::string name;  // of the slice, for messages
  std::uint64_t rows = 0;
  std::string digest;
};

/// The advice for rows that have changed, whichever command reads them.
inline constexpr std::string_view kAfterChange =
    "run the command again while nothing writes there, headrace prepare with --overwrite";

/// Reads the rows of `query`, which must be those that were `listed`. Ids and cells:
/// docs/formats/ignite-input.md.
/// \error of `next`: kFailedPrecondition  the rows have changed since they were listed
/// \error of `next`: as OrderedRows::next
std::unique_ptr<RowSource> make_ignite_rows(std::shared_ptr<ignite::Cluster> cluster, OrderedQuery query,
                                            ListedRows listed, std::uint64_t cell_limit_bytes,
                                            std::stop_token stop);

}  // namespace headrace
