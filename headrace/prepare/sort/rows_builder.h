#pragma once

/// \file Builds a spill: takes rows in any order, and makes an object of docs/formats/rows.md.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/prepare/sort/ordered_row.h"
#include "headrace/prepare/sort/rows_footer.h"

namespace headrace {

/// Not thread-safe. Memory: the rows and 16 bytes for each; during `finish`, also the object.
///
///   RowsBuilder builder;
///   for (…) HEADRACE_CHECK(builder.add("train", row, digest_content(content)));
///   const Bytes object = std::move(builder).finish();
class RowsBuilder {
 public:
  /// Copies the row; seldom allocates. Rows with equal `content` count as rows with equal content. A digest
  /// takes 40 bytes of memory. After an error, nothing is added.
  /// \error kInvalidArgument  more cells than kMaxRowCells, truncated numbers, a split's name that is not
  ///                          UTF-8 or longer than kMaxSplitNameBytes, or more than kMaxRowsSplits splits
  Status add(std::string_view split, const OrderedRow& row, const std::optional<ContentDigest>& content = {});

  /// The size that the rows and hashes so far will have in the object.
  std::uint64_t size_bytes() const { return row_bytes_ + contents_.size() * kContentHashBytes; }

  /// Makes the object. The same rows give the same bytes, in whatever order they were added. Call once.
  Bytes finish() &&;

 private:
  struct Key {
    std::uint64_t order;
    const std::byte* row;
  };
  struct Split {
    std::vector<Key> keys{};
    std::uint64_t bytes = 0;
    std::uint64_t referenced_bytes = 0;
  };
  using Splits = std::map<std::string, Split, std::less<>>;

  struct Content {
    ContentDigest digest;
    RowPlace place;
    const Splits::value_type* split;
  };

  Status use_split(std::string_view name);
  std::byte* take_room(std::size_t bytes);
  std::size_t footer_bytes() const;
  static BucketTable append_rows(const Split& split, Bytes& out);
  Bucket append_hashes(Bytes& out) const;

  Splits splits_;
  Splits::value_type* latest_ = nullptr;  // the split that was used last
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* room_ = nullptr;
  std::size_t room_bytes_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::vector<Content> contents_;
};

}  // namespace headrace
