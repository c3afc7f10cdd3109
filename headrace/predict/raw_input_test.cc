#include "headrace/predict/raw_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/tar_builder_test.h"
#include "headrace/engine/hash/hash_encoder.h"
#include "headrace/os/file_descriptor.h"
#include "headrace/stream/batch_tensors.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kSchema = R"(id = "name"
split = "part"
[features.age]
type = "float32"
optional = true
[features.job]
type = "label"
vocabulary = ["cook", "pilot"]
[features.text]
type = "vector"
column = "about"
encoder = "hash:4"
default = ""
[features.income]
type = "label"
vocabulary = ["low", "high"]
)";

class RawInputTest : public testing::Test {
 protected:
  RawInputTest() {
    DatasetAttributes data{.schema = std::string(kSchema)};
    const std::vector<std::int64_t> scalar;
    data.features = {{"age", {.dtype = "float32", .shape = scalar, .is_optional = true}},
                     {"job", {"int64", scalar}},
                     {"text", {"float32", std::vector<std::int64_t>{4}}},
                     {"income", {"int64", scalar}}};
    data.vocabularies = {{"job", {"cook", "pilot"}}, {"income", {"low", "high"}}};
    data.encoders = {{"text", {"hash:4", encoder->weights_digest(), 4}}};
    const ModelBinding binding{
        .inputs = {{"age", "age", *model_feature(data, "age")},
                   {"job", "job", *model_feature(data, "job")},
                   {"text", "text", *model_feature(data, "text")}},
        .targets = {{"labels", "out", *model_feature(data, "income"), TargetKind::kClasses}},
        .outputs = {{"predictions", "out", {2}}}};
    model.contract = make_contract(binding, {"examples"}, data);
    model.folder = *stores.open("memory://test/run/export");
  }

  void put(const std::string& key, std::string_view text) {
    ASSERT_TRUE(write_text(*model.folder.store, key, text));
  }

  Result<std::unique_ptr<PredictInput>> open(const std::string& key, InputFormat format) {
    HEADRACE_TRY(Input found, find_input(*stores.open(concat("memory://test/", key)), format));
    return open_raw_input(model, std::move(found), stores, {{"hash:4", encoder}}, options);
  }

  struct Rows {
    std::vector<std::string> about;
    std::vector<float> ages;
    std::vector<std::int64_t> jobs;
    std::vector<std::vector<float>> texts;
    std::vector<std::string> remarks;
    std::uint64_t left_out = 0;
    std::size_t batches = 0;
    Status status{};
  };

  // All rows that the reader has until it ends.
  void read_all(PieceReader& reader, Rows& out) {
    BatchTensors tensors(model.contract.binding.input_features());
    while (true) {
      const auto rows = reader.next();
      if (!rows) out.status = rows.error();
      if (!rows || !*rows) return;
      add(**rows, tensors, out);
    }
  }

  // All rows of all pieces.
  Rows read(const std::string& key, InputFormat format = InputFormat::kCsv, std::uint64_t batch_size = 4) {
    Rows out;
    const auto input = open(key, format);
    if (!input) return {.status = input.error()};
    for (std::size_t piece = 0; piece < (*input)->pieces(); ++piece) {
      const auto reader = (*input)->open(piece, batch_size, {});
      if (!reader) return {.status = reader.error()};
      read_all(**reader, out);
      out.left_out += (*reader)->left_out();
      for (std::string& remark : (*reader)->remarks()) out.remarks.push_back(std::move(remark));
    }
    return out;
  }

  StoreRegistry stores{Environment{}};
  const std::shared_ptr<const TextEncoder> encoder = *make_hash_encoder(4);
  ExportedModel model{.folder = {},
                      .digest = {},
                      .contract = {},
                      .files = *StagedFolder::create(testing::TempDir() + "headrace-raw-input-test"),
                      .model = nullptr};
  RawInputOptions options{};

 private:
  static void add(const PredictRows& rows, BatchTensors& tensors, Rows& out) {
    ++out.batches;
    const auto views = *tensors.view(rows.batch, rows.batch.rows);
    ASSERT_THAT(rows.names, SizeIs(rows.batch.rows));
    for (std::size_t row = 0; row < rows.batch.rows; ++row) {
      if (rows.batch.weights()[row] == 0) continue;
      out.about.push_back(json_members(rows.names[row]));
      out.ages.push_back(static_cast<const float*>(views[0].data)[row]);
      out.jobs.push_back(static_cast<const std::int64_t*>(views[1].data)[row]);
      const float* text = static_cast<const float*>(views[2].data) + 4 * row;
      out.texts.emplace_back(text, text + 4);
    }
  }
};

TEST_F(RawInputTest, RowsBecomeInputsAsTheSchemaSays) {
  put("new.csv", "age,job,about,name\n31.5,pilot,likes clouds,ann\n40,cook,,bob\n");
  const Rows rows = read("new.csv");
  ASSERT_TRUE(rows.status) << rows.status.error().message;
  EXPECT_THAT(rows.about, ElementsAre(R"("id":"ann")", R"("id":"bob")"));
  EXPECT_THAT(rows.ages, ElementsAre(31.5F, 40));
  EXPECT_THAT(rows.jobs, ElementsAre(1, 0));
  std::vector<float> encoded(4);
  const std::string_view text = "likes clouds";
  ASSERT_TRUE(encoder->encode({&text, 1}, encoded));
  EXPECT_EQ(rows.texts.front(), encoded);
}

TEST_F(RawInputTest, AMissingCellOfAnOptionalFeatureIsZeroAsInTraining) {
  put("new.csv", "age,job,about,name\n,pilot,a,ann\n7,cook,b,bob\n");
  const Rows rows = read("new.csv");
  ASSERT_TRUE(rows.status) << rows.status.error().message;
  EXPECT_THAT(rows.ages, ElementsAre(0, 7));
  EXPECT_EQ(rows.left_out, 0U);
}

TEST_F(RawInputTest, CellsAreReadAsTheSchemaSays) {
  model.contract.schema = concat("encoding = \"latin-1\"\nmissing = [\"NA\"]\ndecimal = \",\"\n", kSchema);
  put("new.csv", "age,job,about,name\n\"31,5\",pilot,NA,m\xfcller\n\"40,5\",cook,,bob\n");
  const Rows rows = read("new.csv");
  ASSERT_TRUE(rows.status) << rows.status.error().message;
  EXPECT_THAT(rows.about, ElementsAre("\"id\":\"m\xc3\xbcller\"", R"("id":"bob")"));
  EXPECT_THAT(rows.ages, ElementsAre(31.5F, 40.5F));
  EXPECT_EQ(rows.texts[0], rows.texts[1]) << "no text, either way";
}

TEST_F(RawInputTest, WithoutIdsRowsHaveTheirNumbersAndFilesTheirUrls) {
  put("new.csv", "age,job,about\n1,cook,a\n2,cook,b\n");
  EXPECT_THAT(read("new.csv").about, ElementsAre("\"row\":2", "\"row\":3")) << "the header is the first row";
  put("many/a.csv", "age,job,about\n1,cook,a\n");
  put("many/b.csv", "age,job,about\n2,cook,b\n");
  EXPECT_THAT(read("many").about, ElementsAre(R"("source":"memory://test/many/a.csv","row":2)",
                                              R"("source":"memory://test/many/b.csv","row":2)"));
}

TEST_F(RawInputTest, FilesHaveTheirPathsAsIdsInFoldersAndInArchives) {
  model.contract.schema = R"(
[features.age]
type = "float32"
optional = true
[features.job]
type = "label"
vocabulary = ["cook", "pilot"]
default = "cook"
[features.text]
type = "vector"
encoder = "hash:4"
)";
  put("folder/a/1.txt", "likes clouds");
  put("folder/a/2.txt", "likes the sea");
  const Bytes tar = TarBuilder().file("a/1.txt", "likes clouds").file("a/2.txt", "likes the sea").finish();
  put("one.tar", as_text(tar));
  put("many-1.tar", as_text(tar));
  put("many-2.tar", as_text(tar));
  for (const char* const key : {"folder", "one.tar"}) {
    const Rows rows = read(key, InputFormat::kTextFiles);
    ASSERT_TRUE(rows.status) << rows.status.error().message;
    EXPECT_THAT(rows.about, ElementsAre(R"("id":"a/1.txt")", R"("id":"a/2.txt")")) << key;
    EXPECT_THAT((*open(key, InputFormat::kTextFiles))->names(), ElementsAre("id")) << key;
  }
  EXPECT_THAT(read("many-*.tar", InputFormat::kTextFiles).about,
              ElementsAre(R"("id":"many-1.tar:a/1.txt")", R"("id":"many-1.tar:a/2.txt")",
                          R"("id":"many-2.tar:a/1.txt")", R"("id":"many-2.tar:a/2.txt")"));
}

TEST_F(RawInputTest, EveryRowComesOnceInItsOrderWhateverTheSizeOfBatches) {
  std::string table = "age,job,about,name\n";
  for (int i = 0; i < 1000; ++i) table += concat(i, ",cook,text ", i, ",", i, "\n");
  put("new.csv", table);
  for (const std::uint64_t batch_size : {1, 7, 256, 300, 2000}) {
    const Rows rows = read("new.csv", InputFormat::kCsv, batch_size);
    ASSERT_THAT(rows.ages, SizeIs(1000)) << batch_size;
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(rows.ages[static_cast<std::size_t>(i)], static_cast<float>(i));
    EXPECT_EQ(rows.batches, (1000 + batch_size - 1) / batch_size);
  }
}

TEST_F(RawInputTest, ARowThatMakesNoRecordIsAnErrorOrLeftOut) {
  put("new.csv", "age,job,about,name\nold,cook,a,ann\n3,cook,b,bob\n4,thief,c,eve\n");
  const Rows failed = read("new.csv");
  ASSERT_FALSE(failed.status);
  EXPECT_EQ(failed.status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(failed.status.error().message, HasSubstr("new.csv, row 2 is rejected"));
  EXPECT_THAT(failed.status.error().message, HasSubstr("--on-corrupt skip-record"));
  options.on_corrupt = CorruptionPolicy::kSkipRecord;
  const Rows rows = read("new.csv");
  ASSERT_TRUE(rows.status) << rows.status.error().message;
  EXPECT_THAT(rows.about, ElementsAre(R"("id":"bob")"));
  EXPECT_EQ(rows.left_out, 2U);
  EXPECT_THAT(rows.remarks, ElementsAre(HasSubstr("row 2"), HasSubstr("row 4")));
}

TEST_F(RawInputTest, AColumnThatIsMissingIsNamedWithTheNearest) {
  put("new.csv", "age,jobs,about\n1,cook,a\n");
  const Rows rows = read("new.csv");
  ASSERT_FALSE(rows.status);
  EXPECT_THAT(rows.status.error().message, HasSubstr("a column job, which the header of"));
  EXPECT_THAT(rows.status.error().message, HasSubstr("did you mean jobs?"));
}

TEST_F(RawInputTest, ATableMayLackAColumnThatNeedsNoValueWhichARemarkNames) {
  put("new.csv", "ages,job\n1,pilot\n");
  const Rows rows = read("new.csv");
  ASSERT_TRUE(rows.status) << rows.status.error().message;
  put("new.jsonl", R"({"job": "pilot"})"
                   "\n");
  const Rows of_lines = read("new.jsonl", InputFormat::kJsonLines);
  EXPECT_EQ(rows.ages, of_lines.ages);
  EXPECT_EQ(rows.texts, of_lines.texts) << "of the default";
  EXPECT_THAT(rows.jobs, ElementsAre(1));
  EXPECT_THAT(rows.remarks, ElementsAre(HasSubstr("has no column about"),
                                        HasSubstr("has no column age, so each of its rows lacks that value, "
                                                  "which the model's schema allows; did you mean ages?")));
}

TEST_F(RawInputTest, FilesThatLackAColumnOfTheModelAreRefusedWithWhatToGive) {
  put("texts/1.txt", "likes clouds");
  const Status refused = read("texts", InputFormat::kTextFiles).status;
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message,
              HasSubstr("takes a column job, which the files of memory://test/texts do "
                        "not have: each is a row with the columns text, label, split, "
                        "id. Give a table with a column job with --data"));
}

TEST_F(RawInputTest, ImagesForAnotherColumnAreGivenOneByOne) {
  model.contract.schema = "[features.photo]\ntype = \"image\"\nuri = true\n";
  model.contract.binding.inputs = {
      {"photo", "photo", {.name = "photo", .type = DataType::kUint8, .shape = {2, 2, 3}}}};
  put("pictures/1.png", "pixels");
  EXPECT_THAT(read("pictures", InputFormat::kImageFiles).status.error().message,
              HasSubstr("Give the images with --image, or a table with a column photo with --data"));
}

TEST_F(RawInputTest, JsonLinesAreRowsToo) {
  put("new.jsonl", R"({"age": 2, "job": "pilot", "about": "x", "name": 7})"
                   "\n");
  const Rows rows = read("new.jsonl", InputFormat::kJsonLines);
  ASSERT_TRUE(rows.status) << rows.status.error().message;
  EXPECT_THAT(rows.about, ElementsAre(R"("id":"7")"));
  EXPECT_THAT(rows.jobs, ElementsAre(1));
}

TEST_F(RawInputTest, RowsOfAStreamAreReadAsTheyCome) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const FileDescriptor from(ends[0]), to(ends[1]);
  RowStream stream(from.get(), *make_row_parser({.format = InputFormat::kJsonLines}), "file:///here/-", {});
  const auto input =
      open_row_stream(model, stream, InputFormat::kJsonLines, stores, {{"hash:4", encoder}}, options);
  ASSERT_TRUE(input) << input.error().message;
  const auto reader = *(*input)->open(0, 2, {});
  Rows rows;
  read_all(*reader, rows);
  EXPECT_THAT(rows.ages, ElementsAre());
  ASSERT_TRUE(write_all(to, as_bytes("{\"age\": 1, \"job\": \"cook\"}\n"
                                     "{\"age\": 2, \"job\": \"cook\", \"name\": \"bob\"}\n"
                                     "{\"age\": 3, \"job\": \"cook\"}\n")));
  ASSERT_TRUE(*stream.wait());
  read_all(*reader, rows);
  EXPECT_THAT(rows.ages, ElementsAre(1, 2, 3)) << "a batch need not be full";
  ASSERT_TRUE(write_all(to, as_bytes("{\"age\": 4, \"job\": \"pilot\"}\n{\"age\": \"old\"}\n")));
  ASSERT_TRUE(*stream.wait());
  read_all(*reader, rows);
  EXPECT_THAT(rows.about, ElementsAre(R"("row":1)", R"("id":"bob")", R"("row":3)"));
  EXPECT_THAT(rows.status.error().message, HasSubstr("row 5 of standard input is rejected"));
}

TEST_F(RawInputTest, AManifestThatLacksWhatItsSchemaNeedsIsRefused) {
  put("new.csv", "age,job,about,name\n1,cook,a,ann\n");
  model.contract.vocabularies.erase("job");
  EXPECT_THAT(open("new.csv", InputFormat::kCsv).error().message,
              HasSubstr("no vocabulary for its feature job"));
}

TEST_F(RawInputTest, NamesTheColumnsThatItsInputsAreMadeFrom) {
  const auto columns = raw_columns(model);
  ASSERT_TRUE(columns) << columns.error().message;
  EXPECT_THAT(*columns,
              ElementsAre(testing::Field(&RawColumn::name, "about"), testing::Field(&RawColumn::name, "age"),
                          testing::Field(&RawColumn::name, "job")));
  EXPECT_FALSE(columns->front().is_url);
}

TEST_F(RawInputTest, AModelThatDoesNotKnowHowItsInputsWereMadeSaysSo) {
  put("new.csv", "age,job,about\n1,cook,a\n");
  model.contract.schema = "[features.age]\ntype = \"float32\"\n";
  EXPECT_THAT(read("new.csv").status.error().message, HasSubstr("does not say how its input job is made"));
  model.contract.schema.clear();
  const Error error = read("new.csv").status.error();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr("without a schema"));
}

TEST_F(RawInputTest, ItsConfigurationNamesTheVersionOfTheInput) {
  put("new.csv", "age,job,about\n1,cook,a\n");
  const auto first = open("new.csv", InputFormat::kCsv);
  put("new.csv", "age,job,about\n2,cook,a\n");
  const auto second = open("new.csv", InputFormat::kCsv);
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->configuration().at("data"), "memory://test/new.csv");
  EXPECT_NE((*first)->configuration(), (*second)->configuration());
}

}  // namespace
}  // namespace headrace
