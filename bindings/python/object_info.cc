#include "bindings/python/object_info.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace headrace::python {

namespace nb = nanobind;

namespace {

// A file may have a name that is not UTF-8. It is shown as Python shows such names.
nb::object text_of(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

}  // namespace

InfoTuple tuple_of(const ObjectInfo& object, std::size_t root_bytes) {
  std::optional<double> modified;
  if (object.modified) modified = std::chrono::duration<double>(object.modified->time_since_epoch()).count();
  const std::string_view key = std::string_view(object.key).substr(std::min(root_bytes, object.key.size()));
  return {text_of(key), object.size_bytes, object.version.token, modified};
}

std::optional<Version> version_of(const std::optional<std::string>& token) {
  if (!token) return std::nullopt;
  return Version{*token};
}

}  // namespace headrace::python
