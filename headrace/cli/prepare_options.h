#pragma once

/// \file The options of `headrace prepare`, and what they say as values.

#include "headrace/cli/command.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/prepare/execute/prepare.h"
#include "headrace/prepare/plan/plan_request.h"

namespace headrace {

inline constexpr Option kMaxRejectsOption = {
    .name = "max-rejects",
    .default_value = "0",
    .unit = "rows",
    .sentence = "Fail if more rows than this, a number or a share as 0.1%, have to be rejected."};

inline constexpr Option kMapTimeoutOption = {
    .name = "map-timeout",
    .type = OptionType::kInteger,
    .default_value = "60",
    .unit = "seconds",
    .sentence = "Reject a row for which the function of --map takes longer.",
    .minimum = 1,
    .maximum = 86'400};

inline constexpr Option kLeaseOption = {
    .name = "lease",
    .type = OptionType::kInteger,
    .default_value = "60",
    .unit = "seconds",
    .sentence =
        "How long a lease must stand still before others take the task over; renewed six times as often.",
    .minimum = 1,
    .maximum = 86'400};

inline constexpr Option kPatienceOption = {
    .name = "patience",
    .type = OptionType::kInteger,
    .default_value = "600",
    .unit = "seconds",
    .sentence = "How long to wait for others of whose tasks none gets done.",
    .minimum = 1,
    .maximum = 31'536'000};

inline constexpr Option kPrepareOptions[] = {
    {.name = "layout",
     .default_value = "auto",
     .sentence = "What FROM holds; auto: what names tell. Folders are <split>/<label>/ or <label>/.",
     .choices = "auto|aclimdb|text-folder|image-folder|csv|tsv|jsonl|webdataset|tfrecord"},
    {.name = "schema",
     .unit = "URL",
     .sentence = "TOML file that says what features records have; without it they are inferred, and shown."},
    {.name = "print-schema",
     .type = OptionType::kFlag,
     .sentence = "Show the schema as TOML, to be kept and changed, and do nothing else."},
    {.name = "map",
     .unit = "MODULE:FUNCTION",
     .sentence = "Python function that is given each row, a dict, and gives a dict of features, or None to "
                 "drop it. Of HEADRACE_PYTHON, else of python3; or FILE.py:FUNCTION."},
    {.name = "map-version",
     .default_value = "1",
     .sentence = "Stands for what the function does: name another one when that changes."},
    kMapTimeoutOption,
    {.name = "split",
     .unit = "shares",
     .sentence = "Split by hash of the ids: train=0.8,validation=0.1,test=0.1."},
    {.name = "splits-as-they-are",
     .type = OptionType::kFlag,
     .sentence =
         "Take names of splits as written (else val is validation, TRAIN is train), and need no train."},
    {.name = "resize", .unit = "HxW", .sentence = "Resize images to so many pixels, for example 150x150."},
    {.name = "image-format",
     .default_value = "jpeg",
     .sentence = "With --resize: how images are stored.",
     .choices = "jpeg|png|raw"},
    {.name = "compat",
     .default_value = "none",
     .sentence = "Lay records out as another program did; tfrecorder: images as raw pixels in base64, with "
                 "image_name, image_height, image_width, image_channels and split beside them.",
     .choices = "none|tfrecorder"},
    kEncoderOption,
    kEncoderWeightsOption,
    {.name = "no-text",
     .type = OptionType::kFlag,
     .sentence = "Of text folders: leave the features text and id out of the records."},
    {.name = "sample",
     .type = OptionType::kNumber,
     .default_value = "1",
     .sentence = "Share of the rows to take, by hash of their ids: a tenth is part of any fifth.",
     .minimum = 0,
     .maximum = 1},
    {.name = "duplicates",
     .default_value = "keep",
     .sentence = "Rows of equal content: keep them unseen, keep and report them, or drop all but the first.",
     .choices = "keep|report|drop"},
    {.name = "shard-records",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "records",
     .sentence = "Records in a shard, about; 0: as --shard-size says.",
     .minimum = 0,
     .maximum = 1'000'000'000},
    {.name = "shard-size",
     .type = OptionType::kSize,
     .default_value = "128MiB",
     .unit = "bytes",
     .sentence = "Bytes of a shard before compression, about; small data sets get up to 8 shards.",
     .minimum = 1024},
    {.name = "slice-size",
     .type = OptionType::kSize,
     .default_value = "64MiB",
     .unit = "bytes",
     .sentence = "Files that one task reads, about; a larger file is a task of its own.",
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
     .sentence = "Decides order, splits by hash, and sample.",
     .minimum = 0},
    {.name = "workers",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence = "Threads that read and write; 0: one for each core. The result does not depend on it.",
     .minimum = 0,
     .maximum = 1024},
    {.name = "max-cell",
     .type = OptionType::kSize,
     .default_value = "64MiB",
     .unit = "bytes",
     .sentence = "Rows with a larger text, image, or other value are rejected.",
     .minimum = 1,
     .maximum = 256 << 20},
    kMaxRejectsOption,
    {.name = "report",
     .default_value = "changed",
     .sentence =
         "Rows that the report names: those rejected, dropped or changed; or all, with images' sizes.",
     .choices = "changed|all"},
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "256MiB",
     .unit = "bytes",
     .sentence = "Sorted rows held in memory; what is beyond goes to work objects below TO.",
     .minimum = 0},
    {.name = "append",
     .type = OptionType::kFlag,
     .sentence = "Add what FROM has more than was read for the data set at TO, as its next version. Schema, "
                 "splits and all that decides bytes are those of TO."},
    {.name = "retry-failed",
     .type = OptionType::kFlag,
     .sentence = "Read once more those rows of FROM that were rejected, and add the good ones to TO."},
    {.name = "dry-run",
     .type = OptionType::kFlag,
     .sentence = "Prepare some rows for a trial, write nothing, and tell what all would take."},
    {.name = "prices",
     .unit = "money",
     .sentence =
         "With --dry-run: what a store charges for 1,000 reading and writing requests, and for a GB that "
         "leaves it, as get=0.0004,put=0.005,gigabyte=0.09."},
    {.name = "overwrite",
     .type = OptionType::kFlag,
     .sentence = "Start anew, and remove what Headrace wrote to TO before once FROM has been read."},
    kTrackOption,
};

/// \error kInvalidArgument  a value that no single row of the table can tell to be wrong
Status check_prepare_options(const OptionValues& values);

/// What `values`, which were checked, wish of a plan.
PlanRequest plan_request_from(const OptionValues& values);

/// Where encoders are found, as --encoder-weights says if it is given.
EncoderSources encoder_sources_from(const CommandContext& context, const OptionValues& values);

/// What plans of this process are made with. `values` have `encoder-weights` and `map-timeout`.
PlanningContext planning_context(const CommandContext& context, const OptionValues& values);

/// Plans as `values` say, and shows the schema if it had to be inferred.
/// \error as plan_prepare
Result<PlannedPrepare> plan_from(CommandContext& context, const Location& input, const Location& output,
                                 const OptionValues& values);

/// "12", "0.1%".
/// \error kInvalidArgument
Result<RejectLimit> parse_reject_limit(std::string_view text);
/// Of `values` that were checked.
RejectLimit max_rejects_from(const OptionValues& values);

/// What --workers says; 0 is a thread for each core.
int workers_from(const OptionValues& values);

/// Of `values` with `lease`.
LeaseOptions lease_from(const OptionValues& values);

/// Shows how far tasks are.
PrepareProgress progress_on(Console& console);

/// What `--json` prints of a published data set, or what people read.
void show_prepared(Console& console, const Location& output, const PrepareResult& result, double seconds);

}  // namespace headrace
