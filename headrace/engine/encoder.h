#pragma once

/// \file Text encoders: a text in, a vector of floats out. Chosen by name:
///   hash:N                 signed hashed uni- and bigrams, N dimensions (engine/hash/)
///   use-multilingual-v3    Universal Sentence Encoder, multilingual, version 3: 512 dimensions (engine/use/)
///   saved_model:URL        a TensorFlow SavedModel, string → float[n] (engine/tensorflow/)

#include <span>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// Thread-safe. One call uses the calling thread only; callers run several calls for parallelism.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// As in `--encoder` and in the manifest.
  virtual std::string name() const = 0;
  /// SHA-256 (hex) of everything that the result depends on besides the text: weights and vocabulary.
  /// Recorded in manifests and exported runs, so that training and serving use the same encoder.
  virtual std::string weights_digest() const = 0;
  virtual int dimension() const = 0;
  /// Writes the vector of texts[i] to out[i·dimension …]. Texts are UTF-8; invalid bytes count as U+FFFD. A
  /// text's vector is the same to the last bit, whatever other texts are in the call and on any processor.
  /// REQUIRES: out.size() == texts.size() · dimension()
  virtual Status encode(std::span<const std::string_view> texts, std::span<float> out) const = 0;
};

}  // namespace headrace
