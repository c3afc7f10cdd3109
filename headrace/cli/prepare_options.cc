#include "headrace/cli/prepare_options.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/dry_run.h"
#include "headrace/cli/own_package.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/schema/split_name.h"
#include "headrace/prepare/source/input_names.h"
#include "headrace/prepare/write/foreign_shards.h"
#include "headrace/track/redact.h"

namespace headrace {
namespace {

Error wrong(std::string_view option, std::string_view what) {
  return {Code::kInvalidArgument, concat("--", option, " ", what)};
}

}  // namespace

Status add_prepare_input(RunRecorder& recorder, const InputPlace& input) {
  if (input.location) return recorder.add_input("input", *input.location);
  return recorder.add_input(
      {.url = redact_secrets(input.url.text()), .kind = std::string(input.kind->name()), .name = "input"});
}

Result<RejectLimit> parse_reject_limit(std::string_view text) {
  if (const auto rows = parse_number<std::uint64_t>(text)) return RejectLimit{.rows = *rows};
  const bool is_share = text.ends_with('%');
  const auto percent = is_share ? parse_number<double>(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!percent || !(*percent >= 0 && *percent <= 100))
    return wrong("max-rejects", concat("must be a number of rows, or a share from 0% to 100%; it is ", text));
  return RejectLimit{.share = *percent / 100};
}

namespace {

using SplitShares = std::vector<std::pair<std::string, double>>;

Result<SplitShares> parse_splits(std::string_view text) {
  constexpr double kTolerance = 1e-9;
  SplitShares splits;
  double sum = 0;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto share =
        equals == part.npos ? std::nullopt : parse_number<double>(trim(part.substr(equals + 1)));
    if (!share || !(*share > 0 && *share <= 1) || equals == 0)
      return wrong("split", concat("must look like train=0.8,validation=0.1,test=0.1, not \"", part, "\""));
    splits.emplace_back(trim(part.substr(0, equals)), *share);
    if (!is_usable_split_name(splits.back().first) || to_lower(splits.back().first) == "discard")
      return wrong("split", concat("cannot have a split of the name \"", splits.back().first, "\""));
    sum += *share;
  }
  if (sum < 1 - kTolerance || sum > 1 + kTolerance)
    return wrong("split", concat("has shares that sum to ", sum, ", not 1"));
  std::sort(splits.begin(), splits.end());
  return splits;
}

Status check_resize(std::string_view text) {
  if (text.empty() || parse_image_size(text)) return {};
  return wrong("resize", concat("must be height x width in pixels, such as 150x150, not ", text));
}

ImageOutput image_output(const std::string& name) {
  if (name == "png") return ImageOutput::kPng;
  return name == "raw" ? ImageOutput::kRaw : ImageOutput::kJpeg;
}

Result<std::vector<std::string>> parse_missing(const OptionValues& values) {
  std::vector<std::string> texts;
  if (!values.has("missing")) return texts;
  for (const std::string& part : split(values.text("missing"), ',')) {
    const std::string_view text = trim(part);
    if (text.empty())
      return wrong("missing",
                   "must be texts separated by commas, such as NA,-; an empty cell is always missing");
    if (std::ranges::find(texts, text) == texts.end()) texts.emplace_back(text);
  }
  return texts;
}

// A schema decides what these options decide for a schema that is inferred or comes with a layout.
Status check_schema_options(const OptionValues& values) {
  if (!values.has("schema")) return {};
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
      {"encoding", "encoding"},
      {"missing", "missing"},
      {"decimal", "decimal"},
      {"encoder", "encoder of a vector"},
      {"resize", "resize of an image"},
      {"image-format", "encode of an image"},
      {"trust-images", "verify of an image"}};
  for (const auto& [option, key] : kOptions) {
    if (values.given(option))
      return wrong(option, concat("does not go with --schema, whose key ", key, " decides"));
  }
  if (!values.flag("no-text")) return {};
  return wrong("no-text", "does not go with --schema, which names every feature");
}

Status check_map_options(const OptionValues& values) {
  if (!values.has("map")) {
    if (!values.given("map-version") && !values.given("map-timeout")) return {};
    return wrong(values.given("map-version") ? "map-version" : "map-timeout", "needs --map");
  }
  const bool is_of_layout = values.given("encoder") || values.flag("no-text");
  if (!is_of_layout) return {};
  return wrong(values.given("encoder") ? "encoder" : "no-text",
               "is for a folder's own schema, which does not go with --map; name a --schema");
}

Continuation continuation_of(const OptionValues& values) {
  if (values.flag("append")) return Continuation::kAppend;
  return values.flag("retry-failed") ? Continuation::kRetryFailed : Continuation::kNone;
}

// Options that do not decide what the records are.
constexpr std::string_view kOptionsOfRun[] = {"layout",    "print-schema",   "workers", "map-timeout",
                                              "append",    "retry-failed",   "dry-run", "prices",
                                              "overwrite", "encoder-weights"};

// A plan that continues a dataset repeats the options of the previous plan.
Status check_continuation(const OptionValues& values) {
  std::vector<std::string_view> chosen;
  for (const std::string_view name : {"append", "retry-failed", "overwrite"}) {
    if (values.flag(name)) chosen.push_back(name);
  }
  if (chosen.size() > 1) return wrong(chosen[0], concat("and --", chosen[1], " exclude each other"));
  if (chosen.empty() || chosen[0] == "overwrite") return {};
  for (const Option& option : kPrepareOptions) {
    const bool is_of_plan = std::ranges::find(kOptionsOfRun, option.name) == std::end(kOptionsOfRun);
    if (is_of_plan && values.given(option.name))
      return wrong(option.name, concat("is not for --", chosen[0], ", which repeats the earlier settings"));
  }
  return {};
}

}  // namespace

Status check_prepare_options(const OptionValues& values) {
  if (values.has("split")) HEADRACE_CHECK(parse_splits(values.text("split")));
  HEADRACE_CHECK(delimiter_from(values));
  if (values.text("layout") != "auto") HEADRACE_CHECK(parse_input_format(values.text("layout")));
  if (values.has("resize")) HEADRACE_CHECK(check_resize(values.text("resize")));
  if (values.given("image-format") && !values.has("resize"))
    return wrong("image-format", "needs --resize; without it, images are stored as they are");
  if (values.has("prices")) HEADRACE_CHECK(parse_prices(values.text("prices")));
  HEADRACE_CHECK(parse_missing(values));
  HEADRACE_CHECK(check_continuation(values));
  HEADRACE_CHECK(check_schema_options(values));
  return continuation_of(values) == Continuation::kNone ? check_map_options(values) : Status{};
}

PlanRequest plan_request_from(const OptionValues& values) {
  // check_prepare_options has checked what is parsed here.
  PlanRequest request{.continuation = continuation_of(values),
                      .schema_url = values.has("schema") ? values.text("schema") : "",
                      .layout = {.encoder = values.text("encoder"), .keeps_text = !values.flag("no-text")},
                      .cells = {.encoding = values.text("encoding"),
                                .missing = parse_missing(values).value_or(std::vector<std::string>{}),
                                .decimal = values.text("decimal").front()},
                      .in_tfrecorder_layout = values.text("compat") == "tfrecorder"};
  // An image is decoded to verify it, unless it is decoded for another reason.
  request.layout.image.verify =
      !values.flag("trust-images") && !values.has("resize") && !request.in_tfrecorder_layout;
  if (const auto format = parse_input_format(values.text("layout"))) request.format = *format;
  if (values.has("resize")) {
    request.layout.image = {.resize = parse_image_size(values.text("resize")),
                            .output = image_output(values.text("image-format"))};
  }
  if (values.has("split")) request.splits = parse_splits(values.text("split")).value_or(SplitShares{});
  PreparePlan& plan = request.options;
  plan.slice_bytes = values.size_bytes("slice-size");
  plan.cell_limit_bytes = values.size_bytes("max-cell");
  plan.delimiter = delimiter_from(values).value_or('\0');
  if (values.has("map")) {
    plan.map = values.text("map");
    plan.map_version = values.text("map-version");
  }
  plan.seed = static_cast<std::uint64_t>(values.integer("seed"));
  plan.shard_records = static_cast<std::uint64_t>(values.integer("shard-records"));
  plan.shard_bytes = values.size_bytes("shard-size");
  plan.compression = values.text("compression");
  plan.compression_level = static_cast<int>(values.integer("compression-level"));
  const std::string& duplicates = values.text("duplicates");
  plan.duplicates = duplicates == "keep"     ? Duplicates::kKeep
                    : duplicates == "report" ? Duplicates::kReport
                                             : Duplicates::kDrop;
  plan.sample = values.number("sample");
  plan.reports_all = values.text("report") == "all";
  plan.splits_as_they_are = values.flag("splits-as-they-are");
  return request;
}

EncoderSources encoder_sources_from(const CommandContext& context, const OptionValues& values) {
  return encoder_sources(context, values.has("encoder-weights") ? values.text("encoder-weights") : "");
}

PlanningContext planning_context(const CommandContext& context, const OptionValues& values) {
  return {.stores = context.stores,
          .environment = context.environment,
          .encoders = encoder_sources_from(context, values),
          .python_package = own_python_package,
          .map_row_timeout = std::chrono::seconds(values.integer("map-timeout")),
          .stop = context.stop};
}

namespace {

// Refuses options that have no use for the given input.
Status check_uses(const OptionValues& values, const PreparePlan& plan) {
  const InputFormat format = plan.input.format;
  const std::string_view name = input_name(plan.input);
  const std::optional<Layout> layout = layout_of(format);
  const bool has_texts = layout && !holds_images(*layout);
  const bool has_images = std::ranges::any_of(plan.schema.features, [](const FeatureDefinition& feature) {
    return feature.type == SchemaType::kImage;
  });
  for (const std::string_view option : {"encoder", "no-text"}) {
    if (!values.given(option) || has_texts) continue;
    return wrong(option, concat("is for folders of texts, and the input is ", name,
                                ": to encode a column, give a --schema whose feature has type = \"vector\""));
  }
  for (const std::string_view option : {"resize", "image-format", "trust-images"}) {
    if (!values.given(option) || has_images) continue;
    return wrong(option, concat("has no use: no column of the input, which is ", name,
                                ", was recognised as images; a --schema names them with type = \"image\""));
  }
  for (const std::string_view option : {"missing", "decimal"}) {
    if (!values.given(option) || !layout_of(format)) continue;
    return wrong(option, concat("is for tables and other rows of columns, and the input is ", name));
  }
  return {};
}

Status warn_of_foreign_shards(CommandContext& context, const Location& output) {
  HEADRACE_TRY(const std::vector<std::string> names, find_foreign_shards(output, context.call()));
  if (names.empty()) return {};
  context.console.warn(concat(output.describe(), " holds ", names.size(),
                              " objects that are named like shards and are not part of the dataset, first ",
                              printable_line(names.front(), 100),
                              ". Headrace passes over them, but a pattern such as *.tfrecord* does not: move "
                              "them elsewhere, or give another TO"));
  return {};
}

}  // namespace

Result<PlannedPrepare> plan_from(CommandContext& context, const InputPlace& input, const Location& output,
                                 const OptionValues& values) {
  HEADRACE_TRY(PlannedPrepare planned,
               plan_prepare(plan_request_from(values), input, output, planning_context(context, values)));
  HEADRACE_CHECK(check_uses(values, planned.plan));
  if (planned.has_inferred_schema && !values.flag("print-schema"))
    context.console.note(concat("the schema inferred from some rows (--schema names another):\n\n",
                                schema_to_toml(planned.plan.schema)));
  for (const std::string& remark : planned.remarks) context.console.warn(remark);
  const bool writes = !values.flag("print-schema") && !values.flag("dry-run");
  if (writes) HEADRACE_CHECK(warn_of_foreign_shards(context, output));
  if (!planned.replaced_splits.empty()) {
    context.console.warn(concat("--split decides the splits, not the ", planned.replaced_splits, " of ",
                                input.describe(), "; leave --split out to keep what the input says"));
  }
  return planned;
}

RejectLimit max_rejects_from(const OptionValues& values) {
  return parse_reject_limit(values.text("max-rejects")).value_or(RejectLimit{});
}

LeaseOptions lease_from(const OptionValues& values) {
  const std::chrono::milliseconds lease = std::chrono::seconds(values.integer("lease"));
  return {.renewed_each = lease / 6, .stale_after = lease};
}

PrepareProgress progress_on(Console& console) {
  return [&console](const PrepareState& state) {
    const std::string aside = state.rejected == 0 ? "" : concat(state.rejected, " rejected");
    console.progress(state.stage, state.done, state.total, state.unit, aside);
  };
}

}  // namespace headrace
