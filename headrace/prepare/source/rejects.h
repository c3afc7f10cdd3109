#pragma once

/// \file Rows that cannot be used: how many may be, and how messages name them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// How many rows may be rejected: a number, or a share of all.
struct RejectLimit {
  std::uint64_t rows = 0;
  std::optional<double> share{};

  std::uint64_t of(std::uint64_t all) const {
    return share ? static_cast<std::uint64_t>(*share * static_cast<double>(all)) : rows;
  }
  /// More in one task end it, as all rows are not known there.
  std::uint64_t of_one_task() const { return share ? ~std::uint64_t{0} : rows; }
};

/// The reason of the second and later rows of an id in a split.
inline constexpr std::string_view kRepeatedId = "the id occurs twice";
/// The reason of rows whose id a row of a smaller split has (other_splits.h).
inline constexpr std::string_view kIdOfOtherSplit = "the id occurs in another split";

/// The file that a row of the slice lies in; empty for objects of a folder, whose ids say it.
/// REQUIRES: the place is of the slice
std::string source_of(const Slice& slice, RowPlace place);
/// The URL that those in that row are relative to (RFC 3986, section 5.1): of the file; else empty.
std::string base_of(const Slice& slice, RowPlace place);

/// "<id> in <file>, row 7 is rejected: <reason> (<detail>)".
std::string describe_rejection(std::string_view id, const Slice& slice, RowPlace place,
                               std::string_view reason, std::string_view detail);

/// Of a row with a cell whose bytes could not be fetched: for lack of a better word, what to look for.
std::string reason_of_fetch(const Error& error);

/// `first` is what describe_rejection said of the first row.
Error too_many_rejects(std::string_view first, std::uint64_t allowed);
Error too_many_rejects(std::string_view first, std::uint64_t rejected, std::uint64_t all,
                       std::uint64_t allowed);

}  // namespace headrace
