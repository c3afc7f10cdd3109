#include "headrace/cli/servers/serve/example_request.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/serve/protocol/json_tensor.h"

namespace headrace {
namespace {

constexpr std::uint64_t kShownElements = 32;

Json raw_row(const ServedSignature& signature) {
  const auto value = [](const ServedColumn& column) {
    return column.is_image ? Json{{"b64", "…"}} : Json("…");
  };
  if (signature.columns.size() == 1) return value(signature.columns.front());
  Json out = Json::object();
  for (const ServedColumn& column : signature.columns) out[column.name] = value(column);
  return out;
}

// Zeros or empty texts of these sizes; open sizes are 1.
Json zeros(DataType type, std::span<const std::int64_t> sizes) {
  if (sizes.empty())
    return type == DataType::kBytes ? Json("") : type == DataType::kBool ? Json(false) : Json(0);
  Json out = Json::array();
  for (std::int64_t i = 0; i < std::max<std::int64_t>(sizes.front(), sizes.front() < 0 ? 1 : 0); ++i)
    out.push_back(zeros(type, sizes.subspan(1)));
  return out;
}

// Quotes a text within '…' of a shell, because somebody else's model chose the names.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char character : text) out += character == '\'' ? "'\\''" : std::string(1, character);
  return out;
}

}  // namespace

std::optional<Json> example_inputs(const ServedSignature& signature, std::uint64_t elements_max) {
  Json out = Json::object();
  for (const ServedTensor& input : signature.inputs) {
    if (!can_be_json(input.type)) return std::nullopt;
    std::uint64_t elements = 1;
    for (const std::int64_t size : input.shape.sizes()) {
      const std::uint64_t factor = size < 0 ? 1 : static_cast<std::uint64_t>(size);
      if (factor > elements_max) return std::nullopt;
      elements *= factor;
      if (elements > elements_max) return std::nullopt;
    }
    out[input.name] = zeros(input.type, input.shape.sizes());
  }
  return out;
}

std::string example_request(std::string_view base, std::string_view model, const ServedModel& served) {
  const ServedSignature* signature = served.find(kDefaultSignature);
  if (signature == nullptr) signature = &served.signatures.front();
  const std::string url = concat(base, "/v1/models/", model);
  Json body;
  if (signature->takes_raw_rows()) {
    body = {{"instances", Json::array({raw_row(*signature)})}};
  } else if (auto inputs = example_inputs(*signature, kShownElements)) {
    body = {{"inputs", *std::move(inputs)}};
  } else {
    return concat("curl ", url, "/metadata");
  }
  if (signature->name != kDefaultSignature) body["signature_name"] = signature->name;
  return concat("curl -d '", quoted(body.dump()), "' ", url, ":predict");
}

}  // namespace headrace
