#pragma once

/// \file Synthetic Examples like those of the main job.

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"

namespace headrace {

inline constexpr std::size_t kSentenceDimension = 512;

/// About 1.3 kB of words of a small vocabulary, the frequent ones often, so that it shrinks about as English
/// does.
inline std::string make_review(std::mt19937_64& random) {
  std::string text;
  const std::size_t words = 120 + random() % 240;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 1 + random() % 20'000;
    if (random() % 2 == 0) word %= 100;
    for (; word > 0; word /= 18) text += static_cast<char>('a' + word % 18);
    text += ' ';
  }
  return text;
}

/// About a unit vector of normally distributed floats, which hardly shrink.
inline std::vector<float> make_sentence_vector(std::mt19937_64& random) {
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(kSentenceDimension)));
  std::vector<float> vector(kSentenceDimension);
  for (float& value : vector) value = normal(random);
  return vector;
}

/// Appends {embeddings: float[512], label: int64, sentence: bytes}, 3.4 kB, framed.
inline void append_review_example(std::mt19937_64& random, Bytes& stream) {
  const std::vector<float> vector = make_sentence_vector(random);
  const auto label = static_cast<std::int64_t>(random() % 2);
  const std::string text = make_review(random);
  ExampleBuilder builder;
  builder.add_floats("embeddings", vector);
  builder.add_int64s("label", {&label, 1});
  builder.add_bytes("sentence", as_bytes(text));
  const std::size_t offset = begin_record(stream);
  builder.append_to(stream);
  end_record(stream, offset);
}

}  // namespace headrace
