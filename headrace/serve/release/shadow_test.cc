#include "headrace/serve/release/shadow.h"

#include <gtest/gtest.h>

#include <future>

#include "headrace/serve/live_model/test_model_test.h"
#include "headrace/serve/protocol/rest_v1_request.h"
#include "headrace/serve/release/canary.h"

namespace headrace {
namespace {

// Version 1 answers with its inputs; version 2 adds a half, when the test lets it.
class ShadowTest : public testing::Test {
 protected:
  ShadowTest() {
    model = start_test_model("m", {1, 2, 3}, nullptr,
                             [this](std::uint64_t version, std::vector<TensorView> inputs,
                                    std::shared_ptr<const void>) -> Result<BatchOutputs> {
                               if (version == 2) {
                                 std::unique_lock lock(mutex);
                                 changed.wait(lock, [this] { return !is_held; });
                               }
                               if (version == 2 && is_failing) return Error{Code::kInternal, "it fails"};
                               return added(inputs[0], version == 2 ? 0.5F : 0.0F);
                             });
    while (model->ready_versions().size() < 3) std::this_thread::yield();
  }
  ~ShadowTest() override { hold(false); }

  static BatchOutputs added(const TensorView& input, float more) {
    const auto* const values = static_cast<const float*>(input.data);
    auto owner = std::make_shared<std::vector<float>>(values, values + input.shape.elements());
    for (float& value : *owner) value += more;
    return {{TensorView::of(owner->data(), input.shape)}, owner};
  }

  void hold(bool is_to_wait) {
    const std::scoped_lock lock(mutex);
    is_held = is_to_wait;
    changed.notify_all();
  }

  // Version 1's answer to two rows.
  AnsweredRequest answered() {
    auto request = RestRequest::parse(R"({"instances": [1, 2]})");
    EXPECT_TRUE(request);
    AnsweredRequest out{.bind = [request = *request](const ServedSignature& s) { return request.bind(s); },
                        .version = *model->find(1, {}),
                        .kept_bytes = 20};
    out.signature = out.version->model().signatures.data();
    const auto bound = out.bind(*out.signature);
    std::promise<Result<BatchAnswers>> answers;
    auto rows = out.version->batcher(0).reserve((*bound)->rows(), (*bound)->row());
    EXPECT_TRUE((*bound)->fill(*rows));
    std::move(*rows).commit([&](Result<BatchAnswers> got) { answers.set_value(std::move(got)); });
    out.answers = *answers.get_future().get();
    return out;
  }

  template <typename Condition>
  static void wait_until(Condition condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(condition());
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool is_held = false;
  std::atomic<bool> is_failing = false;
  std::shared_ptr<LiveModel> model;
};

TEST_F(ShadowTest, AnswersAreComparedAndCounted) {
  Shadow exact(*model, {.version = 2U, .fraction = kFullShare});
  Shadow lenient(*model, {.version = 2U, .fraction = kFullShare, .tolerance = 0.5});
  for (int i = 0; i < 3; ++i) {
    exact.ask(answered());
    lenient.ask(answered());
  }
  wait_until([&] { return exact.counts().requests == 3 && lenient.counts().requests == 3; });
  EXPECT_EQ(exact.counts().difference.rows, 6U);
  EXPECT_EQ(exact.counts().difference.rows_that_differ, 6U);
  EXPECT_EQ(exact.counts().difference.largest, 0.5);
  EXPECT_EQ(lenient.counts().difference.rows_that_differ, 0U);
  EXPECT_EQ(exact.counts().failed, 0U);
}

TEST_F(ShadowTest, ASampleIsDrawnAndNeverOfItsOwnAnswers) {
  Shadow shadow(*model, {.version = 2U, .fraction = kFullShare / 10});
  const auto first = *model->find(1, {}), own = *model->find(2, {});
  int drawn = 0;
  for (int i = 0; i < 10'000; ++i) drawn += shadow.draws(*first) ? 1 : 0;
  EXPECT_NEAR(drawn, 1'000, 100);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(shadow.draws(*own));
  Shadow nowhere(*model, {.version = 7U, .fraction = kFullShare});
  EXPECT_FALSE(nowhere.draws(*first));
}

TEST_F(ShadowTest, ItsSampleIsAsLargeWhateverTheCanaryDraws) {
  const auto first = *model->find(1, {}), second = *model->find(2, {});
  for (const std::uint64_t shadowed : {2U, 3U}) {
    Canary canary("m", {.version = 2U, .weight = kFullShare / 10}, [](const std::string&) {});
    Shadow shadow(*model, {.version = shadowed, .fraction = kFullShare / 10});
    int of_first = 0, of_second = 0;
    for (int i = 0; i < 10'000; ++i) {
      if (canary.draws({})) {
        of_second += shadow.draws(*second) ? 1 : 0;
      } else {
        of_first += shadow.draws(*first) ? 1 : 0;
      }
    }
    EXPECT_NEAR(of_first, 900, 100);
    if (shadowed == 2) {
      EXPECT_EQ(of_second, 0);
    } else {
      EXPECT_NEAR(of_second, 100, 35);
    }
  }
}

TEST_F(ShadowTest, AVersionThatFailsIsCounted) {
  is_failing = true;
  Shadow shadow(*model, {.version = 2U, .fraction = kFullShare});
  shadow.ask(answered());
  wait_until([&] { return shadow.counts().failed == 1; });
  EXPECT_EQ(shadow.counts().last_error, "it fails");
  AnsweredRequest other = answered();
  other.bind = [](const ServedSignature&) -> Result<std::unique_ptr<BoundRequest>> {
    return Error{Code::kInvalidArgument, "other inputs"};
  };
  shadow.ask(std::move(other));
  wait_until([&] { return shadow.counts().failed == 2; });
  EXPECT_EQ(shadow.counts().last_error, "other inputs");
}

TEST_F(ShadowTest, NobodyWaitsForAVersionThatHangsAndItsCopiesAreBounded) {
  hold(true);
  Shadow shadow(*model, {.version = 2U, .fraction = kFullShare});
  for (std::uint64_t i = 0; i < Shadow::kMostRequests + 5; ++i) shadow.ask(answered());
  EXPECT_EQ(shadow.counts().dropped, 5U);
  hold(false);
  wait_until([&] { return shadow.counts().requests == Shadow::kMostRequests; });
  AnsweredRequest large = answered();
  large.kept_bytes = Shadow::kMostBytes;
  shadow.ask(std::move(large));
  EXPECT_EQ(shadow.counts().dropped, 6U);
  shadow.ask(answered());
  wait_until([&] { return shadow.counts().requests == Shadow::kMostRequests + 1; });
}

TEST_F(ShadowTest, ItsEndWaitsForNoAnswer) {
  hold(true);
  const auto kept = std::make_shared<int>();
  {
    Shadow shadow(*model, {.version = 2U, .fraction = kFullShare});
    for (int i = 0; i < 3; ++i) {
      AnsweredRequest request = answered();
      request.bind = [kept, bind = request.bind](const ServedSignature& s) { return bind(s); };
      shadow.ask(std::move(request));
    }
  }
  hold(false);
  wait_until([&] { return kept.use_count() == 1; });
}

}  // namespace
}  // namespace headrace
