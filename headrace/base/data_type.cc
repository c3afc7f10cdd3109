#include "headrace/base/data_type.h"

namespace headrace {

std::string_view data_type_name(DataType type) {
  constexpr std::string_view kNames[] = {"float32", "float64", "int32", "int64", "uint8", "bool", "bytes"};
  return kNames[static_cast<std::size_t>(type)];
}

std::size_t data_type_size_bytes(DataType type) {
  constexpr std::size_t kSizes[] = {4, 8, 4, 8, 1, 1, 0};
  return kSizes[static_cast<std::size_t>(type)];
}

}  // namespace headrace
