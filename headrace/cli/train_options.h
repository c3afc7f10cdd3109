#pragma once

/// \file Training options that `train` and `learning-curve` share.

#include <algorithm>
#include <array>
#include <iterator>

#include "headrace/cli/command.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/record_run.h"
#include "headrace/train/train.h"

namespace headrace {

/// The rows at the end of both option tables.
inline constexpr Option kSharedTrainOptions[] = {
    {.name = "epochs",
     .type = OptionType::kInteger,
     .default_value = "10",
     .unit = "epochs",
     .sentence = "Number of passes over the data.",
     .minimum = 1},
    {.name = "batch-size",
     .type = OptionType::kInteger,
     .default_value = "128",
     .unit = "records",
     .sentence = "Records per step.",
     .minimum = 1,
     .maximum = 1'000'000},
    {.name = "validation",
     .type = OptionType::kNumber,
     .default_value = "0.1",
     .sentence = "Share of the records held out for validation.",
     .minimum = 0,
     .maximum = 0.99},
    {.name = "learning-rate",
     .type = OptionType::kNumber,
     .sentence = "Replaces the learning rate that the model was compiled with.",
     .minimum = 0},
    {.name = "early-stop",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "epochs",
     .sentence = "Stop when the validation loss has not improved for this many epochs, and export the best "
                 "epoch; 0: never.",
     .minimum = 0},
    kDataVersionOption,
    {.name = "split", .default_value = "train", .sentence = "Split of the dataset to train on."},
    {.name = "features",
     .unit = "[INPUT=]NAME,…",
     .sentence =
         "Features that the model takes: names alone leave out all others, INPUT=NAME gives a feature to an "
         "input, INPUT=NAME:mask gives an input 1 for values that a record has and 0 for others. Default: "
         "each input takes the feature of its name, or the only one that fits."},
    {.name = "labels",
     .unit = "[OUTPUT=]NAME,…",
     .sentence = "Features that the model learns. Default: label, or the only feature with a vocabulary."},
    {.name = "balance",
     .unit = "LABEL",
     .sentence =
         "Train on each class of this label equally often: records of rare classes come several times "
         "in an epoch, and each epoch takes other records of frequent ones."},
    {.name = "bucket",
     .unit = "FEATURE",
     .sentence =
         "Make batches of records with similar numbers of values in this ragged feature, so that they "
         "take little padding."},
    {.name = "weights",
     .unit = "NAME",
     .sentence = "Feature with a number that multiplies the record's loss, in training and validation."},
    {.name = "class-weights",
     .unit = "CLASS=WEIGHT,…",
     .sentence = "Numbers that multiply the losses of a class's records in training; classes that are not "
                 "named have 1. balanced: numbers with which all classes count the same."},
    {.name = "augment",
     .unit = "NAME[=VALUE],…",
     .sentence = "Random changes of images while training: flip, crop=HEIGHTxWIDTH, brightness=DELTA, "
                 "contrast=LOWER:UPPER. A function of the seed, the epoch and the record's position."},
    {.name = "image-size",
     .unit = "HEIGHTxWIDTH",
     .sentence = "Resize images to this size. Default: the size that the model takes. With a crop: the size "
                 "before it."},
    kOnCorruptOption,
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "256MiB",
     .unit = "bytes",
     .sentence = "Memory for reading ahead; validation, if any, takes a quarter of it.",
     .minimum = 1'000'000},
    {.name = "loader-threads",
     .type = OptionType::kInteger,
     .default_value = "1",
     .unit = "threads",
     .sentence = "Threads that read and decode records; 0: as many as needed.",
     .minimum = 0,
     .maximum = 256},
    {.name = "intra-op-threads",
     .type = OptionType::kInteger,
     .unit = "threads",
     .sentence = "Threads of one TensorFlow operation. Default: one for each core if the model takes images, "
                 "else 1, with which small models are fastest; a run that is continued keeps its number.",
     .minimum = 1,
     .maximum = 1024},
    kTrackOption,
    kRunIdOption,
};

/// An option table: the rows of one command, then the shared rows.
template <std::size_t Count>
constexpr std::array<Option, Count + std::size(kSharedTrainOptions)> with_shared_train_options(
    const Option (&own)[Count]) {
  std::array<Option, Count + std::size(kSharedTrainOptions)> table;
  std::copy(std::begin(own), std::end(own), table.begin());
  std::copy(std::begin(kSharedTrainOptions), std::end(kSharedTrainOptions), table.begin() + Count);
  return table;
}

/// The training options that these options and --model give.
/// \error kInvalidArgument  --image-size is not a size
Result<TrainOptions> shared_train_options(const OptionValues& values);

/// Checks the shared options together.
/// \error kInvalidArgument  options need or exclude one another
Status check_shared_train_options(const OptionValues& values);

}  // namespace headrace
