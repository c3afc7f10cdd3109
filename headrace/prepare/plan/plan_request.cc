#include "headrace/prepare/plan/plan_request.h"

#include "headrace/base/text.h"
#include "headrace/prepare/plan/infer_schema.h"
#include "headrace/prepare/plan/schema_file.h"
#include "headrace/prepare/schema/text_encoding.h"
#include "headrace/prepare/schema/tfrecorder_layout.h"
#include "headrace/prepare/source/input_names.h"

namespace headrace {
namespace {

// The most objects of a folder in a slice with a map. The number is small, since one process maps a whole
// slice.
constexpr std::uint64_t kMappedObjects = 1000;
// How many files of a folder are read to find out whether it has splits. Each of them costs a request.
constexpr std::uint64_t kFilesLookedAt = 20;

Status find_schema(const PlanRequest& request, const PlanningContext& context, PlannedPrepare& planned) {
  Schema& schema = planned.plan.schema;
  std::optional<Schema> of_layout;
  if (planned.map == nullptr) of_layout = layout_schema(planned.plan.input.format, request.layout);
  if (!request.schema_url.empty()) {
    HEADRACE_TRY(schema, schema_of_file(context.stores, request.schema_url, context.stop));
  } else if (of_layout) {
    schema = *std::move(of_layout);
    schema.cells = request.cells;
  } else {
    const InferenceOptions options{planned.plan.cell_limit_bytes, planned.map.get(), request.cells};
    HEADRACE_TRY(InferredSchema inferred, infer_schema(planned.plan.input, context.stores, options));
    schema = std::move(inferred.schema);
    planned.remarks = std::move(inferred.remarks);
    for (FeatureDefinition& feature : schema.features) {
      if (feature.type == SchemaType::kImage) feature.image = request.layout.image;
    }
    planned.has_inferred_schema = true;
  }
  if (!request.in_tfrecorder_layout) return {};
  HEADRACE_TRY(schema, in_tfrecorder_layout(std::move(schema)));
  return {};
}

// The function returns UTF-8, whatever the encoding of the input.
Status check_encoding(const Schema& schema) {
  if (text_encoding_from_name(schema.cells.encoding) == TextEncoding::kUtf8) return {};
  return Error{
      Code::kInvalidArgument,
      concat("a schema with the encoding ", schema.cells.encoding,
             " does not go with --map: the function gets text that is not UTF-8 as bytes, and decodes it "
             "itself")};
}

// Whether one of the first files of a layout lies in a split's folder.
Result<bool> has_split_folders(const PreparePlan& plan, StoreRegistry& stores) {
  const Input& input = plan.input;
  if (input.slices.empty()) return false;
  HEADRACE_TRY(const std::unique_ptr<RowSource> source,
               open_slice(input, input.slices.front(), stores, {.cell_limit_bytes = plan.cell_limit_bytes}));
  for (std::uint64_t seen = 0; seen < kFilesLookedAt; ++seen) {
    HEADRACE_TRY(const std::optional<SourceRow> row, source->next());
    if (!row) break;
    for (const NamedCell& cell : row->cells) {
      if (cell.name == "split" && cell.cell.kind != CellKind::kMissing) return true;
    }
  }
  return false;
}

// Gives the schema the shares of the request, and finds out which splits of the input they replace.
Status replace_splits(const PlanRequest& request, const PlanningContext& context, PlannedPrepare& planned) {
  PreparePlan& plan = planned.plan;
  plan.schema.splits = request.splits;
  const std::optional<std::string> column = std::exchange(plan.schema.split, std::nullopt);
  if (!column) return {};
  if (!layout_of(plan.input.format)) {
    planned.replaced_splits = concat("column ", *column);
    return {};
  }
  HEADRACE_TRY(const bool has_folders, has_split_folders(plan, context.stores));
  if (has_folders) planned.replaced_splits = "folders of splits";
  return {};
}

Result<PlannedPrepare> plan_anew(const PlanRequest& request, const InputPlace& input,
                                 const PlanningContext& context) {
  PlannedPrepare planned{.plan = request.options};
  PreparePlan& plan = planned.plan;
  HEADRACE_TRY(plan.input, look_at_input(input, request.format, plan, nullptr, context.stop));
  HEADRACE_TRY(planned.map, make_map_pool(plan, context));
  HEADRACE_CHECK(find_schema(request, context, planned));
  if (planned.map != nullptr) HEADRACE_CHECK(check_encoding(plan.schema));
  HEADRACE_CHECK(read_vocabularies(context.stores, plan.schema, context.stop));
  if (!request.splits.empty()) HEADRACE_CHECK(replace_splits(request, context, planned));
  return planned;
}

Result<PlannedPrepare> plan_to_continue(const PlanRequest& request, const InputPlace& input,
                                        const Location& output, const PlanningContext& context) {
  PlannedPrepare planned;
  PreparePlan& plan = planned.plan;
  HEADRACE_TRY(plan, continue_plan(output, request.continuation, context.kinds));
  HEADRACE_TRY(plan.input, look_at_input(input, request.format, plan, nullptr, context.stop));
  HEADRACE_TRY(plan.pasts, leave_what_continues(plan.input, *plan.base, output, plan.continuation));
  HEADRACE_TRY(planned.map, make_map_pool(plan, context));
  return planned;
}

}  // namespace

Result<Input> look_at_input(const InputPlace& place, std::optional<InputFormat> format,
                            const PreparePlan& plan, const KnownInputs* only, const std::stop_token& stop) {
  SliceLimits limits{.size_bytes = plan.slice_bytes};
  if (!plan.map.empty()) limits.objects = kMappedObjects;
  HEADRACE_TRY(Input input, find_input(place, {format, limits, only, stop}));
  input.delimiter = plan.delimiter;
  return input;
}

Result<PlannedPrepare> plan_prepare(const PlanRequest& request, const InputPlace& input,
                                    const Location& output, const PlanningContext& context) {
  const bool continues = request.continuation != Continuation::kNone;
  HEADRACE_TRY(PlannedPrepare planned, continues ? plan_to_continue(request, input, output, context)
                                                 : plan_anew(request, input, context));
  if (planned.map != nullptr) {
    HEADRACE_TRY(std::unique_ptr<FramedChild> process, planned.map->acquire());
    planned.map->give_back(std::move(process));
  }
  HEADRACE_TRY(planned.encoders, make_encoders(planned.plan.schema, context.encoders));
  if (continues) {
    HEADRACE_CHECK(check_encoders(planned.plan, planned.encoders));
    return planned;
  }
  for (const auto& [name, encoder] : planned.encoders)
    planned.plan.encoder_digests[name] = encoder->weights_digest();
  return planned;
}

}  // namespace headrace
