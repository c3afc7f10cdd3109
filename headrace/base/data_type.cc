#include "headrace/base/data_type.h"

namespace headrace {
namespace {

struct TypeOfValues {
  std::string_view name;
  std::size_t size_bytes;
};

// In the order of DataType.
constexpr TypeOfValues kTypes[kDataTypes] = {
    {"float32", 4},
    {"float64", 8},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"bool", 1},
    {"bytes", 0},
    {"float16", 2},
    {"bfloat16", 2},
    {"int8", 1},
    {"int16", 2},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"complex64", 8},
    {"complex128", 16},
    {"qint8", 1},
    {"qint16", 2},
    {"qint32", 4},
    {"quint8", 1},
    {"quint16", 2},
    {"float8_e5m2", 1},
    {"float8_e4m3fn", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e4m3b11fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"int2", 1},
    {"int4", 1},
    {"uint2", 1},
    {"uint4", 1},
};
static_assert(!kTypes[kDataTypes - 1].name.empty());

}  // namespace

std::string_view data_type_name(DataType type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::size_t data_type_size_bytes(DataType type) { return kTypes[static_cast<std::size_t>(type)].size_bytes; }

}  // namespace headrace
