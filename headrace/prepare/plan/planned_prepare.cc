#include "headrace/prepare/plan/planned_prepare.h"

#include "headrace/base/text.h"
#include "headrace/os/python_program.h"

namespace headrace {

Result<TextEncoders> make_encoders(const Schema& schema, const EncoderSources& sources) {
  TextEncoders encoders;
  for (const FeatureDefinition& feature : schema.features) {
    if (feature.type != SchemaType::kVector || encoders.contains(feature.encoder)) continue;
    HEADRACE_TRY(encoders[feature.encoder], make_text_encoder(feature.encoder, sources));
  }
  return encoders;
}

Status check_encoders(const PreparePlan& plan, const TextEncoders& encoders) {
  for (const auto& [name, encoder] : encoders) {
    const auto planned = plan.encoder_digests.find(name);
    if (planned != plan.encoder_digests.end() && planned->second == encoder->weights_digest()) continue;
    return Error{Code::kFailedPrecondition, concat("the plan was made with weights of ", name,
                                                   " that differ from those on this machine")};
  }
  return {};
}

Result<std::unique_ptr<MapPool>> make_map_pool(const PreparePlan& plan, const PlanningContext& context) {
  if (plan.map.empty()) return std::unique_ptr<MapPool>();
  MapProgram program{.function = plan.map,
                     .row_timeout = context.map_row_timeout,
                     .cell_limit_bytes = plan.cell_limit_bytes};
  HEADRACE_TRY(program.interpreter, find_python(context.environment));
  HEADRACE_TRY(program.package_folder, context.python_package());
  return std::make_unique<MapPool>(std::move(program), context.environment, context.stop);
}

}  // namespace headrace
