#include "headrace/cli/prepare_options.h"

#include <algorithm>
#include <set>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/dry_run.h"
#include "headrace/cli/own_package.h"
#include "headrace/os/python_program.h"
#include "headrace/prepare/plan/infer_schema.h"
#include "headrace/prepare/plan/layout_schema.h"
#include "headrace/prepare/schema/split_name.h"
#include "headrace/prepare/schema/text_encoding.h"
#include "headrace/prepare/schema/tfrecorder_layout.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSchemaLimitBytes = 64 << 20;
// Of a folder, in a slice, with a map: so few, since a slice is mapped by one process.
constexpr std::uint64_t kMappedObjects = 1000;

Error wrong(std::string_view option, std::string_view what) {
  return {Code::kInvalidArgument, concat("--", option, " ", what)};
}

}  // namespace

Result<RejectLimit> parse_reject_limit(std::string_view text) {
  if (const auto rows = parse_number<std::uint64_t>(text)) return RejectLimit{.rows = *rows};
  const bool is_share = text.ends_with('%');
  const auto percent = is_share ? parse_number<double>(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!percent || !(*percent >= 0 && *percent <= 100))
    return wrong("max-rejects", concat("must be a number of rows, or a share from 0% to 100%; it is ", text));
  return RejectLimit{.share = *percent / 100};
}

namespace {

Result<std::vector<std::pair<std::string, double>>> parse_splits(std::string_view text) {
  constexpr double kTolerance = 1e-9;
  std::vector<std::pair<std::string, double>> splits;
  double sum = 0;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto share =
        equals == part.npos ? std::nullopt : parse_number<double>(trim(part.substr(equals + 1)));
    if (!share || !(*share > 0 && *share <= 1) || equals == 0)
      return wrong("split", concat("must be as train=0.8,validation=0.1,test=0.1; there is \"", part, "\""));
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

Result<std::optional<ImageSize>> parse_image_size(std::string_view text) {
  constexpr std::uint32_t kLongestSide = 65'500;
  if (text.empty()) return std::optional<ImageSize>();
  const std::size_t by = std::min(text.find('x'), text.size());
  const std::uint32_t height = parse_number<std::uint32_t>(text.substr(0, by)).value_or(0);
  const std::uint32_t width =
      parse_number<std::uint32_t>(text.substr(std::min(by + 1, text.size()))).value_or(0);
  if (height < 1 || height > kLongestSide || width < 1 || width > kLongestSide)
    return wrong("resize", concat("must be height x width in pixels, as 150x150; it is ", text));
  return std::optional(ImageSize{.width = width, .height = height});
}

ImageOutput image_output(const std::string& name) {
  if (name == "png") return ImageOutput::kPng;
  return name == "raw" ? ImageOutput::kRaw : ImageOutput::kJpeg;
}

Result<Schema> schema_of_file(CommandContext& context, const std::string& url) {
  HEADRACE_TRY(const Location location, context.stores.open(url));
  auto read = read_object(*location.store, location.key, kSchemaLimitBytes, context.call());
  if (!read) return std::move(read).error().in("reading the schema");
  return parse_schema(as_text(read->data), location.describe());
}

// Of a file in any store: a value a line.
Status read_vocabularies(CommandContext& context, Schema& schema) {
  for (FeatureDefinition& feature : schema.features) {
    if (feature.vocabulary_url.empty()) continue;
    HEADRACE_TRY(const Location location, context.stores.open(feature.vocabulary_url));
    auto read = read_object(*location.store, location.key, kSchemaLimitBytes, context.call());
    if (!read) return std::move(read).error().in(concat("reading the vocabulary of ", feature.name));
    std::set<std::string> seen;
    for (const std::string& line : split(as_text(read->data), '\n')) {
      const std::string_view value = trim(line);
      if (value.empty()) continue;
      if (!seen.insert(std::string(value)).second) {
        return Error{Code::kInvalidArgument, concat(location.describe(), " has \"", value, "\" twice")};
      }
      feature.vocabulary.emplace_back(value);
    }
    if (seen.empty()) return Error{Code::kInvalidArgument, concat(location.describe(), " is empty")};
    feature.vocabulary_url.clear();
  }
  return {};
}

Result<Schema> in_asked_layout(Schema schema, const OptionValues& values) {
  if (values.text("compat") == "tfrecorder") return in_tfrecorder_layout(std::move(schema));
  return schema;
}

Result<Schema> find_schema(CommandContext& context, const Input& input, const OptionValues& values,
                           MapPool* map) {
  if (values.has("schema")) {
    HEADRACE_TRY(Schema schema, schema_of_file(context, values.text("schema")));
    return in_asked_layout(std::move(schema), values);
  }
  HEADRACE_TRY(const std::optional<ImageSize> resize,
               parse_image_size(values.has("resize") ? values.text("resize") : ""));
  LayoutSchemaOptions options{.encoder = values.text("encoder"), .keeps_text = !values.flag("no-text")};
  if (resize) options.image = {.resize = resize, .output = image_output(values.text("image-format"))};
  if (map == nullptr) {
    if (std::optional<Schema> schema = layout_schema(input.format, options))
      return in_asked_layout(*std::move(schema), values);
  }
  HEADRACE_TRY(Schema schema, infer_schema(input, context.stores, values.size_bytes("max-cell"), map));
  for (FeatureDefinition& feature : schema.features) {
    if (feature.type == SchemaType::kImage) feature.image = options.image;
  }
  HEADRACE_TRY(schema, in_asked_layout(std::move(schema), values));
  if (!values.flag("print-schema"))
    context.console.note(concat("the schema, as the first rows tell it (--schema names another):\n\n",
                                schema_to_toml(schema)));
  return schema;
}

// What the function gives is UTF-8, whatever the input is.
Status check_encoding(const Schema& schema) {
  if (text_encoding_from_name(schema.encoding) == TextEncoding::kUtf8) return {};
  return Error{
      Code::kInvalidArgument,
      concat("a schema with the encoding ", schema.encoding,
             " does not go with --map, whose function gets text that is not UTF-8 as bytes and decodes it")};
}

Status check_map_options(const OptionValues& values) {
  if (!values.has("map")) {
    if (!values.given("map-version") && !values.given("map-timeout")) return {};
    return wrong(values.given("map-version") ? "map-version" : "map-timeout", "goes with --map");
  }
  const bool is_of_layout = values.given("encoder") || values.flag("no-text");
  if (values.has("schema") || !is_of_layout) return {};
  return wrong(values.given("encoder") ? "encoder" : "no-text",
               "is for a folder's own schema, which does not go with --map; name a --schema");
}

// Those of the schema, by their names.
Result<TextEncoders> make_encoders(CommandContext& context, const OptionValues& values,
                                   const Schema& schema) {
  const std::string weights = values.has("encoder-weights") ? values.text("encoder-weights") : "";
  TextEncoders encoders;
  for (const FeatureDefinition& feature : schema.features) {
    if (feature.type != SchemaType::kVector || encoders.contains(feature.encoder)) continue;
    HEADRACE_TRY(encoders[feature.encoder],
                 make_text_encoder(feature.encoder, encoder_sources(context, weights)));
  }
  return encoders;
}

Continuation continuation_of(const OptionValues& values) {
  if (values.flag("append")) return Continuation::kAppend;
  return values.flag("retry-failed") ? Continuation::kRetryFailed : Continuation::kNone;
}

// Those that do not decide what records are.
constexpr std::string_view kOptionsOfRun[] = {
    "layout",  "print-schema", "workers", "max-rejects", "map-timeout",     "append", "retry-failed",
    "dry-run", "prices",       "memory",  "overwrite",   "encoder-weights", "track"};

// What continues a dataset is done as that was.
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
  HEADRACE_CHECK(parse_reject_limit(values.text("max-rejects")));
  if (values.has("split")) HEADRACE_CHECK(parse_splits(values.text("split")));
  if (values.has("resize")) HEADRACE_CHECK(parse_image_size(values.text("resize")));
  if (values.has("prices")) HEADRACE_CHECK(parse_prices(values.text("prices")));
  HEADRACE_CHECK(check_continuation(values));
  return continuation_of(values) == Continuation::kNone ? check_map_options(values) : Status{};
}

namespace {

Result<Input> look_at_input(const Location& location, const OptionValues& values, std::uint64_t slice_bytes,
                            bool is_mapped) {
  InputFormat format{};
  if (values.text("layout") == "auto") {
    HEADRACE_TRY(format, guess_input_format(location));
  } else {
    HEADRACE_TRY(format, parse_input_format(values.text("layout")));
  }
  SliceLimits limits{.size_bytes = slice_bytes};
  if (is_mapped) limits.objects = kMappedObjects;
  return find_input(location, format, limits);
}

Result<PlannedPrepare> plan_anew(CommandContext& context, const Location& input, const OptionValues& values) {
  PlannedPrepare planned;
  PreparePlan& plan = planned.plan;
  plan.slice_bytes = values.size_bytes("slice-size");
  HEADRACE_TRY(plan.input, look_at_input(input, values, plan.slice_bytes, values.has("map")));
  plan.cell_limit_bytes = values.size_bytes("max-cell");
  if (values.has("map")) {
    plan.map = values.text("map");
    plan.map_version = values.text("map-version");
  }
  HEADRACE_TRY(planned.map, make_map_pool(context, plan, values));
  HEADRACE_TRY(plan.schema, find_schema(context, plan.input, values, planned.map.get()));
  if (planned.map != nullptr) HEADRACE_CHECK(check_encoding(plan.schema));
  HEADRACE_CHECK(read_vocabularies(context, plan.schema));
  if (values.has("split")) {
    HEADRACE_TRY(plan.schema.splits, parse_splits(values.text("split")));
    plan.schema.split.reset();
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
  return planned;
}

Result<PlannedPrepare> plan_to_continue(CommandContext& context, const Location& input,
                                        const Location& output, const OptionValues& values) {
  PlannedPrepare planned;
  PreparePlan& plan = planned.plan;
  HEADRACE_TRY(plan, continue_plan(output, continuation_of(values)));
  HEADRACE_TRY(plan.input, look_at_input(input, values, plan.slice_bytes, !plan.map.empty()));
  HEADRACE_TRY(plan.pasts, leave_what_continues(plan.input, *plan.base, output, plan.continuation));
  HEADRACE_TRY(planned.map, make_map_pool(context, plan, values));
  return planned;
}

// A dataset that is continued has vectors of one kind.
Status check_encoders(const PreparePlan& plan, const TextEncoders& encoders) {
  for (const auto& [name, encoder] : encoders) {
    const auto planned = plan.encoder_digests.find(name);
    if (planned != plan.encoder_digests.end() && planned->second == encoder->weights_digest()) continue;
    return Error{Code::kFailedPrecondition, concat("the plan was made with other weights of ", name,
                                                   " than the weights on this machine")};
  }
  return {};
}

}  // namespace

Result<PlannedPrepare> plan_prepare(CommandContext& context, const Location& input, const Location& output,
                                    const OptionValues& values) {
  const bool continues = continuation_of(values) != Continuation::kNone;
  HEADRACE_TRY(PlannedPrepare planned, continues ? plan_to_continue(context, input, output, values)
                                                 : plan_anew(context, input, values));
  if (planned.map != nullptr) {
    HEADRACE_TRY(std::unique_ptr<FramedChild> process, planned.map->acquire());
    planned.map->give_back(std::move(process));
  }
  HEADRACE_TRY(planned.encoders, make_encoders(context, values, planned.plan.schema));
  if (continues) {
    HEADRACE_CHECK(check_encoders(planned.plan, planned.encoders));
    return planned;
  }
  for (const auto& [name, encoder] : planned.encoders)
    planned.plan.encoder_digests[name] = encoder->weights_digest();
  return planned;
}

Result<std::unique_ptr<MapPool>> make_map_pool(CommandContext& context, const PreparePlan& plan,
                                               const OptionValues& values) {
  if (plan.map.empty()) return std::unique_ptr<MapPool>();
  MapProgram program{.function = plan.map,
                     .row_timeout = std::chrono::seconds(values.integer("map-timeout")),
                     .cell_limit_bytes = plan.cell_limit_bytes};
  HEADRACE_TRY(program.interpreter, find_python(context.environment));
  HEADRACE_TRY(program.package_folder, own_python_package());
  return std::make_unique<MapPool>(std::move(program), context.environment, context.stop);
}

Result<PlannedPrepare> read_planned(CommandContext& context, const Location& output,
                                    const OptionValues& values) {
  PlannedPrepare planned;
  HEADRACE_TRY(planned.plan, read_shared_plan(output));
  HEADRACE_TRY(planned.encoders, make_encoders(context, values, planned.plan.schema));
  HEADRACE_CHECK(check_encoders(planned.plan, planned.encoders));
  return planned;
}

PrepareOptions prepare_options_from(const OptionValues& values) {
  PrepareOptions options;
  options.workers = values.integer("workers") != 0 ? static_cast<int>(values.integer("workers"))
                                                   : static_cast<int>(std::thread::hardware_concurrency());
  options.overwrite = values.flag("overwrite");
  options.memory_bytes = values.size_bytes("memory");
  return options;
}

RejectLimit reject_limit_of(const PreparePlan& plan, const OptionValues& values) {
  if (plan.retries()) return {.share = 1};
  // check_prepare_options has looked at it.
  return parse_reject_limit(values.text("max-rejects")).value_or(RejectLimit{});
}

}  // namespace headrace
