#pragma once

/// \file The options of `headrace prepare`, and the values that they give.

#include "headrace/cli/command.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/table_options.h"
#include "headrace/prepare/execute/prepare.h"
#include "headrace/prepare/plan/plan_request.h"

namespace headrace {

inline constexpr Option kMaxRejectsOption = {
    .name = "max-rejects",
    .default_value = "0",
    .unit = "rows",
    .sentence = "Fail if more rows than this are rejected: a number, or a share such as 0.1%."};

inline constexpr Option kMapTimeoutOption = {
    .name = "map-timeout",
    .type = OptionType::kInteger,
    .default_value = "60",
    .unit = "seconds",
    .sentence = "Reject a row if the function of --map takes longer for it.",
    .minimum = 1,
    .maximum = 86'400};

inline constexpr Option kLeaseOption = {.name = "lease",
                                        .type = OptionType::kInteger,
                                        .default_value = "60",
                                        .unit = "seconds",
                                        .sentence =
                                            "Time without renewal after which others may take over a lease; "
                                            "leases are renewed six times as often.",
                                        .minimum = 1,
                                        .maximum = 86'400};

inline constexpr Option kPatienceOption = {
    .name = "patience",
    .type = OptionType::kInteger,
    .default_value = "600",
    .unit = "seconds",
    .sentence = "How long to wait while no other process finishes a task.",
    .minimum = 1,
    .maximum = 31'536'000};

inline constexpr Option kPrepareOptions[] = {
    {.name = "layout",
     .default_value = "auto",
     .unit = "FORMAT",
     .sentence =
         "Format of FROM: aclimdb, text-folder, image-folder, text-files, image-files, csv, tsv, jsonl, "
         "webdataset, tfrecord or request-log (of headrace serve); auto: recognised by file names. Folders "
         "are <split>/<label>/ or <label>/; text-files and image-files have no labels."},
    kDelimiterOption,
    {.name = "encoding",
     .default_value = "utf-8",
     .sentence = "Encoding of the texts.",
     .choices = "utf-8|latin-1|windows-1252"},
    {.name = "missing",
     .unit = "texts",
     .sentence = "Cells that count as missing, besides empty ones: texts separated by commas, such as NA,-."},
    {.name = "decimal",
     .default_value = ".",
     .sentence = "Character before the fraction of a number.",
     .choices = ".|,"},
    {.name = "schema",
     .unit = "URL",
     .sentence = "TOML file that defines the features of the records. Default: inferred, and shown."},
    {.name = "print-schema",
     .type = OptionType::kFlag,
     .sentence = "Print the schema as TOML, for keeping and editing, and do nothing else."},
    {.name = "map",
     .unit = "MODULE:FUNCTION",
     .sentence = "Python function, or FILE.py:FUNCTION, that gets each row as a dict and returns a dict of "
                 "features, or None to drop the row. Runs in HEADRACE_PYTHON, else python3."},
    {.name = "map-version",
     .default_value = "1",
     .sentence = "Version of the function: change it when the function changes."},
    kMapTimeoutOption,
    {.name = "split",
     .unit = "shares",
     .sentence = "Split by hash of the ids: train=0.8,validation=0.1,test=0.1. Replaces a column or folders "
                 "of splits."},
    {.name = "splits-as-they-are",
     .type = OptionType::kFlag,
     .sentence = "Keep the names of splits as written (otherwise val becomes validation, TRAIN becomes "
                 "train), and do not require train."},
    {.name = "resize", .unit = "HxW", .sentence = "Resize images to this many pixels, for example 150x150."},
    {.name = "image-format",
     .default_value = "jpeg",
     .sentence = "With --resize: format of the stored images.",
     .choices = "jpeg|png|raw"},
    {.name = "trust-images",
     .type = OptionType::kFlag,
     .sentence =
         "Do not decode images that are stored as they are: faster, but damage in their pixels shows only "
         "when they are read. In a schema of your own, the key verify decides."},
    {.name = "compat",
     .default_value = "none",
     .sentence = "Lay out records as another program does. tfrecorder: images as raw pixels in base64, with "
                 "image_name, image_height, image_width, image_channels and split beside them.",
     .choices = "none|tfrecorder"},
    kEncoderOption,
    kEncoderWeightsOption,
    {.name = "no-text",
     .type = OptionType::kFlag,
     .sentence = "For text folders: leave the features text and id out of the records."},
    {.name = "sample",
     .type = OptionType::kNumber,
     .default_value = "1",
     .sentence = "Share of the rows to use, by hash of their ids: a tenth is part of any fifth.",
     .minimum = 0,
     .maximum = 1},
    {.name = "duplicates",
     .default_value = "keep",
     .sentence = "Rows with equal content: keep them without looking, keep and report them, or drop all but "
                 "the first.",
     .choices = "keep|report|drop"},
    {.name = "shard-records",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "records",
     .sentence = "Approximate number of records in a shard; 0: --shard-size decides.",
     .minimum = 0,
     .maximum = 1'000'000'000},
    {.name = "shard-size",
     .type = OptionType::kSize,
     .default_value = "128MiB",
     .unit = "bytes",
     .sentence = "Approximate size of a shard before compression; small datasets get up to 8 shards.",
     .minimum = 1024},
    {.name = "slice-size",
     .type = OptionType::kSize,
     .default_value = "64MiB",
     .unit = "bytes",
     .sentence = "Approximate size of the files that one task reads; a larger file is a task of its own.",
     .minimum = 1},
    {.name = "compression",
     .default_value = "gzip",
     .sentence = "Compression of the shards.",
     .choices = "gzip|none"},
    {.name = "compression-level",
     .type = OptionType::kInteger,
     .default_value = "6",
     .sentence = "1 is fastest, 12 is smallest.",
     .minimum = 1,
     .maximum = 12},
    {.name = "seed",
     .type = OptionType::kInteger,
     .default_value = "44",
     .sentence = "Decides order, splits by hash, and the sample.",
     .minimum = 0},
    {.name = "workers",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence = "Threads that read and write; 0: one per core. The result does not depend on it.",
     .minimum = 0,
     .maximum = 1024},
    {.name = "max-cell",
     .type = OptionType::kSize,
     .default_value = "64MiB",
     .unit = "bytes",
     .sentence = "Reject rows with a larger text, image or other value.",
     .minimum = 1,
     .maximum = 256 << 20},
    {.name = "report",
     .default_value = "changed",
     .sentence =
         "Rows that the report lists: rejected, dropped or changed ones; or all, with the sizes of images.",
     .choices = "changed|all"},
    {.name = "append",
     .type = OptionType::kFlag,
     .sentence = "Add input at FROM that the dataset at TO does not have yet, as the dataset's next version. "
                 "Schema, splits and all settings that decide bytes are those of TO."},
    {.name = "retry-failed",
     .type = OptionType::kFlag,
     .sentence = "Read the rejected rows of FROM once more, and add the good ones to TO."},
    {.name = "dry-run",
     .type = OptionType::kFlag,
     .sentence = "Prepare some rows as a trial, write nothing, and estimate the cost of all."},
    {.name = "prices",
     .unit = "money",
     .sentence = "With --dry-run: the store's prices for 1,000 read requests, for 1,000 write requests and "
                 "for a GB of outgoing data, such as get=0.0004,put=0.005,gigabyte=0.09."},
    {.name = "overwrite",
     .type = OptionType::kFlag,
     .sentence = "Start from scratch: remove what Headrace wrote to TO earlier, once FROM has been read."},
};

/// Checks rules that a single row of the table cannot express.
/// \error kInvalidArgument  a value is wrong
Status check_prepare_options(const OptionValues& values);

/// The plan request that `values` describe. REQUIRES: `values` were checked
PlanRequest plan_request_from(const OptionValues& values);

/// Where encoders are found: in the folder that --encoder-weights names, if it is given.
EncoderSources encoder_sources_from(const CommandContext& context, const OptionValues& values);

/// The context in which this process makes plans. REQUIRES: `values` have `encoder-weights` and `map-timeout`
PlanningContext planning_context(const CommandContext& context, const OptionValues& values);

/// Makes the plan that `values` describe. Shows the schema if it was inferred. Warns of possible mistakes: in
/// columns, of splits that --split replaces, and of foreign shards in the output if it is to be written.
/// \error kInvalidArgument  an option has no effect on this input
/// \error as plan_prepare
Result<PlannedPrepare> plan_from(CommandContext& context, const InputPlace& input, const Location& output,
                                 const OptionValues& values);

/// Records the input of a run: the object, folder or dataset, if it is in a store; else the URL and the name
/// of the kind of input.
Status add_prepare_input(RunRecorder& recorder, const InputPlace& input);

/// Parses a limit: "12" rows, or a share of "0.1%".
/// \error kInvalidArgument  it is neither
Result<RejectLimit> parse_reject_limit(std::string_view text);
/// The limit that --max-rejects gives. REQUIRES: `values` were checked
RejectLimit max_rejects_from(const OptionValues& values);

/// The lease that --lease gives. REQUIRES: `values` have `lease`
LeaseOptions lease_from(const OptionValues& values);

/// Shows the progress of tasks on the console, which must outlive the result.
PrepareProgress progress_on(Console& console);

/// Prints a summary of a published dataset: as JSON with `--json`, otherwise for people.
void show_prepared(Console& console, const Location& output, const PrepareResult& result, double seconds);

}  // namespace headrace
