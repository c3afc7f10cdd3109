#include "headrace/store/layers/stoppable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

// Remembers whether the last call could have been stopped, and had been.
class ListeningStore final : public Store {
 public:
  Result<ReadResult> read_into(std::string_view, MutableBytesView, const ReadOptions& o) override {
    return heard(o.call);
  }
  Status read_many(std::span<const ReadRequest>, const CallOptions& call) override { return heard(call); }
  Result<ObjectInfo> stat(std::string_view, const CallOptions& call) override { return heard(call); }
  Result<ObjectInfo> write(std::string_view, BytesView, const WriteOptions& o) override {
    return heard(o.call);
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view, const WriteOptions& o) override {
    return heard(o.call);
  }
  Result<ObjectInfo> copy(std::string_view, std::string_view, const WriteOptions& o) override {
    return heard(o.call);
  }
  Status remove_many(std::span<const std::string>, const CallOptions& call) override { return heard(call); }
  Status list(std::string_view, const ListOptions& o,
              const std::function<bool(const ObjectInfo&)>&) override {
    return heard(o.call);
  }
  Status list_unfinished(std::string_view, const CallOptions& call,
                         const std::function<bool(const UnfinishedWrite&)>&) override {
    return heard(call);
  }
  Status remove_unfinished(const UnfinishedWrite&, const CallOptions& call) override { return heard(call); }
  Capabilities capabilities() const override { return {}; }
  std::string describe(std::string_view key) const override { return std::string(key); }

 private:
  static Error heard(const CallOptions& call) {
    return {call.stop.stop_requested() ? Code::kCancelled : Code::kNotFound, ""};
  }
};

TEST(StoppableStore, EveryCallCarriesTheStopRequest) {
  std::stop_source source;
  const auto store = make_stoppable(std::make_shared<ListeningStore>(), source.get_token());
  const auto codes = [&] {
    return std::vector<Code>{store->read_into("a", {}, {}).error().code,
                             store->read_many({}, {}).error().code,
                             store->stat("a", {}).error().code,
                             store->write("a", {}, {}).error().code,
                             store->start_upload("a", {}).error().code,
                             store->copy("a", "b", {}).error().code,
                             store->remove_many({}, {}).error().code,
                             store->list("a", {}, {}).error().code,
                             store->list_unfinished("a", {}, {}).error().code,
                             store->remove_unfinished({}, {}).error().code};
  };
  EXPECT_THAT(codes(), testing::Each(Code::kNotFound));
  source.request_stop();
  EXPECT_THAT(codes(), testing::Each(Code::kCancelled));
}

TEST(StoppableStore, ACallKeepsATokenOfItsOwn) {
  std::stop_source source;
  source.request_stop();
  const auto store = make_stoppable(std::make_shared<ListeningStore>(), source.get_token());
  const std::stop_source own;
  EXPECT_EQ(store->stat("a", {.stop = own.get_token()}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace
