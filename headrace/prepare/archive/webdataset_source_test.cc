#include "headrace/prepare/archive/webdataset_source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/codec/sample_path.h"
#include "headrace/codec/tar_builder_test.h"
#include "headrace/prepare/source/source_test.h"
#include "headrace/prepare/table/rows_test.h"

namespace headrace {
namespace {

class WebDatasetSource : public SourceTest {
 protected:
  // The rows of the tar, which must be the same when it is compressed.
  Lines rows_of(TarBuilder tar, std::uint64_t limit_bytes = kCellLimitBytes) {
    const Bytes bytes = tar.finish();
    put("a.tar", bytes);
    put("a.tar.gz", *gzip_compress(bytes, 1));
    const RowsRead plain = read("a.tar", InputFormat::kWebDataset, limit_bytes);
    const RowsRead compressed = read("a.tar.gz", InputFormat::kWebDataset, limit_bytes);
    EXPECT_TRUE(plain.status) << plain.status.error().message;
    EXPECT_TRUE(compressed.status) << compressed.status.error().message;
    EXPECT_EQ(plain.rows, compressed.rows);
    EXPECT_EQ(compressed.references, 0U);
    references_ = plain.references;
    return plain.rows;
  }
  std::uint64_t references_ = 0;
};

TEST_F(WebDatasetSource, FilesOfOneKeyThatFollowOneAnotherAreARow) {
  TarBuilder tar;
  tar.entry('5', "d/", "")
      .file("./0.jpg", "A")
      .file("README", "-")
      .file("0.JSON", "{}")
      .file("0.cls", " 7\n");
  tar.file("d/0.left.png", "B").file("d/0.left.id", "x").file("d/._0.jpg", "-").file("__meta__/0.jpg", "-");
  tar.entry('2', "1.jpg", "").file("0.jpg", "C");
  EXPECT_EQ(rows_of(tar),
            (Lines{"README ignored: no sample's file by its name", "0 __key__='0' jpg='A' json='{}' cls=i[7]",
                   "d/._0.jpg ignored: no sample's file by its name",
                   "__meta__/0.jpg ignored: no sample's file by its name",
                   "1.jpg ignored: a link or device, not a file",
                   "d/0 __key__='d/0' left.png='B' left.id='x'", "0 __key__='0' jpg='C'"}));
}

TEST_F(WebDatasetSource, LargeFilesOfAnUncompressedTarAreReferences) {
  TarBuilder tar;
  tar.file("0.small", std::string(4096, 's')).file("0.large", std::string(4097, 'l')).file("0.cls", "-5");
  EXPECT_EQ(rows_of(tar), (Lines{concat("0 __key__='0' small='", std::string(4096, 's'), "' large='",
                                        std::string(4097, 'l'), "' cls=i[-5]")}));
  EXPECT_EQ(references_, 1U);
}

TEST_F(WebDatasetSource, OnlyDecimalIntegersOfTheNamedFieldsAreNumbers) {
  TarBuilder tar;
  tar.file("0.cls", "1").file("0.cls2", "+2").file("0.index", "3").file("0.a.inx", "4").file("0.id", "5");
  tar.file("1.cls", "1.5").file("1.txt", "1").file("1.id", "9223372036854775808").file("1.inx", "");
  EXPECT_EQ(rows_of(tar), (Lines{"0 __key__='0' cls=i[1] cls2=i[2] index=i[3] a.inx=i[4] id=i[5]",
                                 "1 __key__='1' cls='1.5' txt='1' id='9223372036854775808' inx=''"}));
}

TEST_F(WebDatasetSource, ASampleThatCannotBeUsedIsRejectedWhole) {
  TarBuilder tar;
  tar.file("0.jpg", "A").file("0.JPG", "B").file("0.cls", "1");
  tar.file("1.__key__", "x").file("1.cls", "1");
  tar.file("2\xff.jpg", "x");
  tar.file("3.jpg", std::string(101, 'x')).file("3.cls", "1");
  tar.file("4.cls", "4");
  EXPECT_EQ(rows_of(tar, 100),
            (Lines{"0 rejected: a field is there twice: jpg", "1 rejected: a field named __key__: 1.__key__",
                   "2\xef\xbf\xbd rejected: path is not UTF-8: 2\xef\xbf\xbd.jpg",
                   "3 rejected: a file larger than 100 B: jpg", "4 __key__='4' cls=i[4]"}));
}

TEST_F(WebDatasetSource, ASampleHasSoManyFilesAtMost) {
  TarBuilder tar;
  for (std::size_t i = 0; i < kMaxSampleFiles; ++i) tar.file(concat("0.f", i), "");
  for (std::size_t i = 0; i <= kMaxSampleFiles; ++i) tar.file(concat("1.f", i), "");
  const Lines rows = rows_of(tar);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].starts_with("0 "));
  EXPECT_EQ(rows[1], "1 rejected: a sample of more than 1000 files");
}

TEST_F(WebDatasetSource, ASampleIsSoLargeAtMost) {
  // Rows of an uncompressed tar hold no file contents, since only headers are read.
  constexpr std::size_t kFileBytes = 48 << 20;
  TarBuilder tar;
  const std::string data(kFileBytes, 'x');
  for (int i = 0; i < 6; ++i) tar.file(concat("0.f", i), data);
  tar.file("1.cls", "1");
  put("a.tar", tar.finish());
  EXPECT_EQ(read("a.tar", InputFormat::kWebDataset).rows,
            (Lines{"0 rejected: a sample larger than 268.4 MB", "1 __key__='1' cls=i[1]"}));
}

TEST_F(WebDatasetSource, SparseFilesAreRejected) {
  TarBuilder tar;
  tar.pax("GNU.sparse.major", "1").file("0.jpg", "map and data").file("0.cls", "0").file("1.cls", "1");
  put("a.tar", tar.finish());
  EXPECT_EQ(read("a.tar", InputFormat::kWebDataset).rows,
            (Lines{"0 rejected: a sparse file: jpg: pack it without --sparse", "1 __key__='1' cls=i[1]"}));
}

TEST_F(WebDatasetSource, SamplesEndWithTheirTarAndIdsOfSeveralSayWhich) {
  put("train/b.tar", TarBuilder().file("0.txt", "b").finish());
  put("train/a.tgz", *gzip_compress(TarBuilder().file("0.jpg", "a").finish(), 1));
  put("train/x/c.tar", TarBuilder().file("README", "").file("0.jpg", "c").finish());
  put("train/notes.txt", "-");
  EXPECT_EQ(read("train", InputFormat::kWebDataset).rows,
            (Lines{"a.tgz:0 __key__='0' jpg='a'", "b.tar:0 __key__='0' txt='b'",
                   "x/c.tar:README ignored: no sample's file by its name", "x/c.tar:0 __key__='0' jpg='c'"}));
  EXPECT_EQ(read("train/?.t*", InputFormat::kWebDataset).rows,
            (Lines{"a.tgz:0 __key__='0' jpg='a'", "b.tar:0 __key__='0' txt='b'"}));
  EXPECT_EQ(read("train/b.tar", InputFormat::kWebDataset).rows, (Lines{"0 __key__='0' txt='b'"}));
  EXPECT_EQ(read("train/x", InputFormat::kWebDataset).rows.at(1), "c.tar:0 __key__='0' jpg='c'")
      << "there may be more of them another time";
}

TEST_F(WebDatasetSource, IdsOfOneTarDoNotDependOnSlices) {
  put("train/a.tar", TarBuilder().file("0.jpg", "a").finish());
  put("train/b.tar", TarBuilder().file("0.jpg", "b").finish());
  const auto input = find("train", InputFormat::kWebDataset, {.size_bytes = 1});
  ASSERT_TRUE(input);
  ASSERT_EQ(input->slices.size(), 2U);
  EXPECT_EQ(read_slice(*input, input->slices[1]).rows, (Lines{"b.tar:0 __key__='0' jpg='b'"}));
}

TEST_F(WebDatasetSource, ACutTarGivesWhatComesBeforeAndAnError) {
  const Bytes tar = TarBuilder().file("0.jpg", "A").file("1.jpg", std::string(600, 'x')).finish();
  put("a.tar", BytesView(tar).first(2000));
  const RowsRead read = this->read("a.tar", InputFormat::kWebDataset);
  ASSERT_FALSE(read.status);
  EXPECT_EQ(read.status.error().code, Code::kDataLoss);
  EXPECT_NE(read.status.error().message.find("memory://test/a.tar"), std::string::npos);
}

}  // namespace
}  // namespace headrace
