#pragma once

/// \file For tests: a dataset that is published in a memory store, with any record of its inputs and rows.
/// Include gtest before it.

#include <string>
#include <string_view>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/coordinate/chain.h"
#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/plan/plan_request.h"
#include "headrace/prepare/source/source_test.h"

namespace headrace {

/// Publishes datasets at memory://test/out.
class PublishedDatasetTest : public SourceTest {
 protected:
  Location output() { return at("out"); }

  /// A line of a part that lists inputs, about the object that lies at `key` now.
  std::string read_line(const std::string& key) {
    const ObjectInfo object = *store().stat(key, {});
    return concat(R"({"url":"memory://test/)", key, R"(","size_bytes":)", object.size_bytes,
                  R"(,"version":")", object.version.token, "\"}\n");
  }

  /// Adds a part to those of the next version.
  void add_part(std::string_view role, const std::string& key, std::string_view text) {
    put("out/" + key, text);
    parts_.push_back({.key = key, .size_bytes = text.size(), .role = std::string(role)});
  }

  /// Publishes the parts so far; returns the manifest's number.
  std::uint64_t publish(const Configuration& configuration,
                        OwnershipAction action = OwnershipAction::kBegin) {
    auto owner =
        Ownership::take(output(), *read_chain(output()), {.action = action, .configuration = configuration});
    EXPECT_TRUE(owner) << owner.error().message;
    const auto published =
        owner->publish({.kind = std::string(kDatasetKind),
                        .plan = configuration_digest(configuration),
                        .parts = parts_,
                        .attributes_json = dataset_attributes_to_json({.compression = "none", .seed = 17})});
    EXPECT_TRUE(published) << published.error().message;
    return published->number;
  }

  Result<PlannedPrepare> plan(const PlanRequest& request, const std::string& input) {
    return plan_prepare(request, at(input), output(), context_);
  }

  std::vector<ManifestPart> parts_;
  Environment environment_;
  PlanningContext context_{.stores = stores_, .environment = environment_};
};

}  // namespace headrace
