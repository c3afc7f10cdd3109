#include <cstdlib>
#include <string>

#include "headrace/base/text.h"
#include "headrace/prepare/schema/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto schema = headrace::parse_schema({reinterpret_cast<const char*>(data), size}, "input");
  if (!schema) {
    if (schema.error().message.empty()) std::abort();
    return 0;
  }
  const std::string written = headrace::schema_to_toml(*schema);
  const auto again = headrace::parse_schema(written, "written");
  if (!again || headrace::schema_to_toml(*again) != written) std::abort();
  return 0;
}
