#pragma once

/// \file Errors are values: `Result<T>` holds a T or an `Error`, `Status` holds success or an `Error`.
///
///   Result<std::uint64_t> count_records(Store& store, std::string_view key) {
///     HEADRACE_TRY(const ObjectInfo object, store.stat(key, {}));     // or return its error
///     if (object.size_bytes == 0) return Error{Code::kDataLoss, store.describe(key) + " is empty"};
///     ...
///   }

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace headrace {

/// gRPC's code numbers. docs/concepts.md, "Errors", says how a caller should treat each code.
enum class Code : std::uint8_t {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// "NOT_FOUND" and so on.
std::string_view code_name(Code code);

/// Why something failed. `message` says what was being done to which URL, record and offset, and what to do
/// about it; it never holds a secret.
struct [[nodiscard]] Error {
  Code code = Code::kUnknown;
  std::string message;

  /// Prefixes the message with what was being done: "reading the manifest: …".
  Error in(std::string_view doing) && {
    message.insert(0, std::string(doing) + ": ");
    return std::move(*this);
  }
  Error in(std::string_view doing) const& { return Error(*this).in(doing); }
};

/// A T or an Error; member names follow std::expected. `*` and `->` on an error, and `error()` on a value,
/// throw std::bad_variant_access.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }
  T value_or(T other) && { return has_value() ? std::get<0>(std::move(state_)) : std::move(other); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error. `error()` of a success is an Error without a message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT: implicit on purpose

  bool has_value() const { return ok_; }
  explicit operator bool() const { return ok_; }
  Error& error() & { return error_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_{};
  bool ok_ = true;
};

#define HEADRACE_CONCAT_INNER(a, b) a##b
#define HEADRACE_CONCAT(a, b) HEADRACE_CONCAT_INNER(a, b)

/// HEADRACE_TRY(declaration, expression): initializes `declaration` with the value of a Result, or returns
/// the Result's error from the calling function.
#define HEADRACE_TRY(declaration, ...) \
  HEADRACE_TRY_INNER(HEADRACE_CONCAT(headrace_result_, __COUNTER__), declaration, __VA_ARGS__)
#define HEADRACE_TRY_INNER(result, declaration, ...) \
  auto result = (__VA_ARGS__);                       \
  if (!result) return std::move(result).error();     \
  declaration = std::move(*result)

/// HEADRACE_CHECK(expression): returns the error of a Status, or of a Result whose value is not needed, from
/// the calling function.
#define HEADRACE_CHECK(...)                                                                                \
  do {                                                                                                     \
    if (auto headrace_status = (__VA_ARGS__); !headrace_status) return std::move(headrace_status).error(); \
  } while (false)

}  // namespace headrace
