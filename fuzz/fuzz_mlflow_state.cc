#include <cstdlib>

#include "headrace/base/json.h"
#include "headrace/mlflow/state_text.h"

namespace headrace::mlflow {
namespace {

constexpr std::string_view kKind = "headrace.mlflow.run";

// A state that is read and written is read alike.
void check_state(const Json& state) {
  const std::string text = serialize_state(state, kKind);
  if (text.size() > kStateBytesMax) return;
  const auto again = parse_state(text, kKind, "fuzz");
  if (!again || serialize_state(*again, kKind) != text) std::abort();
}

}  // namespace
}  // namespace headrace::mlflow

// A state, or an object to make one of.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto state = mlflow::parse_state(text, mlflow::kKind, "fuzz")) mlflow::check_state(*state);
  auto object = parse_json(text);
  if (!object || !object->is_object()) return 0;
  for (const char* own : {"format", "version", "zz_sha256"}) object->members().erase(own);
  mlflow::check_state(*object);
  return 0;
}
