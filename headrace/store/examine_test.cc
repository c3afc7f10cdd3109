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

// A store that is correct except in one respect.
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

// A store that answers as a test says, with its errors and its reads.
class Answering final : public ForwardingStore {
 public:
  Answering() : ForwardingStore(make_memory_store("examined")) {}
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    EXPECT_EQ(options.call.deadline, std::chrono::milliseconds(4'321));
    ++reads;
    if (fails == "read") return Error{Code::kDataLoss, "no read"};
    if (fails == "second read" && reads == 2) return Error{Code::kDataLoss, "no second read"};
    if (fails == "last read" && reads == 3) return Error{Code::kDataLoss, "no last read"};
    ReadOptions any = options;
    if (ignores_version || keeps_versions) any.if_version.reset();
    auto read = inner().read_into(key, target, any);
    if (read && keeps_versions && options.if_version) read->object.version = *options.if_version;
    return read;
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    EXPECT_EQ(options.call.deadline, std::chrono::milliseconds(4'321));
    ++writes;
    if (writes == failing_write) return Error{Code::kUnavailable, concat("no write ", writes)};
    written.assign(data.begin(), data.end());
    WriteOptions kept = options;
    if (!capabilities().atomic_if_version) {
      EXPECT_FALSE(options.if_version);
    }
    return inner().write(key, data, kept);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    EXPECT_EQ(options.call.deadline, std::chrono::milliseconds(4'321));
    if (fails == "list") return Error{Code::kUnavailable, "no list"};
    visit({.key = std::string(prefix) + "-other"});
    return {};
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    EXPECT_FALSE(options.stop.stop_requested());
    if (fails == "remove") return Error{Code::kPermissionDenied, "no removal"};
    return inner().remove_many(keys, options);
  }
  Capabilities capabilities() const override {
    Capabilities all = inner().capabilities();
    all.atomic_if_version = replaces_versions;
    return all;
  }

  std::string fails;
  bool ignores_version = false, keeps_versions = false, replaces_versions = true;
  int reads = 0, writes = 0, failing_write = 0;
  Bytes written;
};

std::map<std::string, Finding> answers_of(Answering& store, ExamineOptions options = {.speed_bytes = 0}) {
  options.call.deadline = std::chrono::milliseconds(4'321);
  std::map<std::string, Finding> findings;
  examine_writes(store, "folder", options, [&](const Finding& finding) {
    EXPECT_TRUE(findings.emplace(finding.name, finding).second) << finding.name << " twice";
  });
  return findings;
}

TEST(Examine, AnObjectThatIsNotAmongThoseListedIsMissing) {
  Answering store;
  const auto findings = answers_of(store);
  EXPECT_EQ(findings.at("listing").outcome, Outcome::kFailure);
  EXPECT_EQ(findings.at("listing").text, "an object that was just written is not listed");
  EXPECT_THAT(findings.at("listing").advice, HasSubstr("may miss new objects"));
  EXPECT_EQ(findings.count("speed"), 0U) << "no size to measure";
  EXPECT_EQ(findings.size(), 6U);
  Answering failing;
  failing.fails = "list";
  EXPECT_EQ(answers_of(failing).at("listing").text, "no list");
}

TEST(Examine, AReadOfAVersionThatWasReplacedIsRefusedKeptOrWrong) {
  Answering refusing, keeping, mixing, failing;
  EXPECT_EQ(answers_of(refusing).at("reads of one version").text, "a version that was replaced is not read");
  keeping.keeps_versions = true;
  const Finding kept = answers_of(keeping).at("reads of one version");
  EXPECT_EQ(kept.outcome, Outcome::kOk);
  EXPECT_EQ(kept.text, "a version that was replaced can still be read");
  mixing.ignores_version = true;
  const Finding mixed = answers_of(mixing).at("reads of one version");
  EXPECT_EQ(mixed.outcome, Outcome::kFailure);
  EXPECT_EQ(mixed.text, "the version read is not the one requested");
  EXPECT_THAT(mixed.advice, HasSubstr("write each object only once"));
  failing.fails = "second read";
  const Finding failed = answers_of(failing).at("reads of one version");
  EXPECT_EQ(failed.outcome, Outcome::kFailure);
  EXPECT_EQ(failed.text, "no second read");
}

TEST(Examine, EachWriteThatFailsIsAFinding) {
  const std::map<int, std::pair<std::string, std::string>> named = {
      {1, {"write", "no write 1"}},
      {2, {"conditional create", "no write 2"}},
      {3, {"conditional replace", "no write 3"}},
      {4, {"conditional replace", "no write 4"}},
      {5, {"speed", "no write 5"}}};
  for (const auto& [number, finding] : named) {
    Answering store;
    store.failing_write = number;
    const auto findings = answers_of(store, {.speed_bytes = 100});
    ASSERT_TRUE(findings.contains(finding.first)) << number;
    EXPECT_EQ(findings.at(finding.first).outcome, Outcome::kFailure);
    EXPECT_EQ(findings.at(finding.first).text, finding.second);
    EXPECT_EQ(findings.size(), number == 1 ? 2U : 7U) << "after the first write, all goes on";
  }
}

TEST(Examine, AReadThatFailsIsAFinding) {
  Answering first, last;
  first.fails = "read";
  const auto findings = answers_of(first);
  EXPECT_EQ(findings.at("read").text, "no read");
  EXPECT_EQ(findings.size(), 2U) << "and the removal";
  last.fails = "last read";
  EXPECT_EQ(answers_of(last, {.speed_bytes = 100}).at("speed").text, "no last read");
}

TEST(Examine, AStoreThatReplacesNoVersionSaysSo) {
  Answering store;
  store.replaces_versions = false;
  const Finding finding = answers_of(store).at("conditional replace");
  EXPECT_EQ(finding.outcome, Outcome::kOk);
  EXPECT_EQ(finding.text, "not offered by this kind of store");
  EXPECT_EQ(store.writes, 3);
}

TEST(Examine, SaysWhatItFoundAndWhatToDo) {
  Answering store;
  const auto findings = answers_of(store);
  EXPECT_THAT(findings.at("write and read").text,
              testing::MatchesRegex("memory://examined/folder/headrace-doctor-[0-9a-f]+, [0-9]+ bytes"));
  EXPECT_EQ(findings.at("conditional create").text, "the second of two writers is refused");
  EXPECT_EQ(findings.at("conditional replace").text, "only the version named is replaced");
  EXPECT_THAT(findings.at("removal").text, testing::StartsWith("done; a bucket with versioning"));
  Flawed replacing(Flawed::Flaw::kIgnoresAbsent), stale(Flawed::Flaw::kIgnoresVersion),
      closed(Flawed::Flaw::kRefusesWrites), other(Flawed::Flaw::kChangesBytes);
  EXPECT_EQ(findings_about(replacing).at("conditional create").text,
            "an existing object was replaced without an error");
  EXPECT_THAT(findings_about(replacing).at("conditional create").advice, HasSubstr("If-None-Match"));
  EXPECT_EQ(findings_about(replacing).at("conditional replace").outcome, Outcome::kOk)
      << "of the version that the second writer has written";
  EXPECT_EQ(findings_about(stale).at("conditional replace").text,
            "a version that no longer existed was replaced");
  EXPECT_THAT(findings_about(stale).at("conditional replace").advice, HasSubstr("If-Match"));
  EXPECT_EQ(findings_about(closed).at("write").text, "read-only");
  EXPECT_THAT(findings_about(closed).at("write").advice, HasSubstr("--no-write"));
  EXPECT_EQ(findings_about(closed).size(), 2U);
  EXPECT_EQ(findings_about(other).at("read").text, "the bytes read differ from the bytes written");
}

TEST(Examine, AnObjectThatCannotBeRemovedIsNamed) {
  Answering store;
  store.fails = "remove";
  const Finding finding = answers_of(store).at("removal");
  EXPECT_EQ(finding.outcome, Outcome::kWarning);
  EXPECT_EQ(finding.text, "no removal");
  EXPECT_THAT(finding.advice, testing::MatchesRegex(
                                  "remove memory://examined/folder/headrace-doctor-[0-9a-f]+ by hand, if it "
                                  "exists"));
}

TEST(Examine, RemovesItsObjectAfterAStop) {
  Answering store;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(answers_of(store, {.speed_bytes = 0, .call = {.stop = stop.get_token()}}).at("removal").outcome,
            Outcome::kOk);
}

TEST(Examine, MeasuresWithBytesThatNothingCanCompress) {
  Answering store;
  const auto findings = answers_of(store, {.speed_bytes = 80'000});
  EXPECT_THAT(findings.at("speed").text,
              testing::MatchesRegex("80.0 kB in one object: written at .*/s, read at .*/s"));
  ASSERT_EQ(store.written.size(), 80'000U);
  std::map<std::byte, int> counts;
  for (const std::byte byte : store.written) ++counts[byte];
  EXPECT_EQ(counts.size(), 256U);
  for (const auto& [byte, count] : counts) EXPECT_LT(count, 1'000) << "of about 312";
  const BytesView bytes = store.written;
  EXPECT_NE(to_bytes(as_text(bytes.first(8))), to_bytes(as_text(bytes.subspan(8, 8))));
}

}  // namespace
}  // namespace headrace
