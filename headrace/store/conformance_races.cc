// The promises of a store that many threads use at the same time.

#include <algorithm>
#include <atomic>
#include <thread>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/conformance.h"

namespace headrace {
namespace {

constexpr int kWriters = 16;

// The outcome of one race: how many writers won, and the number of the last winner.
struct Race {
  std::atomic<int> winners{0};
  std::atomic<int> winner{-1};
};

void race(Race& outcome, Code expected, const std::function<Result<ObjectInfo>(int)>& write) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      const auto written = write(i);
      if (written) ++outcome.winners, outcome.winner = i;
      if (!written) {
        EXPECT_EQ(written.error().code, expected) << written.error().message;
      }
    });
  }
}

Result<ObjectInfo> write_in_pieces(Store& store, std::string_view key, const std::string& text,
                                   const WriteOptions& options) {
  HEADRACE_TRY(const std::unique_ptr<Upload> upload, store.start_upload(key, options));
  HEADRACE_CHECK(upload->append(as_bytes(text)));
  return upload->commit();
}

TEST_P(StoreConformance, OfManyWritersOnlyIfAbsentExactlyOneWins) {
  ASSERT_TRUE(store->capabilities().atomic_if_absent);
  for (int round = 0; round < 5; ++round) {
    const std::string key = concat("claim-", round);
    Race outcome;
    race(outcome, Code::kAlreadyExists, [&](int i) {
      const WriteOptions options{.only_if_absent = true};
      return i % 2 == 0 ? write_text(*store, key, concat(i), options)
                        : write_in_pieces(*store, key, concat(i), options);
    });
    EXPECT_EQ(outcome.winners, 1);
    EXPECT_EQ(text_of(key), concat(outcome.winner.load()));
  }
}

TEST_P(StoreConformance, OfManyWritersWhoReplaceOneVersionExactlyOneWinsOrNoneCan) {
  const bool can = store->capabilities().atomic_if_version;
  ASSERT_OK(write_text(*store, "object", "first"));
  for (int round = 0; round < 5; ++round) {
    const auto before = store->stat("object", {});
    ASSERT_OK(before);
    const std::string text_before = text_of("object");
    Race outcome;
    race(outcome, can ? Code::kFailedPrecondition : Code::kUnimplemented, [&](int i) {
      return write_text(*store, "object", concat(round, " ", i), {.if_version = before->version});
    });
    EXPECT_EQ(outcome.winners, can ? 1 : 0);
    EXPECT_EQ(text_of("object"), can ? concat(round, " ", outcome.winner.load()) : text_before);
  }
}

TEST_P(StoreConformance, ReadersSeeTheOldObjectOrTheNewOneNeverAMixture) {
  const Bytes ones(200'000, std::byte{1}), twos(300'000, std::byte{2});
  ASSERT_OK(store->write("object", ones, {}));
  std::atomic<bool> done{false};
  std::atomic<int> failures{0};
  std::jthread writer([&] {
    for (int i = 0; i < 30; ++i) failures += store->write("object", i % 2 == 0 ? twos : ones, {}) ? 0 : 1;
    done = true;
  });
  while (!done) {
    Bytes target(400'000);
    const auto read = store->read_into("object", target, {});
    ASSERT_TRUE(read) << read.error().message;
    target.resize(read->bytes_read);
    ASSERT_TRUE(target == ones || target == twos);
  }
  writer.join();
  EXPECT_EQ(failures, 0);
}

// Writes or removes all keys, many at the same time; returns how many calls failed.
int change_all(Store& store, const std::vector<std::string>& keys, bool remove) {
  std::atomic<int> failures{0};
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kWriters; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < keys.size(); i += kWriters) {
        const bool done = remove ? remove_object(store, keys[i]).has_value()
                                 : write_text(store, keys[i], "x", {.is_durable = false}).has_value();
        failures += done ? 0 : 1;
      }
    });
  }
  threads.clear();
  return failures;
}

TEST_P(StoreConformance, AListingHasWhatStaysOnceAndInOrderWhileOthersComeAndGo) {
  const std::string wanted = Environment::capture().get("HEADRACE_CONFORMANCE_KEYS").value_or("900");
  const std::size_t count = parse_number<std::size_t>(wanted).value();
  std::vector<std::string> staying, going, coming;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = zero_padded(i, 6);
    staying.push_back(concat("many/", number));
    if (i % 4 == 0) going.push_back(concat("many/", number, "-goes"));
    if (i % 4 == 0) coming.push_back(concat("many/", number, "-comes"));
  }
  ASSERT_EQ(change_all(*store, staying, false), 0);
  ASSERT_EQ(change_all(*store, going, false), 0);
  std::atomic<int> failures{0};
  std::atomic<bool> done{false};
  std::jthread changing([&] {
    failures += change_all(*store, going, true);
    failures += change_all(*store, coming, false);
    done = true;
  });
  for (bool is_last = false; !is_last;) {
    is_last = done;
    const std::vector<std::string> listed = keys("many/");
    EXPECT_TRUE(std::adjacent_find(listed.begin(), listed.end(), std::greater_equal<>()) == listed.end());
    std::vector<std::string> stayed;
    for (const std::string& key : listed) {
      if (key.size() == staying[0].size()) stayed.push_back(key);
    }
    ASSERT_EQ(stayed, staying);
    if (is_last) {
      EXPECT_EQ(listed.size(), staying.size() + coming.size());
    }
  }
  changing.join();
  EXPECT_EQ(failures, 0);
  ASSERT_OK(store->remove_many(keys("many/"), {}));
  EXPECT_THAT(keys("many/"), testing::IsEmpty());
}

}  // namespace
}  // namespace headrace
