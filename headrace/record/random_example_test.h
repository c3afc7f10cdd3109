#pragma once

/// \file For tests: random Examples, in every encoding that protobuf allows.

#include <map>
#include <random>

#include "headrace/base/wire.h"
#include "headrace/record/example.h"

namespace headrace {

using FeatureValues = std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;
using FeatureMap = std::map<std::string, FeatureValues>;

inline FeatureValues random_values(std::mt19937& random) {
  const std::size_t count = random() % 6;
  switch (random() % 3) {
    case 0: {
      std::vector<std::string> values(count);
      for (auto& value : values) value = std::string(random() % 40, static_cast<char>(random()));
      return values;
    }
    case 1: {
      std::vector<float> values(count);
      for (auto& value : values) value = static_cast<float>(random()) / 1e6F - 2000;
      return values;
    }
    default: {
      std::vector<std::int64_t> values(count);
      for (auto& value : values) {
        value = static_cast<std::int64_t>((std::uint64_t{random()} << 32 | random()) >> (random() % 64));
        if (random() % 4 == 0) value = -value;
      }
      return values;
    }
  }
}

inline FeatureMap random_features(std::mt19937& random) {
  FeatureMap features;
  const std::size_t count = random() % 5;
  for (std::size_t i = 0; i < count; ++i)
    features[std::string(1, static_cast<char>('a' + random() % 8))] = random_values(random);
  return features;
}

/// Sometimes writes a field of any type with a number that no reader knows.
inline void maybe_unknown(WireWriter& writer, std::mt19937& random) {
  switch (random() % 12) {
    case 0:
      writer.varint(100, random());
      break;
    case 1:
      writer.text(17, "unknown");
      break;
    case 2:
      writer.fixed32(4, 1.0F);
      break;
    case 3:
      writer.fixed64(5, 2.0);
      break;
    default:
      break;
  }
}

/// Writes the values from `begin` to `end` of a list, packed or not.
inline void write_list(WireWriter& list, const FeatureValues& values, std::size_t begin, std::size_t end,
                       bool packed) {
  if (const auto* texts = std::get_if<0>(&values)) {
    for (std::size_t i = begin; i < end; ++i) list.text(1, (*texts)[i]);
  } else if (const auto* floats = std::get_if<1>(&values)) {
    if (packed) list.bytes(1, std::as_bytes(std::span(*floats).subspan(begin, end - begin)));
    for (std::size_t i = begin; i < end && !packed; ++i) list.fixed32(1, (*floats)[i]);
  } else {
    Bytes numbers;
    for (std::size_t i = begin; i < end; ++i) {
      const auto number = static_cast<std::uint64_t>(std::get<2>(values)[i]);
      packed ? append_varint(numbers, number) : list.varint(1, number);
    }
    if (packed) list.bytes(1, numbers);
  }
}

inline void write_feature(WireWriter& feature, const FeatureValues& values, std::mt19937& random) {
  const std::size_t count = std::visit([](const auto& list) { return list.size(); }, values);
  const std::size_t cut = random() % (count + 1);
  const auto kind = static_cast<std::uint32_t>(values.index() + 1);
  // A list of another kind that comes first is overridden.
  if (random() % 8 == 0) feature.message(kind % 3 + 1, [](WireWriter& list) { list.varint(9, 1); });
  maybe_unknown(feature, random);
  const bool two_messages = random() % 4 == 0;
  feature.message(kind, [&](WireWriter& list) {
    write_list(list, values, 0, cut, random() % 2 == 0);
    maybe_unknown(list, random);
    if (!two_messages) write_list(list, values, cut, count, random() % 2 == 0);
  });
  if (two_messages) {
    feature.message(kind, [&](WireWriter& list) { write_list(list, values, cut, count, random() % 2 == 0); });
  }
}

/// The Example in one of its many encodings, chosen at random.
inline Bytes write_any_way(const FeatureMap& features, std::mt19937& random) {
  std::vector<std::string> names;
  for (const auto& [name, values] : features) names.push_back(name);
  std::shuffle(names.begin(), names.end(), random);
  Bytes out;
  WireWriter example(out);
  const auto write_entry = [&](WireWriter& map, const std::string& name, const FeatureValues& values) {
    map.message(1, [&](WireWriter& entry) {
      const auto value = [&] {
        entry.message(2, [&](WireWriter& feature) { write_feature(feature, values, random); });
      };
      const bool value_first = random() % 5 == 0;
      if (value_first) value();
      entry.text(1, name);
      maybe_unknown(entry, random);
      if (!value_first) value();
    });
  };
  for (const std::string& name : names) {
    example.message(1, [&](WireWriter& map) {
      if (random() % 4 == 0) write_entry(map, name, random_values(random));  // overridden by the next
      maybe_unknown(map, random);
      write_entry(map, name, features.at(name));
    });
    maybe_unknown(example, random);
  }
  return out;
}

}  // namespace headrace
