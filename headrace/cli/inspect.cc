
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/inspect_drift.h"
#include "headrace/cli/inspect_statistics.h"
#include "headrace/cli/inspection.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/objects.h"

namespace headrace {
namespace {

constexpr Positional kInspectPositionals[] = {
    {.name = "URL",
     .sentence = "A published folder, a folder with published folders, a TFRecord file, a WebDataset tar, or "
                 "a folder of such files."}};

constexpr Option kInspectOptions[] = {
    kDataVersionOption,
    {.name = "records",
     .type = OptionType::kInteger,
     .default_value = "3",
     .unit = "records",
     .sentence = "Number of records to show from the start of each split.",
     .minimum = 0,
     .maximum = 1000},
    {.name = "no-checksums",
     .type = OptionType::kFlag,
     .sentence = "Do not read all published parts to compare checksums."},
    {.name = "max-record",
     .type = OptionType::kSize,
     .default_value = "256MiB",
     .unit = "SIZE",
     .sentence = "Treat larger records as damaged.",
     .minimum = 1024,
     .maximum = 2147483648.0},
    {.name = "jobs",
     .type = OptionType::kInteger,
     .default_value = "4",
     .unit = "parts",
     .sentence = "Parts to compare at a time; each takes 8 MiB of memory.",
     .minimum = 1,
     .maximum = 64},
    {.name = "html",
     .unit = "FILE",
     .sentence = "Write an HTML page about the dataset to this URL: statistics of each feature, sample "
                 "records, rejected rows, and anything unusual."},
    {.name = "statistics",
     .type = OptionType::kFlag,
     .sentence = "Read the records and print a summary of that page; with --json, all of it."},
    {.name = "sample",
     .type = OptionType::kNumber,
     .default_value = "1",
     .unit = "share",
     .sentence = "Read this share of the records for --html and --statistics.",
     .minimum = 0,
     .maximum = 1},
    {.name = "limit",
     .type = OptionType::kInteger,
     .default_value = "1000000",
     .unit = "records",
     .sentence =
         "Read at most this many records of each split for --html and --statistics; with --against, at most "
         "this many records of the dataset and rows of the log, the newest files first.",
     .minimum = 1,
     .maximum = 10'000'000},
    {.name = "against",
     .unit = "DATASET",
     .sentence =
         "URL is a log of requests (headrace serve --log-requests): compare its rows with the records of "
         "this dataset, feature by feature."},
    {.name = "parquet",
     .unit = "FILE",
     .sentence = "Write the dataset's report of rows to this URL as Parquet, with the pyarrow of "
                 "HEADRACE_PYTHON, else of python3."},
};

// Inspects the folder itself, or all published folders below it.
Result<std::vector<Inspection>> inspect_all(CommandContext& context, const Location& location,
                                            std::optional<std::uint64_t> version,
                                            const InspectOptions& options) {
  std::vector<Inspection> out;
  HEADRACE_TRY(const auto published, open_version(location, {.number = version, .call = context.call()}));
  if (published) {
    HEADRACE_TRY(Inspection inspection, inspect_published(context, *published, options));
    out.push_back(std::move(inspection));
    return out;
  }
  HEADRACE_TRY(const std::vector<Location> below, find_published(location, context.call()));
  for (const Location& folder : below) {
    HEADRACE_TRY(const auto inner, read_published(folder, {.call = context.call()}));
    if (!inner) continue;
    HEADRACE_TRY(Inspection inspection, inspect_published(context, *inner, options));
    out.push_back(std::move(inspection));
  }
  if (!out.empty()) return out;
  HEADRACE_TRY(Inspection inspection, inspect_foreign(context, location, options));
  out.push_back(std::move(inspection));
  return out;
}

Status run_inspect(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& values) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const auto object, find_object(location, context.call()));
  if (!object) {
    HEADRACE_TRY(const bool folder, is_folder(location, context.call()));
    if (!folder) return nothing_at(location);
  }
  if (values.has("against")) return inspect_drift(context, location, values);
  const InspectOptions options = {.first_records = static_cast<std::uint64_t>(values.integer("records")),
                                  .record_limit_bytes = values.size_bytes("max-record"),
                                  .compares_checksums = !values.flag("no-checksums"),
                                  .jobs = static_cast<int>(values.integer("jobs"))};
  HEADRACE_TRY(const std::vector<Inspection> inspections,
               inspect_all(context, location, data_version(values), options));
  HEADRACE_TRY(const std::optional<RecordStatistics> statistics, inspect_records(context, location, values));
  std::size_t bad = 0;
  std::vector<Json> several;
  for (const Inspection& inspection : inspections) {
    for (const std::string& warning : inspection.warnings) context.console.warn(warning);
    bad += inspection.bad ? inspection.bad->size() : 0;
    if (context.console.json()) {
      several.push_back(inspection_to_json(inspection));
      if (statistics) several.back()["statistics"] = statistics->json;
    } else {
      context.console.result(concat(inspection_to_text(inspection), statistics ? statistics->text : ""));
    }
  }
  if (context.console.json())
    context.console.result((several.size() == 1 ? several[0] : Json{{"published", several}}).dump());
  if (bad == 0) return {};
  return Error{Code::kDataLoss,
               concat(bad, " objects at ", location.describe(), " are bad; they are named above")};
}

Status check_inspect(const OptionValues& values) {
  for (const std::string_view other : {"html", "parquet"}) {
    if (values.has("against") && values.has(other))
      return Error{Code::kInvalidArgument, concat("--against shows drift; it has no --", other)};
  }
  return {};
}

}  // namespace

extern const Command kInspectCommand;
const Command kInspectCommand = {
    .name = "inspect",
    .summary = "Show the contents of a dataset, a model or a TFRecord file",
    .details =
        "Prints the schema, records by split and label, sizes, whether the checksums match, and the first "
        "records. Published folders are shown by their manifest. Other TFRecord files are read one by one, "
        "each with its actual compression; there is a warning if a file differs from the others. In a tar, "
        "the records are WebDataset samples.\n"
        "\n"
        "  headrace inspect s3://datasets/preprocessed-data\n"
        "  headrace inspect s3://datasets/preprocessed-data --html report.html\n"
        "  headrace inspect s3://datasets/preprocessed-data --data-version 2\n"
        "  headrace inspect ./shards/train-00000.tfrecord --records 10\n"
        "  headrace inspect s3://logs/requests/imdb --against s3://datasets/preprocessed-data",
    .positionals = kInspectPositionals,
    .options = kInspectOptions,
    .run = run_inspect,
    .check = check_inspect};

}  // namespace headrace
