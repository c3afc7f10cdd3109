#include "headrace/serve/remote_engine/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

struct MessageEnds {
  PacketSocket from, to;
};

MessageEnds message_ends() {
  auto ends = PacketSocket::open();
  EXPECT_TRUE(ends);
  return {PacketSocket(std::move(ends->ours)), PacketSocket(std::move(ends->theirs))};
}

Result<ReceivedMessage> pass(MessageEnds& ends, const EngineMessage& message,
                             const FileDescriptor* descriptor = nullptr) {
  HEADRACE_CHECK(send_message(ends.from, message, descriptor));
  HEADRACE_TRY(Packet packet, ends.to.receive(std::chrono::steady_clock::time_point::max(), {}));
  return read_message(std::move(packet));
}

template <typename T>
T passed(const T& message, const FileDescriptor* descriptor = nullptr) {
  MessageEnds ends = message_ends();
  auto received = pass(ends, message, descriptor);
  EXPECT_TRUE(received) << received.error().message;
  return std::get<T>(std::move(received->message));
}

TEST(EngineMessages, ALargeLoadArrivesAsItWas) {
  const EngineLoad load{.build = "a",
                        .name = "s3://models/imdb",
                        .folder = "/cache/1",
                        .digest = "d",
                        .attributes = std::string(1 << 20, 'x'),
                        .encoder_weights = "/w",
                        .encoder_folders = {{"saved_model:s3://b/e", "/c/1"}},
                        .intra_op_threads = 2,
                        .inter_op_threads = 3,
                        .lanes = 4,
                        .rows_max = 5};
  EXPECT_EQ(passed(load), load);
}

TEST(EngineMessages, LoadedDescribesTheModel) {
  EngineLoaded loaded{.engine = "tensorflow 2", .confinement = "none", .memory_bytes = 1ULL << 40};
  loaded.model.signatures.push_back(
      {.name = "f", .inputs = {{"x", DataType::kFloat32, {-1, 2}}}, .outputs = {}, .is_batched = true});
  const EngineLoaded received = passed(loaded);
  EXPECT_EQ(received.model.signatures, loaded.model.signatures);
  EXPECT_EQ(received.engine, "tensorflow 2");
  EXPECT_EQ(received.memory_bytes, 1ULL << 40);
}

TEST(EngineMessages, RunsAndAnswersArriveAsTheyWere) {
  const EngineRun run{.batch = 1ULL << 50,
                      .signature = 2,
                      .memory = 3,
                      .rows = 4,
                      .rows_max = 5,
                      .texts_bytes = 6,
                      .row_shapes = {Shape(), {7, 8}}};
  const EngineRun received = passed(run);
  EXPECT_EQ(received.batch, run.batch);
  EXPECT_EQ(received.signature, 2);
  EXPECT_EQ(received.memory, 3);
  EXPECT_EQ(received.rows, 4);
  EXPECT_EQ(received.rows_max, 5);
  EXPECT_EQ(received.texts_bytes, 6);
  EXPECT_EQ(received.row_shapes, run.row_shapes);

  const EngineRan ran = passed(
      EngineRan{.batch = 9,
                .memory = 1,
                .outputs = {{DataType::kBytes, {4}, 64, 128, 12}, {DataType::kInt64, {4, 2}, 192, 0, 0}}});
  EXPECT_EQ(ran.batch, 9);
  ASSERT_EQ(ran.outputs.size(), 2);
  EXPECT_EQ(ran.outputs[0].type, DataType::kBytes);
  EXPECT_EQ(ran.outputs[0].texts_offset_bytes, 128);
  EXPECT_EQ(ran.outputs[0].texts_bytes, 12);
  EXPECT_EQ(ran.outputs[1].shape, Shape({4, 2}));
  EXPECT_EQ(ran.outputs[1].offset_bytes, 192);
}

TEST(EngineMessages, ErrorsKeepTheirCodeAndTheBeginOfTheirText) {
  const EngineRan ran = passed(EngineRan{.batch = 1, .error = Error{Code::kDataLoss, "why"}});
  EXPECT_EQ(ran.error->code, Code::kDataLoss);
  EXPECT_EQ(ran.error->message, "why");
  const EngineFailed failed = passed(EngineFailed{{Code::kNotFound, std::string(1 << 20, 'x')}});
  EXPECT_EQ(failed.error.message.size(), 4096);
}

TEST(EngineMessages, AnOfferCarriesItsMemory) {
  const auto memory = SharedMemory::create(100);
  ASSERT_TRUE(memory);
  MessageEnds ends = message_ends();
  auto received = pass(ends, MemoryOffer{7, 100}, &memory->descriptor());
  ASSERT_TRUE(received);
  EXPECT_EQ(std::get<MemoryOffer>(received->message).number, 7);
  EXPECT_TRUE(SharedMemory::map(std::move(received->descriptor), 100, true));
  EXPECT_EQ(passed(MemoryEnd{7}).number, 7);
  EXPECT_EQ(passed(MemoryRead{{8, 3}}).numbers, std::vector<std::uint32_t>({8, 3}));
  EXPECT_EQ(pass(ends, MemoryOffer{7, 100}).error().code, Code::kDataLoss) << "it carries none";
}

TEST(EngineMessages, WhatIsCutOrChangedIsRefusedOrAnotherMessage) {
  MessageEnds ends = message_ends();
  const EngineRan ran{.batch = 9, .memory = 1, .outputs = {{DataType::kBytes, {4}, 64, 128, 12}}};
  ASSERT_TRUE(send_message(ends.from, ran));
  const auto packet = ends.to.receive(std::chrono::steady_clock::time_point::max(), {});
  ASSERT_TRUE(packet);
  const Bytes whole(packet->bytes.begin(), packet->bytes.end());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_message({BytesView(whole).first(size), FileDescriptor()})) << size;
  Bytes longer = whole;
  longer.push_back({});
  EXPECT_FALSE(read_message({longer, FileDescriptor()}));
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Bytes changed = whole;
    changed[random() % changed.size()] = static_cast<std::byte>(random());
    static_cast<void>(read_message({changed, FileDescriptor()}));
  }
}

}  // namespace
}  // namespace headrace
