#include "headrace/store/examine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Outcome = Finding::Outcome;

// A store that is good but for one thing.
class Flawed : public ForwardingStore {
 public:
  enum class Flaw { kNone, kIgnoresAbsent, kIgnoresVersion, kRefusesWrites, kListsLate, kChangesBytes };
  explicit Flawed(Flaw flaw) : ForwardingStore(make_memory_store("examined")), flaw_(flaw) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    auto read = inner().read_into(key, target, options);
    if (flaw_ == Flaw::kChangesBytes && read && !target.empty()) target[0] ^= std::byte{1};
    return read;
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (flaw_ == Flaw::kRefusesWrites) return Error{Code::kPermissionDenied, "read-only"};
    WriteOptions kept = options;
    if (flaw_ == Flaw::kIgnoresAbsent) kept.only_if_absent = false;
    if (flaw_ == Flaw::kIgnoresVersion) kept.if_version.reset();
    return inner().write(key, data, kept);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return flaw_ == Flaw::kListsLate ? Status() : inner().list(prefix, options, visit);
  }
  Store& inner() const { return ForwardingStore::inner(); }

 private:
  const Flaw flaw_;
};

std::map<std::string, Finding> findings_about(Flawed& store) {
  std::map<std::string, Finding> findings;
  examine_writes(store, "folder", {.speed_bytes = 1'000},
                 [&](Finding finding) { findings[finding.name] = finding; });
  EXPECT_THAT(*list_all(store.inner(), ""), IsEmpty()) << "nothing is left behind";
  return findings;
}

TEST(Examine, FindsNothingWrongWithAGoodStore) {
  Flawed store(Flawed::Flaw::kNone);
  const auto findings = findings_about(store);
  EXPECT_EQ(findings.size(), 7U);
  for (const auto& [name, finding] : findings) {
    EXPECT_EQ(finding.outcome, Outcome::kOk) << name << ": " << finding.text;
    EXPECT_EQ(finding.advice, "") << name;
  }
}

TEST(Examine, NamesThePromiseThatIsBroken) {
  const std::map<Flawed::Flaw, std::string> expected = {
      {Flawed::Flaw::kIgnoresAbsent, "conditional create"},
      {Flawed::Flaw::kIgnoresVersion, "conditional replace"},
      {Flawed::Flaw::kRefusesWrites, "write"},
      {Flawed::Flaw::kListsLate, "listing"},
      {Flawed::Flaw::kChangesBytes, "read"}};
  for (const auto& [flaw, broken] : expected) {
    Flawed store(flaw);
    const auto findings = findings_about(store);
    for (const auto& [name, finding] : findings)
      EXPECT_EQ(finding.outcome == Outcome::kFailure, name == broken) << broken << ", " << name;
    EXPECT_TRUE(findings.contains(broken)) << broken;
  }
}

}  // namespace
}  // namespace headrace
