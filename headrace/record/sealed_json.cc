#include "headrace/record/sealed_json.h"

#include "headrace/base/bytes.h"
#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kEnd = "}\n";
constexpr std::string_view kSealBegin = ",\"zz_crc32c\":\"";
constexpr std::string_view kSealEnd = "\"}\n";
constexpr std::size_t kSealSize = kSealBegin.size() + 8 + kSealEnd.size();

}  // namespace

std::string seal_json(std::string_view object) {
  return concat(object.substr(0, object.size() - kEnd.size()), kSealBegin, hex32(crc32c(as_bytes(object))),
                kSealEnd);
}

bool is_sealed_json(std::string_view text) {
  if (text.size() < kSealSize) return false;
  return text == seal_json(concat(text.substr(0, text.size() - kSealSize), kEnd));
}

}  // namespace headrace
