#include <gmock/gmock.h>

#include "headrace/net/ignite/affinity.h"
#include "headrace/net/ignite/handshake.h"
#include "headrace/net/ignite/message.h"
#include "headrace/net/ignite/partition_map.h"

namespace headrace::ignite {
namespace {

using testing::HasSubstr;
using testing::Not;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(IgniteMessage, AddressesAreParsed) {
  EXPECT_EQ(*parse_address("db-1"), (Address{.host = "db-1", .port = 10800}));
  EXPECT_EQ(*parse_address("db-1:99"), (Address{.host = "db-1", .port = 99}));
  EXPECT_EQ(*parse_address("[::1]:99"), (Address{.host = "::1", .port = 99}));
  EXPECT_EQ(parse_address("[::1]")->text(), "[::1]:10800");
  for (const char* wrong : {"", ":1", "a:", "a:0", "a:65536", "a:x", "[::1", "[::1]x9", "[]:9"})
    EXPECT_EQ(parse_address(wrong).error().code, Code::kInvalidArgument) << wrong;
}

TEST(IgniteMessage, JavaHashIsOverUtf16) {
  EXPECT_EQ(java_hash(""), 0);
  EXPECT_EQ(java_hash("abc"), 96354);
  EXPECT_EQ(java_hash("\u00fc"), 252);
  EXPECT_EQ(java_hash("\U0001F30A"), 31 * 0xD83C + 0xDF0A);
}

TEST(IgniteMessage, ByteArraysComeBack) {
  const Bytes content = bytes_of({1, 2, 255});
  EXPECT_TRUE(std::ranges::equal(*byte_array_content(encode_bytes(content)), content));
  EXPECT_EQ(byte_array_content(encode_long(1)).error().code, Code::kInvalidArgument);
}

TEST(IgniteHandshake, RequestHasTheLayoutOfTheFormat) {
  EXPECT_EQ(encode_handshake({1, 2, 0}, {}), bytes_of({8, 0, 0, 0, 1, 1, 0, 2, 0, 0, 0, 2}));
  EXPECT_EQ(encode_handshake({1, 7, 0}, {.user = "u", .password = "p"}),
            bytes_of({27, 0, 0,  0, 1, 1, 0, 7, 0,   0, 0, 2, 12, 2, 0,  0,
                      0,  8, 32, 9, 1, 0, 0, 0, 'u', 9, 1, 0, 0,  0, 'p'}));
}

Bytes refusal_with(std::int16_t minor, std::string_view why, std::int32_t code) {
  Bytes reply = bytes_of({0, 1, 0});
  append_little_endian(reply, minor);
  append_little_endian(reply, std::int16_t{0});
  append_string(reply, why);
  append_little_endian(reply, code);
  return reply;
}

TEST(IgniteHandshake, AnOlderVersionIsProposedAndAnUnknownOneRefused) {
  const Result<HandshakeReply> older = parse_handshake_reply(refusal_with(3, "unsupported", 1), {1, 7, 0});
  ASSERT_TRUE(older.has_value());
  EXPECT_FALSE(older->agreement);
  EXPECT_EQ(older->proposed, (ProtocolVersion{1, 3, 0}));
  for (const std::int16_t minor : {1, 8}) {
    const Error error = parse_handshake_reply(refusal_with(minor, "no", 1), {1, 7, 0}).error();
    EXPECT_EQ(error.code, Code::kUnimplemented);
    EXPECT_THAT(error.message, HasSubstr("1.2.0 to 1.7.0"));
  }
  EXPECT_EQ(parse_handshake_reply(refusal_with(7, "no user", 2000), {1, 7, 0}).error().code,
            Code::kUnauthenticated);
}

TEST(IgniteHandshake, EveryPrefixOfAReplyIsAnError) {
  Bytes reply = bytes_of({1});
  append(reply, encode_bytes(bytes_of({8})));
  reply.push_back(std::byte{10});
  reply.resize(reply.size() + 16);
  const Result<HandshakeReply> whole = parse_handshake_reply(reply, {1, 7, 0});
  ASSERT_TRUE(whole.has_value() && whole->agreement);
  EXPECT_TRUE(whole->agreement->has(ProtocolFeature::kEndpoints));
  EXPECT_FALSE(whole->agreement->has(ProtocolFeature::kAllAffinityMappings));
  for (std::size_t size = 0; size < reply.size(); ++size)
    EXPECT_EQ(parse_handshake_reply(BytesView(reply).first(size), {1, 7, 0}).error().code, Code::kDataLoss);
}

TEST(IgniteHandshake, OtherProtocolsAreNamed) {
  EXPECT_THAT(describe_other_protocol(as_bytes("HTTP")), HasSubstr("HTTP"));
  EXPECT_THAT(describe_other_protocol(as_bytes("IGNI")), HasSubstr("Ignite 3"));
  EXPECT_THAT(describe_other_protocol(bytes_of({0x15, 3, 3, 0})), HasSubstr("TLS"));
  EXPECT_EQ(describe_other_protocol(bytes_of({1, 2, 3, 4})), "");
}

// Version 5.1; one group with an owner of the partitions 0 and 2, of the cache 77.
Bytes partitions_body(std::int32_t last_partition) {
  Bytes body;
  append_little_endian(body, std::int64_t{5});
  append_little_endian(body, std::int32_t{1});
  append_little_endian(body, std::int32_t{1});
  body.push_back(std::byte{1});
  for (const std::int32_t value : {1, 77, 0, 1}) append_little_endian(body, value);
  body.push_back(std::byte{10});
  append_little_endian(body, std::int64_t{3});
  append_little_endian(body, std::int64_t{4});
  for (const std::int32_t value : {2, 0, last_partition}) append_little_endian(body, value);
  return body;
}

TEST(IgnitePartitionMap, TellsOwners) {
  const Bytes body = partitions_body(2);
  const Result<PartitionMap> map = parse_partitions(body, {}, 77);
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->version, (TopologyVersion{5, 1}));
  EXPECT_EQ(map->partitions(), 3);
  EXPECT_EQ(map->owner_of(2), (NodeId{3, 4}));
  EXPECT_FALSE(map->owner_of(1).has_value());
  EXPECT_FALSE(map->owner_of(3).has_value());
  EXPECT_FALSE(map->owner_of(-1).has_value());
  EXPECT_EQ(map->owner_of_key(encode_long(2)), (NodeId{3, 4}));
  EXPECT_EQ(parse_partitions(body, {}, 78)->partitions(), 0);
}

TEST(IgnitePartitionMap, DamagedOnesAreErrors) {
  const Bytes body = partitions_body(2);
  for (std::size_t size = 0; size < body.size(); ++size)
    EXPECT_EQ(parse_partitions(BytesView(body).first(size), {}, 77).error().code, Code::kDataLoss) << size;
  for (const std::int32_t wrong : {-1, 65'000})
    EXPECT_EQ(parse_partitions(partitions_body(wrong), {}, 77).error().code, Code::kDataLoss);
}

TEST(IgnitePartitionMap, EndpointsHaveAddressesAndEveryPrefixIsAnError) {
  Bytes body;
  append_little_endian(body, std::int64_t{9});
  append_little_endian(body, std::int32_t{1});
  append_little_endian(body, std::int64_t{3});
  append_little_endian(body, std::int64_t{4});
  for (const std::int32_t value : {10801, 2}) append_little_endian(body, value);
  append_string(body, "10.0.0.1");
  append_string(body, "db-1");
  const Result<std::vector<NodeEndpoint>> endpoints = parse_endpoints(body);
  ASSERT_EQ(endpoints->size(), 1U);
  EXPECT_EQ(endpoints->front().id, (NodeId{3, 4}));
  EXPECT_EQ(endpoints->front().addresses.back(), (Address{.host = "db-1", .port = 10801}));
  for (std::size_t size = 0; size < body.size(); ++size)
    EXPECT_EQ(parse_endpoints(BytesView(body).first(size)).error().code, Code::kDataLoss) << size;
}

TEST(IgniteAffinity, KeysWithoutAKnownHashHaveNone) {
  for (const Bytes& key :
       {Bytes(), bytes_of({3, 1}), bytes_of({9, 5, 0, 0, 0, 'a'}), bytes_of({24, 0, 0, 0, 0}),
        bytes_of({103, 1}), bytes_of({27, 1, 0, 0, 0, 3, 9, 0, 0, 0})})
    EXPECT_FALSE(key_hash(key).has_value());
}

TEST(IgniteAffinity, PartitionsOfNegativeHashesAreNotNegative) {
  EXPECT_EQ(partition_of_hash(-8, 7), 1);
  EXPECT_EQ(partition_of_hash(-1, 1024), 0);
  EXPECT_EQ(partition_of_hash(std::numeric_limits<std::int32_t>::min(), 1000), 648);
}

}  // namespace
}  // namespace headrace::ignite
