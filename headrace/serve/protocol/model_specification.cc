#include "headrace/serve/protocol/model_specification.h"

#include "headrace/base/text.h"
#include "headrace/serve/protocol/grpc_service.h"

namespace headrace {
namespace {

Error bad_specification(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// Reads the version from an Int64Value.
Result<std::int64_t> read_wrapped_version(BytesView message) {
  std::int64_t version = 0;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::kVarint) version = field.as_int64();
  }
  if (reader.malformed()) return malformed_request();
  if (version < 0)
    return bad_specification(concat("model_spec has the version ", version, ", which is negative"));
  return version;
}

}  // namespace

Status read_model_specification(BytesView message, ModelSpecification& out) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.model.name = field.as_text();
    if (field.number == 3) out.signature_name = field.as_text();
    // Version and label exclude each other: the last one counts.
    if (field.number == 2) {
      HEADRACE_TRY(out.model.version, read_wrapped_version(field.bytes));
      out.model.label.reset();
    }
    if (field.number == 4) {
      out.model.label = field.as_text();
      out.model.version.reset();
    }
  }
  if (reader.malformed()) return malformed_request();
  return {};
}

Status check_model_named(const RequestedModel& model) {
  if (!model.name.empty()) return {};
  return bad_specification("the request has no model_spec with the name of a model");
}

void write_model_specification(WireWriter& writer, std::uint32_t number, std::string_view model,
                               std::int64_t version, std::string_view signature) {
  writer.message(number, [&](WireWriter& specification) {
    specification.text(1, model);
    specification.message(2, [&](WireWriter& wrapper) {
      if (version != 0) wrapper.varint(1, static_cast<std::uint64_t>(version));
    });
    if (!signature.empty()) specification.text(3, signature);
  });
}

}  // namespace headrace
