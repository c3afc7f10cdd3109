#pragma once

/// \file TOML 1.0 as values, and a reader that refuses unknown keys in tables. Wraps toml++, which is slow
/// to compile.
///
///   HEADRACE_TRY(const TomlTable table, parse_toml(text, "serving.toml"));
///   TomlKeys keys(table, "", "serving.toml");
///   HEADRACE_CHECK(keys.integer("lanes", 1, 256, lanes));
///   HEADRACE_CHECK(keys.finish());  // "serving.toml, line 3: lane is not known here; did you mean lanes?"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/base/text.h"

namespace headrace {

struct TomlNode;
struct TomlEntry;

struct TomlTable {
  // Defined in the source file, because TomlEntry is incomplete here.
  TomlTable();
  ~TomlTable();
  TomlTable(const TomlTable& other);
  TomlTable(TomlTable&& other) noexcept;
  TomlTable& operator=(const TomlTable& other);
  TomlTable& operator=(TomlTable&& other) noexcept;

  std::vector<TomlEntry> entries;  // ascending by key
  /// Borrows the value of a key; null if there is no such key.
  const TomlNode* find(std::string_view key) const;
};
using TomlArray = std::vector<TomlNode>;
/// Dates and times are std::monostate: their values are not kept.
using TomlValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, TomlArray, TomlTable>;

struct TomlNode {
  std::uint64_t line = 0;  // from 1
  TomlValue value{};

  /// Borrows the value as a T; null if it has another type.
  template <typename T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  /// The value of a float or an integer; none for any other type.
  std::optional<double> number() const;
};

struct TomlEntry {
  std::string key;
  TomlNode node;
};

/// Parses a whole TOML document. Skips a byte order mark. Messages call the document `source_name`.
/// \error kInvalidArgument  the text is not TOML, or a value has more than 1,000 dots and brackets outside of
///                          strings, so it may nest too deep; the message names the line
Result<TomlTable> parse_toml(std::string_view text, std::string_view source_name);

/// The text as a TOML string in double quotes, with escapes.
std::string quoted_toml(std::string_view text);
/// The texts as a TOML array: ["a text", "another"].
std::string quoted_toml(const std::vector<std::string>& texts);

/// The words that a file may use for a key, each with its meaning.
template <typename Value, std::size_t kCount>
using TomlWords = std::array<std::pair<std::string_view, Value>, kCount>;

/// Reads the keys of a table into variables. The caller asks for every key that it knows; `finish` then
/// refuses the others. A missing key leaves the variable unchanged. Every error is kInvalidArgument and names
/// the source, the line, the table, the key, and what is allowed. Not thread-safe.
class TomlKeys {
 public:
  /// Borrows the table and `source_name`, which must outlive this object. `name` is the table's name in
  /// messages, as in "[models.imdb]", or empty.
  TomlKeys(const TomlTable& table, std::string name, std::string_view source_name)
      : table_(table), name_(std::move(name)), source_name_(source_name) {}

  /// Borrows a key's node; null if the key is missing. Counts as asking for the key.
  const TomlNode* find(std::string_view key);
  /// An error about the key's node. `what` follows the key in the message: "must be a text".
  Error error(const TomlNode& node, std::string_view key, std::string_view what) const;

  /// Reads a string that must not be empty.
  Status text(std::string_view key, std::string& value);
  /// Reads a string that may be empty.
  Status text(std::string_view key, std::optional<std::string>& value);
  Status flag(std::string_view key, bool& value);
  template <typename Integer>
  Status integer(std::string_view key, std::int64_t least, std::int64_t most, Integer& value) {
    const TomlNode* const node = find(key);
    if (node == nullptr) return {};
    const auto* const found = node->get<std::int64_t>();
    if (found == nullptr || *found < least || *found > most)
      return error(*node, key, concat("must be a whole number from ", least, " to ", most));
    value = static_cast<Integer>(*found);
    return {};
  }
  /// Reads a list of strings: at least one, all different.
  Status texts(std::string_view key, std::vector<std::string>& values);
  /// Reads `kCount` whole numbers from `least` to `most`. `what` names them: "[height, width]".
  template <std::size_t kCount>
  Status integers(std::string_view key, std::string_view what, std::int64_t least, std::int64_t most,
                  std::optional<std::array<std::int64_t, kCount>>& values) {
    const TomlNode* const node = find(key);
    if (node == nullptr) return {};
    const auto* const array = node->get<TomlArray>();
    const Error wrong = error(*node, key, concat("must be ", what, ", from ", least, " to ", most));
    if (array == nullptr || array->size() != kCount) return wrong;
    std::array<std::int64_t, kCount> found{};
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto* const value = (*array)[i].get<std::int64_t>();
      if (value == nullptr || *value < least || *value > most) return wrong;
      found[i] = *value;
    }
    values = found;
    return {};
  }
  /// Reads one of the words.
  template <typename Value, std::size_t kCount>
  Status word(std::string_view key, const TomlWords<Value, kCount>& words, Value& value) {
    const TomlNode* const node = find(key);
    if (node == nullptr) return {};
    const auto* const text = node->get<std::string>();
    std::vector<std::string> choices;
    for (const auto& [choice, meaning] : words) {
      if (text != nullptr && *text == choice) {
        value = meaning;
        return {};
      }
      choices.emplace_back(choice);
    }
    return error(*node, key,
                 text != nullptr ? concat("is \"", *text, "\"", or_nearest(*text, choices))
                                 : concat("must be one of ", join(choices, ", ")));
  }

  /// \error kInvalidArgument  the table has a key that the caller did not ask for
  Status finish() const;

  /// The end of a message about an unknown word: "; did you mean …?", or "; there are …" if no name is near.
  static std::string or_nearest(std::string_view word, const std::vector<std::string>& names);

 private:
  const TomlTable& table_;
  const std::string name_;
  const std::string_view source_name_;
  std::vector<std::string> known_;
};

}  // namespace headrace
