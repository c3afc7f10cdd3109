#pragma once

/// \file Text encoders turn a text into a vector of floats. They are chosen by name:
///   hash:N                 signed hashed unigrams and bigrams, N dimensions (engine/hash/)
///   use-multilingual-v3    Universal Sentence Encoder, multilingual, version 3: 512 dimensions (engine/use/)
///   saved_model:URL        a TensorFlow SavedModel, string → float[n] (engine/tensorflow/)

#include <span>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// Thread-safe. A call uses only the calling thread; for parallelism, make several calls at the same time.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// The name as in `--encoder` and in the manifest.
  virtual std::string name() const = 0;
  /// SHA-256 (hex) of everything, besides the text, on which the result depends: weights and vocabulary.
  /// Manifests and exported runs record it, so that training and serving use the same encoder.
  virtual std::string weights_digest() const = 0;
  virtual int dimension() const = 0;
  /// Writes the vector of texts[i] to out[i·dimension …]. Texts are UTF-8; invalid bytes count as U+FFFD. A
  /// text's vector is the same to the last bit, whichever other texts are in the call and on any processor.
  /// REQUIRES: out.size() == texts.size() · dimension()
  virtual Status encode(std::span<const std::string_view> texts, std::span<float> out) const = 0;
};

}  // namespace headrace
