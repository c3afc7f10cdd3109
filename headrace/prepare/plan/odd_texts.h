#pragma once

/// \file Counts the few texts among the numbers of a column, which make the column one of texts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// The cells of one column. Not thread-safe. Memory: some short texts.
class OddTexts {
 public:
  void add_number() { ++numbers_; }
  /// Adds a text that is not a number. `place` says where the cell is: "row 7 of table.csv".
  void add_text(std::string_view text, std::string_view place);

  /// True if the texts may still turn out to be few.
  bool may_be_few() const { return have_decimal_comma_ || texts_ <= numbers_ + kAlwaysCounted; }

  /// If there are fewer texts than numbers, or all texts are numbers with a decimal comma: a remark that
  /// shows the first text, and the option that would make the column one of numbers.
  std::optional<std::string> remark(std::string_view column) const;

 private:
  static constexpr std::uint64_t kAlwaysCounted = 16;

  std::string option() const;

  std::uint64_t numbers_ = 0;
  std::uint64_t texts_ = 0;
  std::string first_text_;
  std::string first_place_;
  std::vector<std::string> different_{};  // texts, while they are few
  bool have_decimal_comma_ = true;        // each text is a number with a decimal comma
  bool has_large_number_ = false;         // one is a whole number too large for int64
};

}  // namespace headrace
