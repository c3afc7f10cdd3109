#pragma once

/// \file `headrace predict` of what is given on the command line or comes from standard input: answers are
/// printed, and not recorded.

#include "headrace/cli/command.h"
#include "headrace/evaluate/exported_model.h"
#include "headrace/prepare/schema/text_encoders.h"

namespace headrace {

/// How --data and --text name standard input.
inline constexpr std::string_view kStandardInput = "-";

/// The encoders of the model's inputs, each as the model was trained with it.
/// \error kFailedPrecondition  the encoder here has other weights
Result<TextEncoders> encoders_of(CommandContext& context, const ExportedModel& model,
                                 const OptionValues& values);

/// Answers to each --text.
Status answer_texts(CommandContext& context, const ExportedModel& model, const OptionValues& values);
/// Answers to each --image.
Status answer_images(CommandContext& context, const ExportedModel& model, const OptionValues& values);
/// Answers to the rows of standard input as they come, in --format. With --json the first line describes the
/// model (docs/formats/predictions.md, "Streams"), and an error is a line, too.
Status answer_rows(CommandContext& context, const ExportedModel& model, const OptionValues& values);

}  // namespace headrace
