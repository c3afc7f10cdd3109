#include "headrace/store/examine.h"

#include <map>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Outcome = Finding::Outcome;

// A store that is good but for one thing.
class Flawed : public Store {
 public:
  enum class Flaw { kNone, kIgnoresAbsent, kIgnoresVersion, kRefusesWrites, kListsLate, kChangesBytes };
  explicit Flawed(Flaw flaw) : flaw_(flaw) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    auto read = inner_->read_into(key, target, options);
    if (flaw_ == Flaw::kChangesBytes && read && !target.empty()) target[0] ^= std::byte{1};
    return read;
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    return inner_->stat(key, options);
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (flaw_ == Flaw::kRefusesWrites) return Error{Code::kPermissionDenied, "read-only"};
    WriteOptions kept = options;
    if (flaw_ == Flaw::kIgnoresAbsent) kept.only_if_absent = false;
    if (flaw_ == Flaw::kIgnoresVersion) kept.if_version.reset();
    return inner_->write(key, data, kept);
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
    return inner_->start_upload(key, options);
  }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    return inner_->copy(from, to, options);
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    return inner_->remove_many(keys, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return flaw_ == Flaw::kListsLate ? Status() : inner_->list(prefix, options, visit);
  }
  Capabilities capabilities() const override { return inner_->capabilities(); }
  std::string describe(std::string_view key) const override { return inner_->describe(key); }

  Store& inner() { return *inner_; }

 private:
  const Flaw flaw_;
  const std::unique_ptr<Store> inner_ = make_memory_store("examined");
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
