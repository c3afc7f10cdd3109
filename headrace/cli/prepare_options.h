#pragma once

/// \file The options of `headrace prepare`, and the plan that they ask for.

#include "headrace/cli/command.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/prepare/prepare.h"
#include "headrace/prepare/shared_plan.h"

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
    kRunIdOption,
};

/// \error kInvalidArgument  a value that no single row of the table can tell to be wrong
Status check_prepare_options(const OptionValues& values);

struct PlannedPrepare {
  PreparePlan plan;
  TextEncoders encoders;
  std::unique_ptr<MapPool> map{};  // of `plan_prepare`, if the plan has one
};
/// Looks at the input, and at the output if it is to be continued, and reads or infers the schema. Loads the
/// function of --map, to know that it can be.
/// \error kInvalidArgument, kNotFound  of input, schema, encoder, or function
/// \error those of continue_plan and leave_what_continues
Result<PlannedPrepare> plan_prepare(CommandContext& context, const Location& input, const Location& output,
                                    const OptionValues& values);

/// The plan that lies at `output`, and its encoders: what this machine has of them must be what the plan was
/// made with. `values` may have `encoder-weights`.
Result<PlannedPrepare> read_planned(CommandContext& context, const Location& output,
                                    const OptionValues& values);

/// What runs the plan's map, with the option --map-timeout; null if it has none. Starts nothing.
/// \error kNotFound  there is no Python
Result<std::unique_ptr<MapPool>> make_map_pool(CommandContext& context, const PreparePlan& plan,
                                               const OptionValues& values);

/// "12", "0.1%".
/// \error kInvalidArgument
Result<RejectLimit> parse_reject_limit(std::string_view text);

/// What `--json` prints of a published data set, or what people read.
void show_prepared(Console& console, const Location& output, const PrepareResult& result, double seconds);

PrepareOptions prepare_options_from(const OptionValues& values);
/// Rows that are retried were allowed to be rejected before.
RejectLimit reject_limit_of(const PreparePlan& plan, const OptionValues& values);

}  // namespace headrace
