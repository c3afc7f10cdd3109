#include "headrace/store/s3/s3_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

// As AWS documents it for ListObjectsV2, shortened.
constexpr std::string_view kListing = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
<Name>b</Name><Prefix></Prefix><KeyCount>4</KeyCount><MaxKeys>1000</MaxKeys><Delimiter>%2F</Delimiter>
<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
<NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
<Contents><Key>a+b%2B%C3%A9</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>
<ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size>434234</Size>
<StorageClass>STANDARD</StorageClass></Contents>
<Contents><Key>marker/</Key><Size>0</Size></Contents><Contents><Key>z</Key><Size>0</Size></Contents>
<CommonPrefixes><Prefix>photos/</Prefix></CommonPrefixes></ListBucketResult>)";

TEST(S3Xml, ReadsAListingInOrder) {
  const auto page = parse_list_page(as_bytes(kListing));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->entries, ElementsAre(Field(&ObjectInfo::key, "a b+é"), Field(&ObjectInfo::key, "photos/"),
                                         Field(&ObjectInfo::key, "z")));
  EXPECT_EQ(page->entries[0].size_bytes, 434234U);
  EXPECT_EQ(page->entries[0].version.token, "fba9dede5f27731c9771645a39863328");
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*page->entries[0].modified), 1255369830);
  EXPECT_TRUE(page->truncated);
  EXPECT_EQ(page->continuation, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
}

TEST(S3Xml, KeysAreDecodedOnlyWhereTheServerSaysThatTheyAreEncoded) {
  const auto keys = [](std::string_view encoding) {
    const std::string body =
        concat("<ListBucketResult>", encoding, "<Contents><Key>50%25+x</Key><Size>1</Size>",
               "</Contents><CommonPrefixes><Prefix>a%2Fb/</Prefix></CommonPrefixes>", "</ListBucketResult>");
    const auto page = parse_list_page(as_bytes(body));
    EXPECT_TRUE(page) << page.error().message;
    std::vector<std::string> out;
    for (const ObjectInfo& entry : page->entries) out.push_back(entry.key);
    return out;
  };
  EXPECT_THAT(keys(""), ElementsAre("50%25+x", "a%2Fb/"));
  EXPECT_THAT(keys("<EncodingType>other</EncodingType>"), ElementsAre("50%25+x", "a%2Fb/"));
  EXPECT_THAT(keys("<EncodingType>url</EncodingType>"), ElementsAre("50% x", "a/b/"));
}

TEST(S3Xml, AnObjectWithoutKeyOrSizeIsRefused) {
  const auto message = [](std::string_view contents) {
    const std::string body =
        concat("<ListBucketResult><Contents>", contents, "</Contents></ListBucketResult>");
    const auto page = parse_list_page(as_bytes(body));
    return page ? concat(page->entries.size()) : page.error().message;
  };
  EXPECT_EQ(message("<Key>a</Key><Size>1</Size>"), "1");
  EXPECT_EQ(message("<Key>a/</Key>"), "0") << "a folder";
  EXPECT_THAT(message("<Size>1</Size>"), testing::HasSubstr("an object has no key"));
  EXPECT_THAT(message("<Key>a</Key>"), testing::HasSubstr("an object has no size"));
  EXPECT_THAT(message("<Key>a</Key><Size>-1</Size>"), testing::HasSubstr("an object has no size"));
}

TEST(S3Xml, CutOrForeignBodiesAreRefused) {
  for (std::size_t length = 0; length + 1 < kListing.size(); length += 7) {
    EXPECT_FALSE(parse_list_page(as_bytes(kListing.substr(0, length)))) << length;
  }
  for (const char* body : {"", "{}", "<html/>", "<ListBucketResult>"}) {
    EXPECT_EQ(parse_list_page(as_bytes(body)).error().code, Code::kDataLoss) << body;
    EXPECT_EQ(parse_upload_id(as_bytes(body)).error().code, Code::kDataLoss) << body;
    EXPECT_EQ(parse_result_etag(as_bytes(body)).error().code, Code::kDataLoss) << body;
    EXPECT_EQ(parse_uploads_page(as_bytes(body)).error().code, Code::kDataLoss) << body;
    EXPECT_EQ(parse_parts_page(as_bytes(body)).error().code, Code::kDataLoss) << body;
    EXPECT_EQ(parse_delete_result(as_bytes(body)).error().code, Code::kDataLoss) << body;
    EXPECT_EQ(parse_s3_error(as_bytes(body)), std::nullopt) << body;
  }
}

TEST(S3Xml, PartsHaveANumberThatPartsCanHave) {
  for (const char* number : {"1", "10000", "0", "10001", "-1", "99999999999999999999", ""}) {
    const std::string body = concat("<ListPartsResult><Part><PartNumber>", number,
                                    "</PartNumber><Size>7</Size></Part></ListPartsResult>");
    const auto page = parse_parts_page(as_bytes(body));
    const bool can_be = number == std::string_view("1") || number == std::string_view("10000");
    ASSERT_EQ(page.has_value(), can_be) << number;
    if (page) {
      EXPECT_EQ(page->size_bytes(), 7U);
    }
  }
}

TEST(S3Xml, HostileBodiesDoNoHarm) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "<a>";
  EXPECT_FALSE(parse_list_page(as_bytes(deep)));
  std::string nested = "<ListBucketResult>" + deep;
  for (int i = 0; i < 1'000'000; ++i) nested += "</a>";
  EXPECT_TRUE(parse_list_page(as_bytes(nested + "</ListBucketResult>")));
  // Entities are neither expanded again and again nor fetched.
  const auto bomb =
      parse_s3_error(as_bytes("<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY f SYSTEM "
                              "\"file:///etc/passwd\">]><Error><Code>&a;&f;</Code></Error>"));
  ASSERT_TRUE(bomb);
  EXPECT_EQ(bomb->code, "&a;&f;");
}

TEST(S3Xml, ErrorsAreCleanedForPrinting) {
  const auto error =
      parse_s3_error(as_bytes(concat("<Error><Code>C</Code><Message>a\n\x1b[31m\xff", std::string(1'000, 'x'),
                                     "</Message><Region>eu</Region></Error>")));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message.find('\x1b'), std::string::npos);
  EXPECT_EQ(error->message.find('\n'), std::string::npos);
  EXPECT_LT(error->message.size(), 400U);
  EXPECT_EQ(error->region, "eu");
}

TEST(S3Xml, WritesWhatItCanReadBack) {
  EXPECT_EQ(
      delete_body({"a", "<&>\"\r"}),
      "<Delete "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet><Object><Key>a</Key></Object>"
      "<Object><Key>&lt;&amp;&gt;&quot;&#13;</Key></Object></Delete>");
  EXPECT_THAT(complete_body({{.etag = "\"e\"", .crc32c = 0xe3069283U}, {.etag = "f"}}),
              HasSubstr("<Part><PartNumber>1</PartNumber><ETag>&quot;e&quot;</ETag>"
                        "<ChecksumCRC32C>4waSgw==</ChecksumCRC32C></Part><Part><PartNumber>2</"
                        "PartNumber><ETag>f</ETag></Part>"));
  EXPECT_TRUE(fits_into_xml("a é"));
  for (const char* key : {"a\x01", "a\n", "\xef\xbf\xbf"}) EXPECT_FALSE(fits_into_xml(key));
}

}  // namespace
}  // namespace headrace
