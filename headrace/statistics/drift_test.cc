#include "headrace/statistics/drift.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::HasSubstr;

Feature float_feature(std::string name, double value) {
  return {std::move(name), std::vector<float>{static_cast<float>(value)}};
}
Feature text_feature(std::string name, std::string_view value) {
  return {std::move(name), std::vector<BytesView>{as_bytes(value)}};
}

template <typename Example>
SplitStatistics drift_split(std::uint64_t records, Example&& example,
                            const FeatureVocabularies& vocabularies = {}) {
  SplitStatistics out;
  for (std::uint64_t i = 0; i < records; ++i) out.add(example(i), vocabularies, i);
  out.finish();
  return out;
}

TEST(Drift, IsSmallWhereNothingHasMoved) {
  const auto same = [](std::uint64_t i) {
    return std::vector{float_feature("x", i % 100), text_feature("city", i % 3 == 0 ? "a" : "b")};
  };
  const auto drifts = compare_features(drift_split(2000, same), drift_split(999, same), {});
  ASSERT_EQ(drifts.size(), 2U);
  for (const FeatureDrift& each : drifts) {
    EXPECT_LT(each.psi, each.chance) << each.feature;
    EXPECT_FALSE(each.has_moved);
  }
}

TEST(Drift, IsTheStabilityIndexOfTheShares) {
  const auto before =
      drift_split(1000, [](std::uint64_t i) { return std::vector{text_feature("c", i < 500 ? "a" : "b")}; });
  const auto now =
      drift_split(1000, [](std::uint64_t i) { return std::vector{text_feature("c", i < 800 ? "a" : "b")}; });
  const auto drift = compare_features(before, now, {}).front();
  EXPECT_EQ(drift.compared, "values");
  EXPECT_NEAR(drift.psi, 0.3 * std::log(0.8 / 0.5) - 0.3 * std::log(0.2 / 0.5), 0.002);
  EXPECT_NEAR(drift.chance, 6.635 * (2.0 / 1000), 0.0005) << "χ² of one degree, 99 %";
  EXPECT_TRUE(drift.has_moved);
  EXPECT_EQ(drift.bin, "\"b\"");
  EXPECT_DOUBLE_EQ(drift.bin_before, 0.5);
  EXPECT_DOUBLE_EQ(drift.bin_now, 0.2);
}

TEST(Drift, TheLargestComesFirstAndTellsWhere) {
  const auto before = drift_split(1000, [](std::uint64_t i) {
    return std::vector{float_feature("little", i % 100), float_feature("much", i % 100)};
  });
  const auto now = drift_split(1000, [](std::uint64_t i) {
    return std::vector{float_feature("little", i % 100 + 2), float_feature("much", i % 100 + 80)};
  });
  const auto drifts = compare_features(before, now, {});
  EXPECT_EQ(drifts[0].feature, "much");
  EXPECT_THAT(drifts[0].bin, HasSubstr("above 90"));
  EXPECT_GT(drifts[0].psi, 0.25);
  EXPECT_FALSE(drifts[1].has_moved);
  EXPECT_THAT(feature_drift_to_text(drifts), HasSubstr("moved"));
}

FeatureDrift drift_of_numbers(const std::function<double(std::uint64_t)>& before,
                              const std::function<double(std::uint64_t)>& now) {
  const auto split = [](const auto& number) {
    return drift_split(1000, [&](std::uint64_t i) { return std::vector{float_feature("x", number(i))}; });
  };
  return compare_features(split(before), split(now), {}).front();
}

TEST(Drift, ANumberThatIsRepeatedHasABinOfItsOwn) {
  const auto discount = [](std::uint64_t i) { return i % 20 == 0 ? static_cast<double>(i) : 0.0; };
  const auto less = [&](std::uint64_t i) { return i % 20 == 0 ? discount(i) : -5.0; };
  FeatureDrift drift = drift_of_numbers(discount, less);
  EXPECT_TRUE(drift.has_moved);
  EXPECT_EQ(drift.bin, "below 0");
  EXPECT_EQ(drift.bin_before, 0);
  EXPECT_NEAR(drift.bin_now, 0.95, 0.001);
  EXPECT_FALSE(drift_of_numbers(discount, discount).has_moved);

  drift = drift_of_numbers([](std::uint64_t) { return 1.5; }, [](std::uint64_t) { return 0.1; });
  EXPECT_TRUE(drift.has_moved);
  drift = drift_of_numbers([](std::uint64_t) { return 1.5; }, [](std::uint64_t) { return 1.6; });
  EXPECT_TRUE(drift.has_moved);
  EXPECT_NEAR(drift_of_numbers([](std::uint64_t) { return 1.5; }, [](std::uint64_t) { return 1.5; }).psi, 0,
              1e-9);

  // A value in the middle: as many numbers are near it now as had this value before.
  const auto middle = [](std::uint64_t i) { return i % 3 == 0 ? 500.0 : static_cast<double>(i); };
  drift = drift_of_numbers(middle, [&](std::uint64_t i) { return i % 3 == 0 ? 499.5 : middle(i); });
  EXPECT_TRUE(drift.has_moved);
  EXPECT_EQ(drift.bin, "500");
}

TEST(Drift, NumbersThatAreNotFiniteHaveABin) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto number = [](std::uint64_t i) { return static_cast<double>(i % 100); };
  FeatureDrift drift =
      drift_of_numbers(number, [&](std::uint64_t i) { return i % 2 == 0 ? kNan : number(i / 2); });
  EXPECT_TRUE(drift.has_moved);
  EXPECT_EQ(drift.bin, "NaN or infinite");
  EXPECT_NEAR(drift.bin_now, 0.5, 1e-9);
  drift = drift_of_numbers(number, [](std::uint64_t) { return kNan; });
  EXPECT_TRUE(drift.has_moved);
  EXPECT_EQ(drift.compared, "numbers");
  EXPECT_TRUE(drift_of_numbers([](std::uint64_t) { return kNan; }, number).has_moved);
  EXPECT_FALSE(
      drift_of_numbers([](std::uint64_t) { return kNan; }, [](std::uint64_t) { return kNan; }).has_moved);
}

TEST(Drift, NewValuesAndMissingOnesAreShown) {
  const FeatureVocabularies vocabularies = {{"city", {"lima", "oslo"}}};
  const auto before = drift_split(
      100,
      [](std::uint64_t i) {
        return std::vector<Feature>{{"city", std::vector<std::int64_t>{static_cast<std::int64_t>(i % 2)}}};
      },
      vocabularies);
  const auto now = drift_split(
      100,
      [](std::uint64_t i) {
        if (i < 20) return std::vector<Feature>{{"city", {}}};
        return std::vector{text_feature("city", i < 40 ? "rome" : i % 2 == 0 ? "lima" : "oslo")};
      },
      vocabularies);
  const auto drift = compare_features(before, now, vocabularies).front();
  EXPECT_EQ(drift.compared, "values") << "an id in the dataset, a text in the requests";
  EXPECT_DOUBLE_EQ(drift.missing_before, 0);
  EXPECT_DOUBLE_EQ(drift.missing_now, 0.2);
  EXPECT_DOUBLE_EQ(drift.new_values, 0.25);
  EXPECT_TRUE(drift.has_moved);
}

TEST(Drift, SizesOfTextsAreCompared) {
  const auto before = drift_split(500, [texts = std::vector<std::string>(500)](std::uint64_t i) mutable {
    texts[i] = concat(i, std::string(i % 50, 'x'));
    return std::vector{text_feature("t", texts[i])};
  });
  const auto now = drift_split(500, [texts = std::vector<std::string>(500)](std::uint64_t i) mutable {
    texts[i] = concat(i, std::string(150 + i % 50, 'x'));
    return std::vector{text_feature("t", texts[i])};
  });
  const auto drift = compare_features(before, now, {}).front();
  EXPECT_EQ(drift.compared, "bytes");
  EXPECT_TRUE(drift.has_moved);
}

TEST(Drift, FeaturesThatCannotBeComparedComeLastWithTheReason) {
  const auto before = drift_split(50, [](std::uint64_t i) {
    return std::vector<Feature>{{"a_label", std::vector<std::int64_t>{0}},
                                {"vector", std::vector<float>{1, 2}},
                                float_feature("x", i)};
  });
  const auto now = drift_split(50, [](std::uint64_t i) {
    return std::vector{text_feature("vector", "a text"), float_feature("x", i), float_feature("b_other", 1)};
  });
  const auto drifts = compare_features(before, now, {{"a_label", {"yes", "no"}}});
  ASSERT_EQ(drifts.size(), 4U);
  EXPECT_EQ(drifts[0].feature, "x");
  EXPECT_EQ(drifts[1].reason, "not in the requests");
  EXPECT_EQ(drifts[2].reason, "not in the dataset");
  EXPECT_EQ(drifts[3].reason, "float32 in the dataset, bytes in the requests");
  EXPECT_THAT(feature_drift_to_json(drifts).dump(), HasSubstr("\"not_compared\":\"not in the requests\""));
}

TEST(Drift, AFeatureThatIsAlwaysMissingNowHasMoved) {
  const auto before = drift_split(100, [](std::uint64_t i) { return std::vector{float_feature("x", i)}; });
  const auto now = drift_split(100, [](std::uint64_t) { return std::vector<Feature>{{"x", {}}}; });
  const auto drift = compare_features(before, now, {}).front();
  EXPECT_TRUE(drift.has_moved);
  EXPECT_EQ(drift.compared, "presence");
  EXPECT_EQ(drift.missing_now, 1);

  const auto absent = drift_split(100, [](std::uint64_t) { return std::vector{float_feature("y", 1)}; });
  const auto drifts = compare_features(before, absent, {});
  ASSERT_EQ(drifts[0].feature, "x");
  EXPECT_TRUE(drifts[0].has_moved) << "no record has the column";
  EXPECT_EQ(drifts[0].compared, "presence");
  EXPECT_EQ(drifts[0].missing_now, 1);
}

}  // namespace
}  // namespace headrace
