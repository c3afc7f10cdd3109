#include "headrace/cli/prepare_options.h"

#include <algorithm>
#include <set>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/prepare/infer_schema.h"
#include "headrace/prepare/layout_schema.h"
#include "headrace/prepare/split_name.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSchemaLimitBytes = 64 << 20;

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

Result<Schema> find_schema(CommandContext& context, const Input& input, const OptionValues& values) {
  if (values.has("schema")) return schema_of_file(context, values.text("schema"));
  HEADRACE_TRY(const std::optional<ImageSize> resize,
               parse_image_size(values.has("resize") ? values.text("resize") : ""));
  LayoutSchemaOptions options{.encoder = values.text("encoder"), .keeps_text = !values.flag("no-text")};
  if (resize) options.image = {.resize = resize, .output = image_output(values.text("image-format"))};
  if (std::optional<Schema> schema = layout_schema(input.format, options)) return *std::move(schema);
  HEADRACE_TRY(Schema schema, infer_schema(input, context.stores, values.size_bytes("max-cell")));
  for (FeatureDefinition& feature : schema.features) {
    if (feature.type == SchemaType::kImage) feature.image = options.image;
  }
  if (!values.flag("print-schema"))
    context.console.note(concat("the schema, as the first rows tell it (--schema names another):\n\n",
                                schema_to_toml(schema)));
  return schema;
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

}  // namespace

Status check_prepare_options(const OptionValues& values) {
  HEADRACE_CHECK(parse_reject_limit(values.text("max-rejects")));
  if (values.has("split")) HEADRACE_CHECK(parse_splits(values.text("split")));
  if (values.has("resize")) HEADRACE_CHECK(parse_image_size(values.text("resize")));
  return {};
}

Result<PlannedPrepare> plan_prepare(CommandContext& context, const Location& input,
                                    const OptionValues& values) {
  InputFormat format{};
  if (values.text("layout") == "auto") {
    HEADRACE_TRY(format, guess_input_format(input));
  } else {
    HEADRACE_TRY(format, parse_input_format(values.text("layout")));
  }
  PlannedPrepare planned;
  PreparePlan& plan = planned.plan;
  plan.slice_bytes = values.size_bytes("slice-size");
  HEADRACE_TRY(plan.input, find_input(input, format, {.size_bytes = plan.slice_bytes}));
  plan.cell_limit_bytes = values.size_bytes("max-cell");
  HEADRACE_TRY(plan.schema, find_schema(context, plan.input, values));
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
  HEADRACE_TRY(planned.encoders, make_encoders(context, values, plan.schema));
  for (const auto& [name, encoder] : planned.encoders) plan.encoder_digests[name] = encoder->weights_digest();
  return planned;
}

Result<PlannedPrepare> read_planned(CommandContext& context, const Location& output,
                                    const OptionValues& values) {
  PlannedPrepare planned;
  HEADRACE_TRY(planned.plan, read_shared_plan(output));
  HEADRACE_TRY(planned.encoders, make_encoders(context, values, planned.plan.schema));
  for (const auto& [name, encoder] : planned.encoders) {
    if (planned.plan.encoder_digests[name] == encoder->weights_digest()) continue;
    return Error{Code::kFailedPrecondition,
                 concat("the plan was made with other weights of ", name, " than are here")};
  }
  return planned;
}

PrepareOptions prepare_options_from(const OptionValues& values) {
  PrepareOptions options;
  options.workers = values.integer("workers") != 0 ? static_cast<int>(values.integer("workers"))
                                                   : static_cast<int>(std::thread::hardware_concurrency());
  options.overwrite = values.flag("overwrite");
  options.memory_bytes = values.size_bytes("memory");
  const auto limit = parse_reject_limit(values.text("max-rejects"));
  if (limit) options.max_rejects = *limit;
  return options;
}

}  // namespace headrace
