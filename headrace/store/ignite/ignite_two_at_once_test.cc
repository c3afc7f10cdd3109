// A writer is stalled, killed or cut off before each of its requests in turn, and meets gc, other writers and
// readers there. Whatever happens: readers see one whole object, and in the end nothing is left over.

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <set>

#include "headrace/base/text.h"
#include "headrace/store/conformance.h"
#include "headrace/store/ignite/frame_relay_test.h"
#include "headrace/store/ignite/ignite_heads.h"
#include "headrace/store/ignite/ignite_server_test.h"

namespace headrace {
namespace {

using Fate = FrameRelay::Fate;

constexpr std::size_t kLarge = 2 * kIgniteChunkBytes + 77;
constexpr std::size_t kSmall = 50;
constexpr int kMostRequests = 60;

const Bytes& large(unsigned seed) {
  static const std::array<Bytes, 3> contents = {random_bytes(kLarge, 0), random_bytes(kLarge, 1),
                                                random_bytes(kLarge, 2)};
  return contents.at(seed);
}
Bytes content_of(std::size_t size, unsigned seed) {
  return Bytes(large(seed).begin(), large(seed).begin() + static_cast<std::ptrdiff_t>(size));
}

// As `headrace gc --older-than 0s`.
void collect(Store& store) {
  const auto unfinished = list_all_unfinished(store, "");
  ASSERT_OK(unfinished);
  for (const UnfinishedWrite& write : *unfinished) ASSERT_OK(store.remove_unfinished(write, {}));
}

// The caches hold the chunks of objects and nothing else: no notes, no claims, no chunks of others.
void expect_nothing_left(const IgniteCaches& caches, const std::string& when) {
  std::int64_t chunks = 0;
  const Status scanned = scan_heads(caches, [&](BytesView key, BytesView value) -> Result<bool> {
    EXPECT_TRUE(object_key(key)) << when << ": a note is left";
    const Result<IgniteHead> head = decode_head(value);
    if (!head) return head.error();
    EXPECT_FALSE(head->is_claim) << when << ": a claim is left";
    chunks += head->chunks();
    return true;
  });
  ASSERT_OK(scanned);
  EXPECT_EQ(*caches.chunks.size(), chunks) << when;
}

class IgniteTwoAtOnce : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  // Sizes of the object before (0: there is none) and of the one that is written.
  std::size_t before_bytes() const { return std::get<0>(GetParam()); }
  std::size_t new_bytes() const { return std::get<1>(GetParam()); }

  void begin() {
    direct_ = open_empty_ignite_store();
    if (before_bytes() > 0) ASSERT_OK(direct_->write("key", content_of(before_bytes(), 0), {}));
  }
  // The number of the content that a reader sees; -1: nothing; fails on anything else.
  int seen() {
    const auto read = read_object(*direct_, "key", 1 << 30);
    if (!read && read.error().code == Code::kNotFound) return -1;
    EXPECT_TRUE(read) << read.error().message;
    if (!read) return -2;
    for (unsigned i = 0; i < 3; ++i)
      if (read->data.size() <= kLarge && read->data == content_of(read->data.size(), i))
        return static_cast<int>(i);
    ADD_FAILURE() << "a mixture, or other bytes than anybody wrote";
    return -2;
  }
  IgniteOptions through(const FrameRelay& relay) const {
    IgniteOptions options = test_cluster_options();
    options.cluster.addresses = {relay.address()};
    options.cluster.discover = false;
    options.cluster.backoff = {.shortest = std::chrono::milliseconds(1)};
    return options;
  }
  Result<ObjectInfo> write_through(const FrameRelay& relay, const WriteOptions& options) const {
    const auto store = open_ignite_store("ignite://relay/headrace-test", "headrace-test", through(relay));
    return store->write("key", content_of(new_bytes(), 1), options);
  }
  // Calls `run` with a relay that does `act` before request 0, then one more before 1, and so on, until all
  // requests were passed.
  void at_each_request(const std::function<Fate()>& act,
                       const std::function<void(FrameRelay&, const std::string& when)>& run) {
    for (int at = 1; at < kMostRequests; ++at) {  // 0 is the handshake
      begin();
      FrameRelay relay(test_cluster_options().cluster.addresses.front(),
                       [&](int number) { return number == at ? act() : Fate::kPass; });
      const std::string when = concat("before request ", at);
      run(relay, when);
      if (HasFailure()) return;
      if (relay.requests() <= at) return;
    }
    ADD_FAILURE() << "a write takes more requests than any should";
  }

  std::unique_ptr<Store> direct_;
  const IgniteCaches caches_ = test_caches();
};

TEST_P(IgniteTwoAtOnce, GcMeetsAStalledWriter) {
  int stopped = 0;
  at_each_request(
      [&] {
        collect(*direct_);
        return Fate::kPass;
      },
      [&](FrameRelay& relay, const std::string& when) {
        const auto written = write_through(relay, {});
        if (!written) {
          EXPECT_EQ(written.error().code, Code::kAborted) << when << ": " << written.error().message;
          ++stopped;
        }
        EXPECT_EQ(seen(), written ? 1 : before_bytes() > 0 ? 0 : -1) << when;
        expect_nothing_left(caches_, when);
      });
  EXPECT_TRUE(new_bytes() != kLarge || stopped > 2);  // gc is no gc if it never removes anything
}

TEST_P(IgniteTwoAtOnce, AnotherWriterOvertakes) {
  for (const bool creates : {false, true}) {
    if (creates && before_bytes() > 0) continue;
    const WriteOptions options{.only_if_absent = creates};
    bool other_won = false;
    at_each_request(
        [&] {
          other_won = direct_->write("key", content_of(kLarge, 2), options).has_value();
          return Fate::kPass;
        },
        [&](FrameRelay& relay, const std::string& when) {
          other_won = false;
          const auto written = write_through(relay, options);
          if (creates && other_won) {
            EXPECT_EQ(written.error().code, Code::kAlreadyExists) << when;
            EXPECT_EQ(seen(), 2) << when;
          } else {
            EXPECT_TRUE(written) << when << ": " << written.error().message;
            EXPECT_GT(seen(), 0) << when;
          }
          expect_nothing_left(caches_, when);
        });
  }
}

TEST_P(IgniteTwoAtOnce, AKilledWriterLeavesWhatGcRemoves) {
  std::stop_source stop;
  at_each_request(
      [&] {
        stop.request_stop();
        return Fate::kLoseRequest;
      },
      [&](FrameRelay& relay, const std::string& when) {
        stop = {};
        IgniteOptions options = through(relay);
        options.cleaning_time = std::chrono::milliseconds(10);
        const auto store = open_ignite_store("ignite://relay/headrace-test", "headrace-test", options);
        auto upload = store->start_upload("key", {.call = {.stop = stop.get_token()}});
        bool was_written = upload && (*upload)->append(content_of(new_bytes(), 1));
        was_written = was_written && (*upload)->commit();
        relay.close();  // so that the upload cannot clean up when it is dropped
        if (upload) upload->reset();
        EXPECT_THAT(seen(), testing::AnyOf(1, before_bytes() > 0 ? 0 : -1)) << when;
        EXPECT_TRUE(!was_written || seen() == 1) << when;
        const int before_gc = seen();
        collect(*direct_);
        EXPECT_EQ(seen(), before_gc) << when;
        expect_nothing_left(caches_, when);
      });
}

TEST_P(IgniteTwoAtOnce, ALostResponseIsFoundOut) {
  at_each_request([] { return Fate::kLoseResponse; },
                  [&](FrameRelay& relay, const std::string& when) {
                    const auto written = write_through(relay, {});
                    EXPECT_TRUE(written) << when << ": " << written.error().message;
                    EXPECT_EQ(seen(), 1) << when;
                    collect(*direct_);  // what was replaced stays if just its removal was cut off
                    expect_nothing_left(caches_, when);
                  });
}

TEST_P(IgniteTwoAtOnce, AReaderSeesOneObjectWhileItIsReplaced) {
  if (before_bytes() == 0) return;
  at_each_request(
      [&] {
        EXPECT_TRUE(direct_->write("key", content_of(new_bytes(), 2), {}).has_value());
        return Fate::kPass;
      },
      [&](FrameRelay& relay, const std::string& when) {
        const auto store = open_ignite_store("ignite://relay/headrace-test", "headrace-test", through(relay));
        Bytes target(kLarge + 1);
        const auto read = store->read_into("key", target, {});
        ASSERT_TRUE(read) << when << ": " << read.error().message;
        target.resize(read->bytes_read);
        EXPECT_TRUE(target == content_of(before_bytes(), 0) || target == content_of(new_bytes(), 2)) << when;
      });
}

TEST_P(IgniteTwoAtOnce, ARemovalMeetsAWriterAndGc) {
  for (const bool writes : {false, true}) {
    at_each_request(
        [&] {
          if (writes) {
            EXPECT_TRUE(direct_->write("key", content_of(new_bytes(), 2), {}).has_value());
          } else {
            collect(*direct_);
          }
          return Fate::kPass;
        },
        [&](FrameRelay& relay, const std::string& when) {
          const auto store =
              open_ignite_store("ignite://relay/headrace-test", "headrace-test", through(relay));
          const Status removed = remove_object(*store, "key");
          EXPECT_TRUE(removed) << when << ": " << removed.error().message;
          EXPECT_TRUE(writes || seen() == -1) << when;
          expect_nothing_left(caches_, when);
        });
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, IgniteTwoAtOnce,
                         testing::Values(std::tuple(0, kSmall), std::tuple(0, kLarge),
                                         std::tuple(kSmall, kLarge), std::tuple(kLarge, kSmall),
                                         std::tuple(kLarge, kLarge)));

TEST(IgniteStoreOnServer, ListsInPartsWhatDoesNotFitIntoMemory) {
  const auto whole = open_empty_ignite_store();
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back(concat("f", zero_padded(i / 10, 2), "/", zero_padded(i, 3)));
  for (const std::string& key : keys) ASSERT_OK(write_text(*whole, key, "x"));
  IgniteOptions options = test_cluster_options();
  options.listing_bytes = 2'000;  // nine names
  const auto store = open_ignite_store("ignite://test/headrace-test", "headrace-test", options);
  std::vector<std::string> listed;
  ASSERT_OK(
      store->list("", {}, [&](const ObjectInfo& object) { return listed.push_back(object.key), true; }));
  EXPECT_EQ(listed, keys);
  listed.clear();
  ASSERT_OK(store->list("", {.collapse_folders = true},
                        [&](const ObjectInfo& object) { return listed.push_back(object.key), true; }));
  ASSERT_EQ(listed.size(), 20U);
  EXPECT_EQ(listed[7], "f07/");
}

TEST(IgniteStoreOnServer, AMissingChunkAndADamagedOneAreDataLoss) {
  const auto store = open_empty_ignite_store();
  const IgniteCaches caches = test_caches();
  const auto written = store->write("key", large(0), {});
  ASSERT_OK(written);
  const UploadId upload = *UploadId::parse(written->version.token);
  Bytes entry;
  {
    const auto stored = caches.chunks.get(upload.chunk_key(1));
    entry.assign((*stored)->bytes.begin(), (*stored)->bytes.end());
  }
  entry[1'000] ^= std::byte{1};
  ASSERT_TRUE(caches.chunks.put(upload.chunk_key(1), entry).has_value());
  Bytes target(10);
  const auto damaged = store->read_into("key", target, {.offset_bytes = kIgniteChunkBytes + 5});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::kDataLoss);
  ASSERT_OK(store->read_into("key", target, {}));
  ASSERT_TRUE(caches.chunks.remove_keys({upload.chunk_key(1)}).has_value());
  const auto missing = store->read_into("key", target, {.offset_bytes = kIgniteChunkBytes + 5});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kDataLoss);
  EXPECT_THAT(missing.error().message, testing::HasSubstr("ignite://test/headrace-test/key"));
}

TEST(IgniteStoreOnServer, CachesThatAreGoneAreCreatedAgain) {
  const IgniteOptions options = test_cluster_options();
  const auto store = open_ignite_store("ignite://test/headrace-test-gone", "headrace-test-gone", options);
  IgniteClient client("ignite://test/headrace-test-gone", "headrace-test-gone", options);
  for (const Bytes& content : {content_of(kSmall, 0), content_of(kLarge, 0)}) {
    ASSERT_OK(store->write("key", content, {}));
    const auto caches = client.for_reading({});
    ASSERT_OK(caches);
    ASSERT_TRUE(caches->heads.destroy().has_value());
    ASSERT_TRUE(caches->chunks.destroy().has_value());
    EXPECT_EQ(store->stat("key", {}).error().code, Code::kNotFound);
    EXPECT_THAT(*list_all(*store, ""), testing::IsEmpty());
    ASSERT_OK(remove_object(*store, "key"));
    EXPECT_EQ(store->write("key", content, {}).error().code, Code::kNotFound);
    ASSERT_OK(store->write("key", content, {}));
    EXPECT_EQ(store->stat("key", {})->size_bytes, content.size());
  }
  const auto caches = client.for_reading({});
  ASSERT_TRUE(caches->heads.destroy().has_value());
  ASSERT_TRUE(caches->chunks.destroy().has_value());
}

TEST(IgniteStoreOnServer, EntriesOfAnotherProgramAreNotTouched) {
  const auto store = open_empty_ignite_store();
  const IgniteCaches caches = test_caches();
  ASSERT_TRUE(caches.heads.put(ignite::encode_string("key"), ignite::encode_long(7)).has_value());
  for (const auto& refused : {write_text(*store, "key", "x"), store->stat("key", {})}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("Headrace cannot read"));
  }
}

}  // namespace
}  // namespace headrace
