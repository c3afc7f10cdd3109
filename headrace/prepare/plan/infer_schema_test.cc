#include "headrace/prepare/plan/infer_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/text.h"
#include "headrace/codec/tar_builder_test.h"
#include "headrace/prepare/source/source_test.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kJpeg = "\xff\xd8\xff\xe0 and so on";
constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n and so on";

class InferSchema : public SourceTest {
 protected:
  Result<Schema> infer(const std::string& key, InputFormat format, std::uint64_t limit = kCellLimitBytes,
                       const SliceLimits& slices = {}) {
    const auto input = find(key, format, slices);
    if (!input) return input.error();
    auto inferred = infer_schema(*input, stores_, {.cell_limit_bytes = limit, .cells = cells_});
    if (!inferred) return inferred.error();
    remarks_ = std::move(inferred->remarks);
    return std::move(inferred->schema);
  }

  // The schema's TOML, in a line for each feature and key outside of them; or the error's message. Checks
  // that the TOML says the same schema.
  std::string inferred(const std::string& key, InputFormat format) {
    const auto schema = infer(key, format);
    if (!schema) return concat(code_name(schema.error().code), " ", schema.error().message);
    const std::string toml = schema_to_toml(*schema);
    const auto parsed = parse_schema(toml, "inferred");
    if (!parsed) return parsed.error().message;
    EXPECT_EQ(schema_to_toml(*parsed), toml);
    EXPECT_TRUE(same(*parsed, *schema)) << toml;
    return in_lines(toml);
  }

  std::string csv(std::string_view text) {
    put("table.csv", text);
    return inferred("table.csv", InputFormat::kCsv);
  }
  std::string json_lines(std::string_view text) {
    put("rows.jsonl", text);
    return inferred("rows.jsonl", InputFormat::kJsonLines);
  }
  std::string tar(TarBuilder builder) {
    put("samples.tar", builder.finish());
    return inferred("samples.tar", InputFormat::kWebDataset);
  }
  std::string records(std::vector<ExampleBuilder> examples) {
    Bytes bytes, example;
    for (ExampleBuilder& builder : examples) {
      example.clear();
      builder.append_to(example);
      append_record(bytes, example);
    }
    put("rows.tfrecord", bytes);
    return inferred("rows.tfrecord", InputFormat::kTfrecord);
  }
  // The remarks about a table; "none" if there are none.
  std::string remarks(std::string_view text) {
    put("table.csv", text);
    const auto schema = infer("table.csv", InputFormat::kCsv);
    if (!schema) return schema.error().message;
    return remarks_.empty() ? "none" : join(remarks_, "\n");
  }

  CellRules cells_;
  std::vector<std::string> remarks_;

 private:
  static bool same(const Schema& a, const Schema& b) {
    const auto same_feature = [](const FeatureDefinition& x, const FeatureDefinition& y) {
      return x.name == y.name && x.type == y.type && x.columns == y.columns && x.shape == y.shape &&
             x.is_uri == y.is_uri && x.is_optional == y.is_optional && x.default_text == y.default_text &&
             x.vocabulary == y.vocabulary && x.one_hot == y.one_hot;
    };
    return a.id == b.id && a.split == b.split && a.group == b.group && a.cells == b.cells &&
           a.splits == b.splits &&
           std::equal(a.features.begin(), a.features.end(), b.features.begin(), b.features.end(),
                      same_feature);
  }

  static std::string in_lines(std::string_view toml) {
    std::string out;
    for (const std::string& line : split(toml, '\n')) {
      if (line.starts_with("[features.")) {
        std::string_view name = std::string_view(line).substr(10, line.size() - 11);
        if (name.starts_with('"')) name = name.substr(1, name.size() - 2);
        out += concat(out.empty() ? "" : "\n", name, ":");
      } else if (!line.empty()) {
        out += concat(out.empty() ? "" : " ", line.starts_with("type = ") ? line.substr(7) : line);
      }
    }
    return out;
  }
};

TEST_F(InferSchema, ATableAsTfRecorderTakesItHasAnImageByUriALabelAndASplit) {
  EXPECT_EQ(csv("split,image_uri,label\nTRAIN,gs://pets/1.JPG,cat\nVALIDATION,gs://pets/2.jpg,dog\n"
                "TEST,gs://pets/3.jpeg,cat\nDISCARD,gs://pets/4.png,dog\n"),
            "split = \"split\"\n"
            "image: \"image\" column = \"image_uri\" uri = true\n"
            "label: \"label\"");
}

TEST_F(InferSchema, ASplitMayHaveTestRowsAlone) {
  EXPECT_EQ(csv("split,n\ntest,1\nTEST,2\n"), "split = \"split\"\nn: \"int64\"");
  EXPECT_EQ(csv("split,n\nval,1\ntest,2\nDISCARD,3\n"), "split = \"split\"\nn: \"int64\"");
  EXPECT_EQ(csv("split,n\ntest,1\nleft,2\n"), "n: \"int64\"\nsplit: \"string\"");
  EXPECT_EQ(csv("part,n\ntest,1\n"), "n: \"int64\"\npart: \"string\"");
  EXPECT_EQ(json_lines("{\"split\": [\"left\", \"right\"]}\n{\"split\": \"test\"}\n"),
            "split: \"string\" shape = \"ragged\"");
}

TEST_F(InferSchema, ASplitIsOneWithTrainAmongItsValuesInAnySpelling) {
  EXPECT_EQ(csv("Split,n\ntest,1\ntraining,2\n"), "split = \"Split\"\nn: \"int64\"");
  EXPECT_EQ(csv("split,n\nleft,1\nright,2\n"), "n: \"int64\"\nsplit: \"string\"");
  EXPECT_EQ(csv("splits,n\ntrain,1\n"), "n: \"int64\"\nsplits: \"string\"");
  EXPECT_EQ(csv("split,SPLIT,n\nno,train,1\n"), "split = \"SPLIT\"\nn: \"int64\"\nsplit: \"string\"");
  EXPECT_EQ(csv(concat("split,n\n\"", std::string(200, ' '), "train\",1\n")),
            "n: \"int64\"\nsplit: \"string\"");
}

TEST_F(InferSchema, AnIdNamesRowsIfEachHasItsOwn) {
  EXPECT_EQ(csv("id,n\na,1\nb,2\n"), "id = \"id\"\nid: \"string\"\nn: \"int64\"");
  EXPECT_EQ(csv("ID,n\n7,1\n8,2\n"), "id = \"ID\"\nID: \"int64\"\nn: \"int64\"");
  EXPECT_EQ(json_lines("{\"id\":7}\n{\"id\":8}\n"), "id = \"id\"\nid: \"int64\"");
  EXPECT_EQ(csv("id,n\na,1\na,2\n"), "id: \"string\"\nn: \"int64\"");
  EXPECT_EQ(csv("id,n\na,1\n,2\n"), "id: \"string\" optional = true\nn: \"int64\"");
  EXPECT_EQ(json_lines("{\"id\":7}\n{\"id\":\"7\"}\n"), "id: \"int64\"");
  EXPECT_EQ(json_lines("{\"id\":1.5}\n{\"id\":2.5}\n"), "id: \"float32\"");
  EXPECT_EQ(json_lines("{\"id\":[1,2]}\n{\"id\":[2,3]}\n"), "id: \"int64\" shape = [2]");
  EXPECT_EQ(csv("id\n1.jpg\n2.jpg\n"), "id = \"id\"\nid: \"string\"");
  EXPECT_EQ(csv("id\n\xe9\n\xe8\n"), "id: \"bytes\"") << "as text they may become the same";
}

TEST_F(InferSchema, ALabelIsAClassUnlessItHasAFractionOrIsAList) {
  EXPECT_EQ(csv("label\ncat\ndog\n"), "label: \"label\"");
  EXPECT_EQ(csv("Label\n0\n1\n"), "Label: \"label\"");
  EXPECT_EQ(csv("label\n0\n1.5\n"), "label: \"float32\"");
  EXPECT_EQ(csv("label\n1.5\ndog\n"), "label: \"label\"");
  EXPECT_EQ(csv("label,n\n1,1\n,2\n"), "label: \"label\" optional = true\nn: \"int64\"");
  EXPECT_EQ(csv("label\n\"[0,1]\"\n\"[1,0]\"\n"), "label: \"int64\" shape = [2]");
  EXPECT_EQ(json_lines("{\"label\":[0,1]}\n{\"label\":[1,0]}\n"), "label: \"int64\" shape = [2]");
  EXPECT_EQ(json_lines("{\"label\":true}\n"), "label: \"label\"");
  EXPECT_EQ(json_lines("{\"label\":2.0}\n"), "label: \"float32\"");
  EXPECT_EQ(csv("cls\ncat\n"), "cls: \"string\"") << "it is WebDataset's name";
}

TEST_F(InferSchema, TextsThatAllEndAsImagesDoAreImagesByUri) {
  EXPECT_EQ(csv("photo_path,mask_URL,_uri\n a/1.jpg ,1.PNG,1.jpeg\nb/2.png,2.Jpeg,2.jpg\n"),
            "_uri: \"image\" uri = true\n"
            "mask: \"image\" column = \"mask_URL\" uri = true\n"
            "photo: \"image\" column = \"photo_path\" uri = true");
  EXPECT_EQ(csv("image,other\n1.jpg,1.jpg\n2.jpg,2.gif\n"), "image: \"image\" uri = true\nother: \"string\"");
  EXPECT_EQ(csv("image,n\n1.jpg,1\n,2\n"), "image: \"image\" uri = true optional = true\nn: \"int64\"");
  EXPECT_EQ(csv("image,n\njpg,1\n"), "image: \"string\"\nn: \"int64\"");
  EXPECT_EQ(json_lines("{\"image\":\"1.jpg\"}\n{\"image\":2}\n"), "image: \"string\"");
}

TEST_F(InferSchema, NumbersAreWholeUnlessOneIsNot) {
  EXPECT_EQ(csv("a,b,c\n1,1,1\n-2,2.5,x\n+3,3,3\n"), "a: \"int64\"\nb: \"float32\"\nc: \"string\"");
  EXPECT_EQ(csv("a,b\nx,1e3\n1,nan\n"), "a: \"string\"\nb: \"float32\"");
  EXPECT_EQ(csv("a\n 1 \n9223372036854775807\n"), "a: \"int64\"");
  EXPECT_EQ(csv("a\n1\n9223372036854775808\n"), "a: \"string\"") << "float32 would lose digits";
  EXPECT_EQ(csv("a\n1\n1e50\n"), "a: \"string\"") << "float32 has no such number";
  EXPECT_EQ(json_lines("{\"a\":1,\"b\":1,\"c\":1}\n{\"a\":2,\"b\":0.5,\"c\":\"2\"}\n"),
            "a: \"int64\"\nb: \"float32\"\nc: \"int64\"");
}

TEST_F(InferSchema, ListsOfOneLengthAreFixedAndOthersRagged) {
  EXPECT_EQ(csv("a,b,c,d\n\"[1, 2]\",\"[1 2.5]\",[1],[]\n(3;4),[3 4],[2],[]\n"),
            "a: \"int64\" shape = [2]\nb: \"float32\" shape = [2]\n"
            "c: \"int64\" shape = \"ragged\"\nd: \"int64\" shape = \"ragged\"");
  EXPECT_EQ(csv("a,b,c,d\n[1 2],[1 2],[1 2],1 2\n[1 2 3],7,[1 x],3 4\n"),
            "a: \"int64\" shape = \"ragged\"\nb: \"int64\" shape = \"ragged\"\n"
            "c: \"string\"\nd: \"string\"");
  EXPECT_EQ(json_lines("{\"a\":[1,2,3],\"b\":[1,2],\"c\":[],\"d\":[[1],[2]]}\n"
                       "{\"a\":[4,5,0.5],\"b\":[1],\"c\":[],\"d\":[[1],[2]]}\n"),
            "a: \"float32\" shape = [3]\nb: \"int64\" shape = \"ragged\"\n"
            "c: \"int64\" shape = \"ragged\"\nd: \"string\"");
  EXPECT_EQ(json_lines("{\"a\":[1,2]}\n{\"a\":\"x\"}\n"), "a: \"string\"");
  EXPECT_EQ(csv("a\n[1 2\n"), "a: \"string\"");
}

TEST_F(InferSchema, ListsOfTextsAreNoNumbersNoLabelsAndNoImages) {
  EXPECT_EQ(json_lines("{\"pair\":[\"a\",\"b\"],\"tags\":[\"a\"],\"years\":[\"1\"],\"label\":[\"cat\"],"
                       "\"files\":[\"a.jpg\"],\"id\":[\"x\"],\"no\":[]}\n"
                       "{\"pair\":[\"c\",\"d\"],\"tags\":[],\"years\":[\"2\",\"3\"],\"label\":[\"dog\"],"
                       "\"files\":[\"b.jpg\"],\"id\":[\"y\"],\"no\":\"a\"}\n"),
            "files: \"string\" shape = \"ragged\"\nid: \"string\" shape = \"ragged\"\n"
            "label: \"string\" shape = \"ragged\"\nno: \"string\"\npair: \"string\" shape = [2]\n"
            "tags: \"string\" shape = \"ragged\"\nyears: \"string\" shape = \"ragged\"");
  EXPECT_EQ(json_lines("{\"a\":\"x\",\"b\":[\"x\",\"y\"]}\n{\"a\":[\"x\",\"y\"],\"b\":\"x\"}\n"),
            "a: \"string\" shape = \"ragged\"\nb: \"string\" shape = \"ragged\"");
}

TEST_F(InferSchema, ListsOfByteStringsInTfExamplesAreTextIfAllAreUtf8) {
  const std::vector<BytesView> one = {as_bytes("a")}, two = {as_bytes("a"), as_bytes("b")};
  const std::vector<BytesView> binary = {as_bytes("a"), as_bytes("\xff")};
  std::vector<ExampleBuilder> examples(2);
  examples[0].add_bytes_list("binary", binary);
  examples[0].add_bytes_list("none", {});
  examples[0].add_bytes_list("one", one);
  examples[0].add_bytes_list("pair", two);
  examples[0].add_bytes_list("some", one);
  examples[1].add_bytes_list("binary", two);
  examples[1].add_bytes_list("none", {});
  examples[1].add_bytes_list("one", one);
  examples[1].add_bytes_list("pair", two);
  examples[1].add_bytes_list("some", {});
  EXPECT_EQ(records(examples),
            "binary: \"bytes\" shape = [2]\nnone: \"string\" shape = \"ragged\"\none: \"string\"\n"
            "pair: \"string\" shape = [2]\nsome: \"string\" shape = \"ragged\"");
}

TEST_F(InferSchema, TextIsAStringIfItIsUtf8) {
  EXPECT_EQ(csv("a,b\ncaf\xc3\xa9,caf\xe9\nx,y\n"), "a: \"string\"\nb: \"bytes\"");
  EXPECT_EQ(csv("a,b\nx,1\n1,caf\xe9\n"), "a: \"string\"\nb: \"bytes\"");
}

TEST_F(InferSchema, WhatIsMissingSomewhereIsOptionalAndEverywhereLeftOut) {
  EXPECT_EQ(csv("a,b,c\n1,,\n2,x,\n"), "a: \"int64\"\nb: \"string\" optional = true");
  EXPECT_EQ(json_lines("{\"a\":1}\n{\"b\":[1,2],\"c\":null}\n"),
            "a: \"int64\" optional = true\nb: \"int64\" shape = [2] optional = true");
}

TEST_F(InferSchema, QuotedCellsAreWhatIsInTheQuotes) {
  EXPECT_EQ(csv("\"a, b\",\"c\"\"d\"\n\"1\",\"x\n\"\"y\"\"\"\n"), "a, b: \"int64\"\nc\\\"d: \"string\"");
}

TEST_F(InferSchema, AColumnThatBecomesTextLateIsText) {
  const auto table = [](int rows, int odd) {
    std::string text = "n\n";
    for (int row = 1; row <= rows; ++row) text += row == odd ? "odd\n" : concat(row, "\n");
    return text;
  };
  EXPECT_EQ(csv(table(3, 3)), "n: \"string\"");
  EXPECT_EQ(csv(table(50'000, 50'000)), "n: \"string\"");
  const auto rejected_rows = [](int rows) {
    std::string text = "a,b\n";
    for (int row = 0; row < rows; ++row) text += "x\n";
    return text;
  };
  EXPECT_EQ(csv(rejected_rows(2000) + "1,2\n"), "a: \"int64\"\nb: \"int64\"");
}

TEST_F(InferSchema, RowsOfTheLastFilesAreLookedAtToo) {
  for (int file = 100; file < 140; ++file)
    put(concat("tables/", file, ".csv"), std::string_view(file == 139 ? "n\nodd\n" : "n\n1\n"));
  const auto schema = infer("tables", InputFormat::kCsv, kCellLimitBytes, {.size_bytes = 1});
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->features.front().type, SchemaType::kString);
  EXPECT_THAT(remarks_, testing::ElementsAre(HasSubstr("row 2 of memory://test/tables/139.csv is \"odd\"")));
}

TEST_F(InferSchema, TheEndOfAFileThatIsTooLargeToReadWholeIsLookedAtToo) {
  std::string text = "n,text\n";
  for (int row = 0; text.size() < (70U << 20); ++row) text += concat(row, ",", std::string(1000, 'x'), "\n");
  put("table.csv", text + "odd,\n");
  const auto schema = infer("table.csv", InputFormat::kCsv);
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->features.front().type, SchemaType::kString);
  EXPECT_THAT(remarks_, testing::ElementsAre(AllOf(HasSubstr("a row after byte "), HasSubstr("is \"odd\""))));
}

TEST_F(InferSchema, ATextAmongNumbersIsToldWithItsRowAndTheOptionThatMendsIt) {
  EXPECT_THAT(remarks("n\n1\nNA\n2\n3\n-\n"),
              AllOf(HasSubstr("column n has text, not numbers, because of 2 of the 5 cells"),
                    HasSubstr("row 3 of memory://test/table.csv is \"NA\""), HasSubstr("--missing NA,-")));
  EXPECT_THAT(remarks("label\n1\nn/a\n2\n"), HasSubstr("--missing n/a"));
  EXPECT_THAT(remarks("n\n1\n<none>\n2\n"), HasSubstr("--missing '<none>'"));
  EXPECT_THAT(remarks("n\n1\n\"no, none\"\n2\n"), HasSubstr("the key missing of a --schema"));
  EXPECT_THAT(remarks("n\n1\n\"2,5\"\n"), HasSubstr("row 3 of memory://test/table.csv is \"2,5\""));
  EXPECT_THAT(remarks("n\n\"1,5\"\n\"2,5\"\n"), HasSubstr("--decimal ,"));
  EXPECT_THAT(remarks("n\n1\n\" \"\n2\n"), HasSubstr("leave them empty"));
  EXPECT_EQ(remarks("n\n1\n2.5\n"), "none");
  EXPECT_THAT(remarks("0,44,cook\n1,38,pilot\n"), HasSubstr("a column is called 0, which is a number"));
  EXPECT_EQ(remarks("n\n1\na\nb\n"), "none") << "numbers among texts";
  EXPECT_EQ(remarks("n\n1\n2\n123456789012345678901\n"), "none") << "an id, not a missing value";
  EXPECT_EQ(remarks("id,n\n1,2\n2,3\nx,4\n"), "none") << "names of rows";
}

TEST_F(InferSchema, TextsThatCountAsMissingAndDecimalCommasLeaveAColumnOfNumbers) {
  cells_ = {.missing = {"NA", "-"}};
  EXPECT_EQ(csv("n\n1\n NA\n2\n-\n"), "missing = [\"NA\", \"-\"]\nn: \"int64\" optional = true");
  EXPECT_THAT(remarks("a,n\nNA,1\n"), HasSubstr("column a is empty in all 1 rows"));
  cells_ = {.decimal = ','};
  EXPECT_EQ(csv("n\n1\n\"2,5\"\n"), "decimal = \",\"\nn: \"float32\"");
  EXPECT_EQ(csv("n\n\"[1,5; 2]\"\n"), "decimal = \",\"\nn: \"float32\" shape = [2]");
  EXPECT_EQ(csv("n\n1.5\n"), "decimal = \",\"\nn: \"string\"");
}

TEST_F(InferSchema, TextThatIsNotUtf8IsBytesUnlessItsEncodingIsNamed) {
  EXPECT_THAT(remarks("n\nb\n\xfc\n"),
              AllOf(HasSubstr("column n is stored as bytes, because row 3 of memory://test/table.csv"),
                    HasSubstr("--encoding latin-1")));
  cells_ = {.encoding = "latin-1"};
  EXPECT_EQ(csv("n\nb\n\xfc\n"), "encoding = \"latin-1\"\nn: \"string\"");
  EXPECT_EQ(remarks("n\nb\n\xfc\n"), "none");
}

TEST_F(InferSchema, AColumnThatIsCalledSplitAndNamesNoneIsTold) {
  EXPECT_THAT(remarks("split,n\nleft,1\nright,2\n"),
              AllOf(HasSubstr("column split does not hold the usual names of splits"),
                    HasSubstr("split = \"split\"")));
  EXPECT_EQ(remarks("split,n\ntest,1\n"), "none");
}

TEST_F(InferSchema, RejectedRowsArePassedOverUnlessThereAreNoOthers) {
  EXPECT_EQ(csv("a,b\n1\n1,2\n"), "a: \"int64\"\nb: \"int64\"");
  EXPECT_THAT(csv("a,b\n1\n2\n"),
              AllOf(HasSubstr("INVALID_ARGUMENT memory://test/table.csv: "),
                    HasSubstr("wrong number of cells"), HasSubstr("row 2"), HasSubstr("--schema")));
  EXPECT_THAT(json_lines("no\n"), AllOf(HasSubstr("memory://test/rows.jsonl"), HasSubstr("not JSON")));
}

TEST_F(InferSchema, WithoutRowsOrFeaturesThereIsNoSchema) {
  EXPECT_THAT(csv("a,b\n"), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("no row can be read")));
  EXPECT_THAT(csv("a,b\n,\n"), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("no column")));
  EXPECT_THAT(csv("split\ntrain\n"), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("no column")));
  EXPECT_THAT(json_lines("{}\n"), HasSubstr("no column"));
  const auto none = infer_schema(Input{.url = "memory://test/none"}, stores_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalidArgument);
}

TEST_F(InferSchema, AnInputThatCannotBeReadIsAnErrorOfTheSource) {
  put("table.csv", std::string_view("a,a\n1,2\n"));
  const auto schema = infer("table.csv", InputFormat::kCsv);
  ASSERT_FALSE(schema);
  EXPECT_THAT(schema.error().message, HasSubstr("names column 2 as column 1"));
}

TEST_F(InferSchema, ColumnsAreSoManyAtMost) {
  const auto rows = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += concat("{\"c", i, "\":1,\"d", i, "\":2}\n");
    return text;
  };
  const std::string five_hundred = rows(500);
  EXPECT_THAT(json_lines(five_hundred), HasSubstr("c499: \"int64\" optional = true"));
  std::string wide[2] = {"{", "{"};
  for (int i = 0; i < 5000; ++i) {
    for (const int row : {0, 1}) wide[row] += concat(i == 0 ? "" : ",", "\"", row, "_", i, "\":1");
  }
  const std::string most = concat(wide[0], "}\n", wide[1], "}\n");
  EXPECT_THAT(json_lines(most), HasSubstr("1_4999: \"int64\" optional = true"));
  EXPECT_THAT(json_lines(concat(most, "{\"0_1\":1,\"one more\":1}\n")),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("more than 10000 columns")));
}

TEST_F(InferSchema, FeaturesThatWouldHaveOneNameAreNumberedInTheColumnsOrder) {
  EXPECT_EQ(csv("image_uri,image,image_url,image_2\n1.jpg,x,2.png,y\n"),
            "image: \"image\" column = \"image_uri\" uri = true\n"
            "image_2: \"string\" column = \"image\"\n"
            "image_2_2: \"string\" column = \"image_2\"\n"
            "image_3: \"image\" column = \"image_url\" uri = true");
}

TEST_F(InferSchema, NamesOfAnyUtf8ComeBackFromToml) {
  EXPECT_EQ(csv("gr\xc3\xb6\xc3\x9f"
                "e,a.b,\"[x]\",'q'\n1,2,3,4\n"),
            "'q': \"int64\"\n[x]: \"int64\"\na.b: \"int64\"\ngr\xc3\xb6\xc3\x9f"
            "e: \"int64\"");
  EXPECT_EQ(json_lines("{\"\":1,\"a\\nb\":2,\"\\u0000\":3,\"\\u007f\":4}\n"),
            ": \"int64\"\n\\u0000: \"int64\"\na\\u000ab: \"int64\"\n\\u007f: \"int64\"");
  EXPECT_THAT(csv("gr\xf6\xdf"
                  "e\n1\n"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("not UTF-8")));
}

TEST_F(InferSchema, SamplesOfWebDatasetHaveTheirKeyImageAndClass) {
  const std::string large = concat(kJpeg, std::string(5000, 'x'));
  EXPECT_EQ(tar(TarBuilder()
                    .file("a/1.jpg", large)
                    .file("a/1.cls", "3")
                    .file("a/1.left.png", kPng)
                    .file("a/1.txt", "a caption")
                    .file("a/1.npy", std::string(5000, 'x'))
                    .file("a/2.jpg", kJpeg)
                    .file("a/2.cls", "4")
                    .file("a/2.left.png", std::string(5000, 'x'))
                    .file("a/2.txt", std::string(5000, 'x'))
                    .file("a/2.json", "{\"width\": 3}")),
            "cls: \"label\"\nid: \"string\" column = \"__key__\"\njpg: \"image\"\n"
            "json: \"string\" optional = true\nleft.png: \"image\"\nnpy: \"bytes\" optional = true\n"
            "txt: \"string\"");
}

TEST_F(InferSchema, ACompressedTarHasTheSchemaOfTheTar) {
  TarBuilder builder;
  for (const char* key : {"1", "2"}) {
    builder.file(concat(key, ".jpg"), concat(kJpeg, std::string(5000, 'x'), key));
    builder.file(concat(key, ".txt"), std::string(5000, 'x')).file(concat(key, ".cls"), key);
  }
  const Bytes bytes = builder.finish();
  put("plain.tar", bytes);
  put("packed.tar.gz", *gzip_compress(bytes, 1));
  const std::string plain = inferred("plain.tar", InputFormat::kWebDataset);
  EXPECT_THAT(plain, HasSubstr("jpg: \"image\""));
  EXPECT_EQ(inferred("packed.tar.gz", InputFormat::kWebDataset), plain);
}

TEST_F(InferSchema, KeysOfWebDatasetNameItsRowsAndAFieldIdIsANumber) {
  EXPECT_EQ(tar(TarBuilder().file("1.id", "7").file("2.id", "8")),
            "id: \"string\" column = \"__key__\"\nid_2: \"int64\" column = \"id\"");
  EXPECT_EQ(tar(TarBuilder().file("1.cls", "0.5").file("2.cls", "1")),
            "cls: \"float32\"\nid: \"string\" column = \"__key__\"");
}

TEST_F(InferSchema, FeaturesOfTfExamplesAreWhatTheyHold) {
  const std::vector<std::int64_t> one = {3}, two = {1, 2};
  const std::vector<float> pair = {0.5F, 2}, single = {1};
  const auto example = [&](std::string_view image, const std::vector<std::int64_t>& ragged) {
    ExampleBuilder builder;
    builder.add_bytes("image/encoded", as_bytes(image));
    builder.add_bytes("image/filename", as_bytes("n01.jpg"));
    builder.add_int64s("label", one);
    builder.add_int64s("ragged", ragged);
    builder.add_floats("pair", pair);
    builder.add_floats("single", single);
    builder.add_bytes("raw", as_bytes("\xff\xfe"));
    return builder;
  };
  EXPECT_EQ(records({example(kJpeg, one), example(kPng, two)}),
            "image/encoded: \"image\"\n"
            "image/filename: \"string\"\n"
            "label: \"label\"\n"
            "pair: \"float32\" shape = [2]\n"
            "ragged: \"int64\" shape = \"ragged\"\n"
            "raw: \"bytes\"\n"
            "single: \"float32\"");
}

TEST_F(InferSchema, BytesAreImagesOnlyIfAllBeginAsOne) {
  const auto example = [](std::string_view image) {
    ExampleBuilder builder;
    builder.add_bytes("image", as_bytes(image));
    return builder;
  };
  EXPECT_EQ(records({example(kJpeg), example("GIF89a \xff")}), "image: \"bytes\"");
  EXPECT_EQ(records({example(kJpeg), example("")}), "image: \"bytes\"");
  EXPECT_EQ(records({example("1.jpg"), example("2.jpg")}), "image: \"image\" uri = true");
}

TEST_F(InferSchema, AFeatureWhoseNameIsNotUtf8CannotBeNamed) {
  const std::vector<std::int64_t> one = {3};
  ExampleBuilder builder;
  builder.add_int64s("\xff", one);
  EXPECT_THAT(records({builder}), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("not UTF-8")));
}

TEST_F(InferSchema, ACellThatIsTooLargeRejectsItsRowOnly) {
  put("table.csv", concat("a\n", std::string(200, 'x'), "\n5\n"));
  const auto schema = infer("table.csv", InputFormat::kCsv, 100);
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->features.at(0).type, SchemaType::kInt64);
}

}  // namespace
}  // namespace headrace
