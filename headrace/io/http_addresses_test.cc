#include "headrace/io/http_addresses.h"

#include <gmock/gmock.h>

#include <future>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;

// By the name that the resolver of a test gave it.
SocketAddress address_of(std::string_view text) { return resolve(std::string(text), 80)->front(); }

std::vector<std::string> names(const Result<std::vector<SocketAddress>>& found,
                               const std::vector<std::string>& known) {
  std::vector<std::string> out;
  EXPECT_TRUE(found) << found.error().message;
  for (const SocketAddress& address : found ? *found : std::vector<SocketAddress>())
    for (const std::string& name : known)
      if (address_of(name) == address) out.push_back(name);
  return out;
}

class Name {
 public:
  explicit Name(std::vector<std::string> addresses) : known_(std::move(addresses)) {}
  std::vector<std::string> next() { return names(addresses.of("host", 80), known_); }
  int asked() const { return asked_; }

 private:
  const std::vector<std::string> known_;
  int asked_ = 0;

 public:
  HttpAddresses addresses{[this](const std::string&, std::uint16_t) -> Result<std::vector<SocketAddress>> {
    ++asked_;
    std::vector<SocketAddress> found;
    for (const std::string& name : known_) found.push_back(address_of(name));
    return found;
  }};
};

TEST(HttpAddresses, OfThePreferredFamilyComeInTurnAndTheOthersBehind) {
  Name name({"10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"});
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"));
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.2", "10.0.0.3", "10.0.0.1", "fd00::1", "fd00::2"));
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.3", "10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"));
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"));
  Name six({"fd00::1", "fd00::2", "10.0.0.1"});
  EXPECT_THAT(six.next(), ElementsAre("fd00::1", "fd00::2", "10.0.0.1"));
  EXPECT_THAT(six.next(), ElementsAre("fd00::2", "fd00::1", "10.0.0.1"));
}

TEST(HttpAddresses, AreRememberedUntilOneFails) {
  Name name({"10.0.0.1", "10.0.0.2"});
  for (int i = 0; i < 5; ++i) name.next();
  EXPECT_EQ(name.asked(), 1);
  name.addresses.distrust("another", 80);
  name.next();
  EXPECT_EQ(name.asked(), 1);
  name.addresses.distrust("host", 80);
  name.next();
  EXPECT_EQ(name.asked(), 2);
}

TEST(HttpAddresses, AResolverThatSaysNothingIsNotWaitedForForEver) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  HttpAddresses addresses(
      [ended](const std::string&, std::uint16_t) -> Result<std::vector<SocketAddress>> {
        ended.wait();
        return Error{Code::kUnavailable, "none"};
      },
      std::chrono::milliseconds(10));
  const auto found = addresses.of("host", 80);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnavailable);
  EXPECT_THAT(found.error().message, testing::HasSubstr("cannot resolve \"host\""));
  end.set_value();
}

}  // namespace
}  // namespace headrace
