#include "headrace/record/example.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/record/random_example_test.h"

namespace headrace {
namespace {

// A FeatureMap, which can be compared.
FeatureMap to_map(const std::vector<Feature>& features) {
  FeatureMap out;
  for (const Feature& feature : features) {
    if (const auto* texts = std::get_if<std::vector<BytesView>>(&feature.values)) {
      std::vector<std::string> values;
      for (const BytesView text : *texts) values.push_back(to_string(text));
      out[feature.name] = values;
    } else if (const auto* floats = std::get_if<std::vector<float>>(&feature.values)) {
      out[feature.name] = *floats;
    } else {
      out[feature.name] = std::get<std::vector<std::int64_t>>(feature.values);
    }
  }
  return out;
}

Bytes build(const FeatureMap& features) {
  ExampleBuilder builder;
  std::vector<std::vector<BytesView>> views;
  views.reserve(features.size());
  for (auto at = features.rbegin(); at != features.rend(); ++at) {
    const auto& [name, values] = *at;
    if (const auto* texts = std::get_if<0>(&values)) {
      std::vector<BytesView>& list = views.emplace_back();
      for (const std::string& text : *texts) list.push_back(as_bytes(text));
      builder.add_bytes_list(name, list);
    } else if (const auto* floats = std::get_if<1>(&values)) {
      builder.add_floats(name, *floats);
    } else {
      builder.add_int64s(name, std::get<2>(values));
    }
  }
  Bytes out;
  builder.append_to(out);
  return out;
}

TEST(Example, IsWrittenAsProtobufWritesIt) {
  // tf.train.Example(…).SerializeToString(deterministic=True) of {"a": [1.5, -2.0], "b": [-1, 300], "c":
  // ["xy"]}
  const float floats[] = {1.5F, -2.0F};
  const std::int64_t integers[] = {-1, 300};
  ExampleBuilder builder;
  builder.add_bytes("c", as_bytes("xy"));
  builder.add_int64s("b", integers);
  builder.add_floats("a", {});
  builder.add_floats("a", floats);
  Bytes out;
  builder.append_to(out);
  const std::string_view expected(
      "\x0a\x37"
      "\x0a\x11\x0a\x01"
      "a\x12\x0c\x12\x0a\x0a\x08\x00\x00\xc0\x3f\x00\x00\x00\xc0"
      "\x0a\x15\x0a\x01"
      "b\x12\x10\x1a\x0e\x0a\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02"
      "\x0a\x0b\x0a\x01"
      "c\x12\x06\x0a\x04\x0a\x02xy",
      57);
  EXPECT_EQ(as_text(out), expected);
}

TEST(Example, OneByteStringIsAListOfOne) {
  ExampleBuilder builder;
  Bytes single, list;
  const BytesView value = as_bytes("text");
  builder.add_bytes("x", value);
  builder.append_to(single);
  builder.add_bytes_list("x", {&value, 1});
  builder.append_to(list);
  EXPECT_EQ(single, list);
  builder.append_to(list);
  EXPECT_EQ(list, single) << "the features were forgotten: an Example without any is empty";
}

TEST(Example, WhatIsBuiltIsParsedBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const FeatureMap features = random_features(random);
    const Bytes record = build(features);
    const Result<std::vector<Feature>> parsed = parse_example(record);
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(to_map(*parsed), features);
  }
}

TEST(Example, EveryEncodingOfProtobufIsParsed) {
  std::mt19937 random(2);
  for (int round = 0; round < 10'000; ++round) {
    const FeatureMap features = random_features(random);
    const Bytes record = write_any_way(features, random);
    const Result<std::vector<Feature>> parsed = parse_example(record);
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(to_map(*parsed), features) << "round " << round;
  }
}

TEST(Example, AFeatureOfNoKindIsThereWithoutValues) {
  Bytes record;
  WireWriter(record).message(1, [](WireWriter& map) {
    map.message(1, [](WireWriter& entry) {
      entry.text(1, "x");
      entry.text(2, "");
    });
  });
  const std::vector<Feature> features = *parse_example(record);
  ASSERT_EQ(features.size(), 1U);
  EXPECT_EQ(features[0].name, "x");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(features[0].values));
  EXPECT_TRUE(parse_example({})->empty());
}

TEST(Example, WhatIsMalformedIsAnErrorAndNeverMore) {
  std::mt19937 random(3);
  int errors = 0;
  for (int round = 0; round < 5000; ++round) {
    Bytes record = write_any_way(random_features(random), random);
    for (unsigned flips = 1 + random() % 3; flips > 0 && !record.empty(); --flips) {
      record[random() % record.size()] = static_cast<std::byte>(random());
    }
    record.resize(record.size() - std::min<std::size_t>(record.size(), random() % 4));
    const Result<std::vector<Feature>> parsed = parse_example(record);
    if (parsed) continue;
    EXPECT_EQ(parsed.error().code, Code::kDataLoss);
    ++errors;
  }
  EXPECT_GT(errors, 1000);
}

TEST(Example, WhatIsMalformedNamesItsFeature) {
  const auto message = [](std::string_view feature) {
    Bytes record;
    WireWriter(record).message(1, [&](WireWriter& map) {
      map.message(1, [&](WireWriter& entry) {
        entry.text(1, "x");
        entry.text(2, feature);
      });
    });
    const auto parsed = parse_example(record);
    return parsed ? "it was parsed" : parsed.error().message;
  };
  EXPECT_EQ(message("\x12\5"), "not a tf.Example: malformed message (feature \"x\")");
  EXPECT_EQ(message("\x12\3\x0a\1x"), "not a tf.Example: malformed message (feature \"x\")");
  EXPECT_EQ(parse_example(as_bytes("\x0a\5")).error().message, "not a tf.Example: malformed message");
}

TEST(Example, OfFeaturesWithOneNameTheLastCounts) {
  Bytes record;
  WireWriter(record).message(1, [](WireWriter& map) {
    for (const std::string_view value : {"1", "2", "3"}) {
      for (const char* name : {"b", "a"}) {
        map.message(1, [&](WireWriter& entry) {
          entry.text(1, name);
          entry.message(2, [&](WireWriter& feature) {
            feature.message(1, [&](WireWriter& list) { list.text(1, concat(name, value)); });
          });
        });
      }
    }
  });
  const FeatureMap expected = {{"a", std::vector<std::string>{"a3"}}, {"b", std::vector<std::string>{"b3"}}};
  EXPECT_EQ(to_map(*parse_example(record)), expected);
  EXPECT_EQ(parse_example(record)->size(), 2U);
}

}  // namespace
}  // namespace headrace
