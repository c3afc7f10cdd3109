#include "headrace/serve/request_log/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/record/logged_request.h"
#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/protocol/tensorflow_predict.h"
#include "headrace/serve/request_log/logged_records.h"
#include "headrace/serve/request_log/prediction_log.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// While it is out of reach, writes fail at once; while it hangs, they wait for their stop token.
class WeakStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (is_out_of_reach) return Error{Code::kUnavailable, "out of reach"};
    if (is_forbidden) return Error{Code::kPermissionDenied, "not yours"};
    if (hangs) {
      std::promise<void> stopped;
      const std::stop_callback on_stop(options.call.stop, [&] { stopped.set_value(); });
      stopped.get_future().wait();
      return Error{Code::kCancelled, "stopped"};
    }
    return ForwardingStore::write(key, data, options);
  }
  std::atomic<bool> is_out_of_reach = false, is_forbidden = false, hangs = false;
};

// A model that echoes its inputs: numbers of two, and a text, in each row.
class RequestLogTest : public testing::Test {
 protected:
  static RequestLogOptions options() { return {.writer = "w", .fraction = 1}; }
  std::unique_ptr<RequestLog> open(RequestLogOptions given = options()) {
    given.now = [] { return std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)); };
    given.remark = [this](const std::string& text) {
      const std::scoped_lock lock(mutex);
      remarks.push_back(text);
    };
    return std::make_unique<RequestLog>(place, std::move(given));
  }

  ReservedRows fill(std::uint64_t rows, std::size_t text_bytes = 3) {
    const std::vector<RowTensor> row = {{DataType::kBytes, {}}, {DataType::kFloat32, {2}}};
    auto reserved = *batcher.reserve(rows, row, {.texts_bytes = rows * text_bytes});
    for (std::uint64_t i = 0; i < rows; ++i) {
      const float values[] = {static_cast<float>(i), 0.5F};
      std::memcpy(reserved.at(1, i), values, sizeof values);
      EXPECT_TRUE(reserved.set_text(0, i, 0, std::string(text_bytes, static_cast<char>('a' + i % 26))));
    }
    return reserved;
  }
  void ask(RequestLog& log, std::uint64_t rows = 1, std::size_t text_bytes = 3,
           std::string_view model = "m") {
    ReservedRows reserved = fill(rows, text_bytes);
    const auto logged = log.draw(model, 7, signature, reserved);
    std::move(reserved).commit([logged](const Result<BatchAnswers>& answers) {
      ASSERT_TRUE(answers);
      if (logged) logged->add(*answers);
    });
    batches.run_all();
  }
  static void close(RequestLog& log) { log.close(steady_clock::now() + std::chrono::minutes(1)); }

  LoggedRecords records(std::string_view model = "m") const {
    auto read = read_newest_records(place, model, {});
    return read ? *std::move(read) : LoggedRecords();
  }

  const ServedSignature signature{"serving_default",
                                  {{"t", DataType::kBytes, {-1}}, {"x", DataType::kFloat32, {-1, 2}}},
                                  {{"t_out", DataType::kBytes, {-1}}, {"x_out", DataType::kFloat32, {-1, 2}}},
                                  true};
  std::shared_ptr<WeakStore> store = std::make_shared<WeakStore>(make_memory_store("test"));
  const Location place{store, "logs", {"memory", "test", "logs"}};
  EchoBatches batches{echo_inputs};
  Batcher batcher{batches, {.rows_max = 4, .waiting_rows_max = 1'000, .texts_bytes = 1 << 10}};
  std::mutex mutex;
  std::vector<std::string> remarks;
};

TEST_F(RequestLogTest, ARecordIsTheRequestAsAnotherServerWouldTakeIt) {
  const auto log = open();
  ask(*log, 6);  // in two batches
  close(*log);
  EXPECT_THAT(remarks, IsEmpty());
  const LoggedRecords read = records();
  ASSERT_THAT(read.records, SizeIs(1));
  const auto message = logged_predict_request(read.records[0]);
  ASSERT_TRUE(message && *message);
  const auto request = PredictRequest::parse(**message, 1 << 20);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model().name, "m");
  EXPECT_FALSE(request->model().version);
  EXPECT_EQ(request->signature_name(), "serving_default");
  const auto bound = request->bind(signature);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ((*bound)->rows(), 6U);
  const auto answers = run_request(**bound);
  ASSERT_TRUE(answers);
  const auto& tensors = answers->front().outputs->tensors;
  EXPECT_THAT(tensors[0].strings, ElementsAre("aaa", "bbb", "ccc", "ddd", "eee", "fff"));
  float last[2];
  std::memcpy(last, static_cast<const std::byte*>(tensors[1].data) + 5 * sizeof last, sizeof last);
  EXPECT_THAT(last, ElementsAre(5, 0.5F));
}

TEST_F(RequestLogTest, ARecordHasTheAnswerAndTheFacts) {
  const Bytes request = *encode_predict_request(fill(1), signature, "m");
  std::optional<Bytes> record;
  ReservedRows rows = fill(1);
  std::move(rows).commit([&](const Result<BatchAnswers>& answers) {
    record = *encode_prediction_log(request, *answers, signature,
                                    {.model = "m", .version = 7, .fraction = 0.5, .seconds_since_1970 = 99});
  });
  batches.run_all();
  ASSERT_TRUE(record);
  const std::string_view text = as_text(*record);
  // LogMetadata: model_spec with name, version and signature; sampling_rate 0.5; timestamp_secs.
  const std::string metadata(
      "\x0a\x18\x0a\x01m\x12\x02\x08\x07\x1a\x0fserving_default\x12\x09\x09\0\0\0\0\0\0\xe0\x3f\x20\x63", 39);
  EXPECT_EQ(text.substr(2, metadata.size()), metadata);
  EXPECT_THAT(std::string(text), HasSubstr("x_out"));
  EXPECT_THAT(std::string(text), HasSubstr("t_out"));
}

TEST_F(RequestLogTest, EachModelHasAFolderAndEachWriterHasFiles) {
  const auto log = open();
  ask(*log, 1, 3, "m");
  ask(*log, 1, 3, "n");
  close(*log);
  const auto other = open({.writer = "v", .fraction = 1});
  ask(*other);
  close(*other);
  std::vector<std::string> keys;
  const auto objects = list_all(*store, "");
  for (const ObjectInfo& object : *objects) keys.push_back(object.key);
  EXPECT_THAT(
      keys, ElementsAre("logs/m/v.000000.tfrecord", "logs/m/w.000000.tfrecord", "logs/n/w.000000.tfrecord"));
}

TEST_F(RequestLogTest, RecordsReachTheStoreWithoutAClose) {
  const auto log = open({.writer = "w", .fraction = 1, .flush_each = std::chrono::milliseconds(1)});
  ask(*log);
  while (records().records.empty()) std::this_thread::yield();
  EXPECT_EQ(log->counts().at("m").logged, 1U);
}

TEST_F(RequestLogTest, TheSampleHasTheGivenShare) {
  const auto log = open({.writer = "w", .fraction = 0.25, .seed = {1, 2}});
  for (int i = 0; i < 4'000; ++i) ask(*log);
  const std::uint64_t logged = log->counts().at("m").logged;
  EXPECT_NEAR(static_cast<double>(logged), 1'000, 120);  // four standard deviations
  const auto none = open({.writer = "w", .fraction = 0});
  for (int i = 0; i < 1'000; ++i) ask(*none);
  EXPECT_THAT(none->counts(), IsEmpty());
}

TEST_F(RequestLogTest, WhatWouldPassTheBoundIsDroppedAndTold) {
  const auto log = open({.writer = "w", .fraction = 1, .waiting_bytes_max = 10'000});
  store->is_out_of_reach = true;
  for (int i = 0; i < 100; ++i) ask(*log, 1, 1'000);
  const auto counts = log->counts().at("m");
  EXPECT_GT(counts.logged, 0U);
  EXPECT_EQ(counts.logged + counts.dropped, 100U);
  EXPECT_LE(log->waiting_bytes(), 10'000U);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("requests of m are not logged")));
  store->is_out_of_reach = false;
  close(*log);
  EXPECT_THAT(records().records, SizeIs(counts.logged));
}

TEST_F(RequestLogTest, RequestsInFlightCountAgainstTheBound) {
  const auto log = open({.writer = "w", .fraction = 1, .waiting_bytes_max = 5'000});
  const ReservedRows first = fill(1, 3'000), second = fill(1, 3'000);
  auto logged = log->draw("m", 7, signature, first);
  EXPECT_TRUE(logged);
  EXPECT_FALSE(log->draw("m", 7, signature, second));
  logged.reset();
  EXPECT_EQ(log->waiting_bytes(), 0U);
  EXPECT_TRUE(log->draw("m", 7, signature, second));
}

TEST_F(RequestLogTest, ARequestWithoutAnAnswerIsNotLogged) {
  const auto log = open();
  {
    ReservedRows rows = fill(1);
    const auto logged = log->draw("m", 7, signature, rows);
  }
  close(*log);
  EXPECT_THAT(log->counts(), IsEmpty());
  EXPECT_THAT(*list_all(*store, ""), IsEmpty());
}

TEST_F(RequestLogTest, ClosingWaitsForRequestsInFlight) {
  const auto log = open();
  ReservedRows rows = fill(1);
  auto logged = log->draw("m", 7, signature, rows);
  std::thread closing([&] { close(*log); });
  std::move(rows).commit(
      [logged = std::move(logged)](const Result<BatchAnswers>& answers) { logged->add(*answers); });
  batches.run_all();
  closing.join();
  EXPECT_THAT(records().records, SizeIs(1));
  ask(*log);  // it comes too late
  EXPECT_EQ(log->counts().at("m").logged, 1U);
}

TEST_F(RequestLogTest, AStoreThatHangsHoldsUpTheEndOnlyForAWhile) {
  const auto log = open({.writer = "w", .fraction = 1, .close_time = std::chrono::milliseconds(1)});
  ask(*log);
  store->hangs = true;
  log->close(steady_clock::now() - std::chrono::seconds(1));
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("the log of requests of m loses")));
}

TEST_F(RequestLogTest, AStoreThatRefusesIsTold) {
  const auto log = open({.writer = "w", .fraction = 1, .flush_each = std::chrono::milliseconds(1)});
  store->is_forbidden = true;
  ask(*log);
  const auto is_told = [this] {
    const std::scoped_lock lock(mutex);
    return !remarks.empty();
  };
  while (!is_told()) std::this_thread::yield();
  const std::scoped_lock lock(mutex);
  EXPECT_THAT(remarks[0], HasSubstr("not yours"));
}

}  // namespace
}  // namespace headrace
