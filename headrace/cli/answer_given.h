#pragma once

/// \file `headrace predict` for inputs on the command line or from standard input. Answers are printed, and
/// not recorded.

#include "headrace/cli/command.h"
#include "headrace/evaluate/exported_model.h"
#include "headrace/prepare/schema/text_encoders.h"

namespace headrace {

/// The name of standard input for --data and --text.
inline constexpr std::string_view kStandardInput = "-";

/// Makes the encoders of the model's inputs, and checks that they are those with which the model was trained.
/// \error kFailedPrecondition  an encoder here has other weights
Result<TextEncoders> encoders_of(CommandContext& context, const ExportedModel& model,
                                 const OptionValues& values);

/// Prints the answer to each --text.
Status answer_texts(CommandContext& context, const ExportedModel& model, const OptionValues& values);
/// Prints the answer to each --image.
Status answer_images(CommandContext& context, const ExportedModel& model, const OptionValues& values);
/// Prints answers to the rows of standard input, in --format, as the rows arrive. With --json, the first line
/// describes the model (docs/formats/predictions.md, "Streams"), and an error is a line, too.
Status answer_rows(CommandContext& context, const ExportedModel& model, const OptionValues& values);

}  // namespace headrace
