#pragma once

/// \file Options, declared once as data. One table is the source of the command-line flags, the Python
/// keyword arguments, the reference documentation and the error for a misspelt name.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

enum class OptionType : std::uint8_t {
  kText,
  kInteger,
  kNumber,
  kSize,      // bytes, with a prefix: "300MB", "1GiB"
  kFlag,      // present or not
  kTextList,  // may be given several times
};

struct Option {
  std::string_view name;  // "batch-size"
  OptionType type = OptionType::kText;
  /// The default as a user would type it. Empty: no default; the option is absent unless it is given.
  std::string_view default_value = "";
  /// The unit of the value, or the thing that it stands for: "records", "URL".
  std::string_view unit = "";
  /// One sentence that says what the option does.
  std::string_view sentence = "";
  double minimum = std::numeric_limits<double>::lowest();
  double maximum = std::numeric_limits<double>::max();
  /// Allowed texts, separated by '|'. Empty: any text.
  std::string_view choices = "";
  /// The letter of a short form, as 'r' in "-r"; 0: none. Flags may be typed together: "-ry".
  char letter = 0;
  /// The environment variable that sets the same option; empty: none.
  std::string_view variable = "";
};

/// Describes the range: "from 1 to 64", "at least 1", "at most 1.1 MB". Empty if any value is allowed.
std::string allowed_range(const Option& option);

/// The checked values of one table's options. Asking for a name that the table lacks, or for another type
/// than it declares, is a programming error and throws std::logic_error (but see `shown`). Several threads
/// may call const functions at the same time.
class OptionValues {
 public:
  /// Borrows the table, which must outlive the values. Fills in the defaults.
  explicit OptionValues(std::span<const Option> table);

  /// Sets one option from its text. A flag's text is "true". A kTextList grows by one text per call, after
  /// its defaults are dropped; any other option is replaced.
  /// \error kInvalidArgument  the name is unknown (the message suggests the nearest), or the text has the
  ///                          wrong type or is out of range (the message says what is allowed)
  Status set(std::string_view name, std::string_view text);

  std::span<const Option> table() const { return table_; }
  /// True if the option has a value, set or default.
  bool has(std::string_view name) const;
  /// True if the option was set; false if it has its default or no value.
  bool given(std::string_view name) const;
  /// The value as it was typed, for an option of any type. A list's texts are joined by ", ". Empty if the
  /// option has no value or the table lacks the name.
  std::string shown(std::string_view name) const;
  /// The value of an option of that type; empty, zero or false if it has none.
  const std::string& text(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::uint64_t size_bytes(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;

 private:
  struct Value {
    std::vector<std::string> texts;
    double number = 0;
    std::int64_t integer = 0;
    bool given = false;
  };
  const Option& declaration(std::string_view name) const;
  const Value& value(std::string_view name, OptionType type) const;

  std::span<const Option> table_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace headrace
