#pragma once

/// \file Statistics of a split's records: one pass, bounded memory, mergeable. Not thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/record/example.h"
#include "headrace/statistics/number_sketch.h"
#include "headrace/statistics/value_counts.h"

namespace headrace {

/// Label feature → its values in the order of their ids.
using FeatureVocabularies = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The label that a feature holds, as an id or one-hot. None if the vocabularies lack the feature's name, or
/// its value is not in the vocabulary.
std::optional<std::string_view> label_of(const FeatureVocabularies& vocabularies, const Feature& feature);

struct ImageStatistics {
  std::uint64_t count = 0;
  ValueCounts formats;   // "JPEG", "PNG"
  ValueCounts channels;  // as stored
  NumberSketch heights;
  NumberSketch widths;
};

/// Memory: 160 KiB at most, and 100 KiB of values.
struct FeatureStatistics {
  std::string dtype;          // "bytes", "float32", "int64", or "mixed"
  std::uint64_t records = 0;  // that have the feature, with or without values
  NumberSketch lengths;       // numbers of values in a record
  NumberSketch numbers;       // all values of all records
  NumberSketch sizes_bytes;   // of byte strings
  std::uint64_t texts = 0;    // byte strings that are UTF-8
  /// Complete only if each record has one value that is a label, a whole number or a short text.
  ValueCounts values;
  ImageStatistics images;  // of byte strings that begin as images do

  void add(const Feature& feature, std::optional<std::string_view> label, std::uint64_t record);
  void merge(const FeatureStatistics& other);
};

/// Memory: that of kMaxFeatures features, 8 bytes a record, and the samples of kSampledLabels labels.
struct SplitStatistics {
  static constexpr std::size_t kMaxFeatures = 200;
  static constexpr std::size_t kSampledLabels = 100;
  static constexpr std::size_t kSampledPerLabel = 24;

  std::uint64_t published_records = 0;
  std::uint64_t records = 0;  // that were read, and are tf.Examples
  std::uint64_t damaged = 0;
  std::map<std::string, FeatureStatistics, std::less<>> features;
  bool has_more_features = false;
  /// A hash of each record's features except labels and `id`; ascending after `finish`.
  std::vector<std::uint64_t> contents;
  /// Label ("" for none) → sampled records, by their number in the split.
  std::map<std::string, BottomSample<std::uint64_t>, std::less<>> places;

  /// Adds a record. `record` is its number in the split.
  void add(const std::vector<Feature>& example, const FeatureVocabularies& vocabularies,
           std::uint64_t record);
  void merge(const SplitStatistics& other);
  void finish();
  /// The number of records with the same content as an earlier record. REQUIRES: finish was called
  std::uint64_t duplicates() const;
};

/// The number of records of `a` whose content `b` has, too. REQUIRES: both are finished
std::uint64_t shared_contents(const SplitStatistics& a, const SplitStatistics& b);

}  // namespace headrace
