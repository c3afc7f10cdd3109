#include "headrace/codec/zstandard.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

Bytes random_bytes(std::size_t size, unsigned letters) {
  std::mt19937 random(static_cast<unsigned>(size));
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % letters);
  return bytes;
}

TEST(Zstandard, AFrameDoesNotDependOnThoseBefore) {
  std::vector<Bytes> all;
  for (const std::size_t size : {0, 1, 100, 4'096, 70'000, 300, 2'000'000, 4'096})
    all.push_back(random_bytes(size, size % 3 == 0 ? 4 : 200));
  for (const Bytes& data : all) {
    const Bytes frame = compress_zstandard(data);
    Bytes first;
    std::thread([&] { first = compress_zstandard(data); }).join();  // the first one of its thread
    EXPECT_EQ(frame, first) << data.size();
    const auto content = decompress_zstandard(frame, data.size());
    ASSERT_TRUE(content) << content.error().message;
    EXPECT_EQ(*content, data);
  }
}

TEST(Zstandard, WhatIsNoFrameOrOfAnotherSizeIsDamaged) {
  const Bytes data = random_bytes(500, 4);
  Bytes frame = compress_zstandard(data);
  EXPECT_EQ(decompress_zstandard(frame, 499).error().code, Code::kDataLoss);
  EXPECT_EQ(decompress_zstandard(frame, 501).error().code, Code::kDataLoss);
  frame.resize(frame.size() / 2);
  EXPECT_EQ(decompress_zstandard(frame, 500).error().code, Code::kDataLoss);
  EXPECT_EQ(decompress_zstandard(to_bytes("no frame"), 8).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace headrace
