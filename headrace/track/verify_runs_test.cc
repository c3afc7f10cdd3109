#include "headrace/track/verify_runs.h"

#include <gmock/gmock.h>

#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

TEST(VerifyRuns, EveryFlippedBitOfARecordIsFound) {
  const Location root{std::shared_ptr<Store>(make_memory_store("b")), "", {"memory", "b", ""}};
  StoreRegistry stores{Environment{}};
  stores.put({"memory", "b", ""}, root.store);
  ASSERT_TRUE(write_text(*root.store, "data", "x"));
  auto recorder = RunRecorder::start(stores, root.at("out"), {.command = "train"}, {});
  ASSERT_TRUE(recorder);
  ASSERT_TRUE(recorder->add_input("data", root.at("data")));
  ASSERT_TRUE(recorder->add_series({"train", "memory://b/out/events", "event_files"}));
  ASSERT_TRUE(recorder->finish({}, {}));
  const auto verified = verify_runs(root);
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->objects, 4U);
  EXPECT_TRUE(verified->bad.empty());
  const auto objects = *list_all(*root.store, "_headrace/runs/v2/");
  for (const ObjectInfo& object : objects) {
    const Bytes good = read_object(*root.store, object.key, 1 << 20)->data;
    for (std::size_t bit = 0; bit < good.size() * 8; bit += 3) {
      Bytes flipped = good;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_TRUE(root.store->write(object.key, flipped, {}));
      const auto found = verify_runs(root);
      ASSERT_TRUE(found);
      ASSERT_EQ(found->bad.size(), 1U) << object.key << " " << bit;
      EXPECT_EQ(found->bad[0].url, root.store->describe(object.key));
    }
    ASSERT_TRUE(root.store->write(object.key, good, {}));
  }
}

}  // namespace
}  // namespace headrace
