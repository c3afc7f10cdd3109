#pragma once

/// \file A JSON value, and JSON text read and written.
///
///   const Json out = {{"url", url}, {"records", 17}, {"splits", Json::object()}};
///   std::string text = out.dump();                            // {"records":17,"splits":{},"url":"…"}
///   return read_json(text, "the receipt is damaged", [](const Json& document) -> Result<Receipt> {
///     return Receipt{.records = document.get<std::uint64_t>("records")};
///   });  // or kDataLoss: "the receipt is damaged: records is -1, which is not a whole number in its range"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// The deepest nesting that a text may have. There is a limit because values are copied, compared and written
/// by recursion. No format of Headrace comes near it.
inline constexpr int kJsonDepthLimit = 64;

/// Thrown if a member is missing or a value has another type than the caller asked for. Code that reads a
/// Json runs inside `read_json` or `read_document`, which turn the exception into an Error. So a document of
/// twenty members is read without twenty checks.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A JSON value: null, a boolean, an integer from -2^63 to 2^64 - 1, a double, a text, an array or an object.
/// An object keeps, visits and writes its members in the order of their names' bytes, so the written text is
/// canonical. Copies are deep. Several threads may call const functions at the same time.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;
  struct Member;

  Json() noexcept = default;                    // null
  Json(std::nullptr_t) noexcept {}              // NOLINT: these are implicit on purpose
  Json(std::initializer_list<Member> members);  // an object; an array is Json::array({…})
  Json(std::string text);                       // NOLINT
  Json(Array values);                           // NOLINT
  Json(Object members);                         // NOLINT
  template <typename T>
  requires std::is_arithmetic_v<T> Json(T value) {  // NOLINT
    if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
      value_ = std::conditional_t<std::is_same_v<T, bool>, bool, double>(value);
    } else if (std::in_range<std::uint64_t>(value)) {
      value_ = static_cast<std::uint64_t>(value);
    } else {
      value_ = static_cast<std::int64_t>(value);
    }
  }
  template <typename T>
  requires std::is_convertible_v<const T&, std::string_view> Json(const T& text)  // NOLINT
      : Json(std::string(std::string_view(text))) {}
  template <typename T>
  Json(const std::vector<T>& values) : Json(Array(values.begin(), values.end())) {}  // NOLINT
  template <typename T, typename Less>
  Json(const std::map<std::string, T, Less>& members)  // NOLINT
      : Json(Object(members.begin(), members.end())) {}

  Json(const Json& other);
  Json(Json&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array(std::initializer_list<Json> values = {}) { return Array(values); }
  static Json object() { return Object(); }

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_integer() const { return is_unsigned() || std::holds_alternative<std::int64_t>(value_); }
  /// An integer that is not negative.
  bool is_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
  bool is_string() const { return std::holds_alternative<Box<std::string>>(value_); }
  bool is_array() const { return std::holds_alternative<Box<Array>>(value_); }
  bool is_object() const { return std::holds_alternative<Box<Object>>(value_); }

  /// Borrow the text, the elements or the members.
  /// \throws JsonError  the value has another type
  const std::string& text() const&;
  const Array& values() const&;
  const Object& members() const&;
  Array& values() &;
  Object& members() &;
  std::string text() && { return std::move(const_cast<std::string&>(std::as_const(*this).text())); }
  Array values() && { return std::move(values()); }
  Object members() && { return std::move(members()); }

  /// Converts the value to T: bool, an integer type (never rounded, never wrapped), double or float (from any
  /// number), std::string, or a std::vector or std::map by name of these. Messages call the value `what`.
  /// \throws JsonError  the value has another type, or is out of T's range
  template <typename T>
  T as(std::string_view what = "a value") const;

  /// Borrow one member of an object, or one element of an array.
  /// \throws JsonError  this is not an object, or lacks the member; not an array, or it is shorter
  const Json& at(std::string_view name) const;
  const Json& at(std::size_t index) const;
  template <typename T>
  T get(std::string_view name) const {
    return at(name).template as<T>(name);
  }
  /// The same, with the type of `out`.
  template <typename T>
  void get_to(std::string_view name, T& out) const {
    out = get<T>(name);
  }
  /// Returns `otherwise` if this is not an object, or is an object without the member.
  /// \throws JsonError  the member has another type
  template <typename T>
  T get_or(std::string_view name, T otherwise) const {
    return contains(name) ? get<T>(name) : std::move(otherwise);
  }
  std::string get_or(std::string_view name, const char* otherwise) const {
    return get_or<std::string>(name, otherwise);
  }

  /// Borrows a member. Never fails: returns null if there is no such member, or this is not an object.
  const Json& operator[](std::string_view name) const;
  bool contains(std::string_view name) const;

  /// Borrows a member, which is added as null if it is missing. A null value becomes an object first.
  /// \throws JsonError  this is neither null nor an object
  Json& operator[](std::string_view name);
  /// Appends an element. A null value becomes an array first.
  /// \throws JsonError  this is neither null nor an array
  void push_back(Json value);
  void operator[](std::size_t index) const = delete;  // at()

  /// Numbers are compared by value: 1 equals 1.0.
  friend bool operator==(const Json& a, const Json& b);

  /// The value as JSON text, without white space. Doubles are written in a short form that reads back as the
  /// same number; NaN and infinities are written as null; ill-formed UTF-8 is written as U+FFFD.
  std::string dump() const;

 private:
  // Keeps a Json as small as a pointer and a tag.
  template <typename T>
  class Box {
   public:
    explicit Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Box(const Box& other) : Box(*other) {}
    Box(Box&&) noexcept = default;
    Box& operator=(const Box& other) { return *this = Box(other); }
    Box& operator=(Box&&) noexcept = default;
    ~Box() = default;
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }

   private:
    std::unique_ptr<T> value_;
  };

  template <typename T>
  const T& boxed(std::string_view wanted) const;
  [[noreturn]] void refuse(std::string_view what, std::string_view wanted) const;
  void append_to(std::string& out) const;
  bool as_bool(std::string_view what) const;
  double as_double(std::string_view what) const;

  std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, double, Box<std::string>, Box<Array>,
               Box<Object>>
      value_ = nullptr;
};

struct Json::Member {
  Member(std::string_view member, Json member_value) : name(member), value(std::move(member_value)) {}

  std::string name;
  Json value;
};

/// Parses a whole text in UTF-8. If a member occurs twice, the last one is kept. Integers beyond 64 bits
/// become doubles. Time and memory: linear in the text.
/// \error kDataLoss  the text is not JSON (the message says where and why), nests deeper than
///                   kJsonDepthLimit, or has a number beyond double's range
Result<Json> parse_json(std::string_view text);

/// Calls `read(document)` and returns the Result or Status that it returns. Turns a JsonError that `read`
/// throws into an Error.
/// \error kDataLoss  `read` threw a JsonError; the message is `complaint`, ": " and the reason
template <typename Read>
auto read_document(const Json& document, std::string_view complaint, const Read& read)
    -> std::invoke_result_t<Read, const Json&> {
  try {
    return read(document);
  } catch (const JsonError& error) {
    return Error{Code::kDataLoss, std::string(complaint) + ": " + error.what()};
  }
}

/// Parses `text` and passes the document to `read_document`.
/// \error kDataLoss  as for `parse_json` and `read_document`; the message begins with `complaint`
template <typename Read>
auto read_json(std::string_view text, std::string_view complaint, const Read& read)
    -> std::invoke_result_t<Read, const Json&> {
  Result<Json> document = parse_json(text);
  if (!document) return std::move(document).error().in(complaint);
  return read_document(*document, complaint, read);
}

/// The reason why `parse_json` refuses a text.
struct JsonFault {
  enum class Kind { kNoJson, kTooDeep, kNumberTooLarge };
  Kind kind = Kind::kNoJson;
  std::string message;  // one line
};

/// Checks whether `parse_json` accepts the text, without building a value. None: it does. Time: linear in the
/// text; memory: that of the longest string.
std::optional<JsonFault> find_json_fault(std::string_view text);

template <typename T>
T Json::as(std::string_view what) const {
  if constexpr (std::is_same_v<T, Json>) {
    return *this;
  } else if constexpr (std::is_same_v<T, bool>) {
    return as_bool(what);
  } else if constexpr (std::is_integral_v<T>) {
    if (const auto* value = std::get_if<std::uint64_t>(&value_); value && std::in_range<T>(*value))
      return static_cast<T>(*value);
    if (const auto* value = std::get_if<std::int64_t>(&value_); value && std::in_range<T>(*value))
      return static_cast<T>(*value);
    refuse(what, "a whole number in its range");
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(as_double(what));
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!is_string()) refuse(what, "a text");
    return text();
  } else if constexpr (requires { typename T::mapped_type; }) {
    if (!is_object()) refuse(what, "an object");
    T out;
    for (const auto& [name, value] : members())
      out.emplace(name, value.template as<typename T::mapped_type>(std::string(what) + " of " + name));
    return out;
  } else {
    if (!is_array()) refuse(what, "an array");
    T out;
    for (const Json& value : values()) out.push_back(value.template as<typename T::value_type>(what));
    return out;
  }
}

}  // namespace headrace
