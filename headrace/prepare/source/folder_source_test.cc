#include "headrace/prepare/source/folder_source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/prepare/source/source_test.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using FolderSource = SourceTest;

TEST_F(FolderSource, ImagesAreReferencesToWholeObjects) {
  put("cats-and-dogs/train/cats/cat.0.jpg", "CAT");
  put("cats-and-dogs/validation/dogs/dog.1.jpg", "DOG");
  put("cats-and-dogs/validation/dogs/Thumbs.db", "-");
  put("cats-and-dogs/validation/dogs/dog.2.gif", "GIF");
  const RowsRead read = this->read("cats-and-dogs", InputFormat::kImageFolder);
  ASSERT_TRUE(read.status) << read.status.error().message;
  EXPECT_EQ(read.rows,
            (Lines{"train/cats/cat.0.jpg image='CAT' label='cats' split='train' id='train/cats/cat.0.jpg'",
                   "validation/dogs/Thumbs.db ignored: left by a file system",
                   "validation/dogs/dog.1.jpg image='DOG' label='dogs' split='validation' "
                   "id='validation/dogs/dog.1.jpg'",
                   "validation/dogs/dog.2.gif rejected: image format that is not read"}));
  EXPECT_EQ(read.references, 2U);
  EXPECT_EQ(read.consumed_bytes, 10U);
}

TEST_F(FolderSource, WithoutSplitsTheCellIsMissing) {
  put("PetImages/Cat/0.jpg", "CAT");
  EXPECT_EQ(read("PetImages", InputFormat::kImageFolder).rows,
            (Lines{"Cat/0.jpg image='CAT' label='Cat' split=- id='Cat/0.jpg'"}));
  EXPECT_EQ(read("", InputFormat::kImageFolder).rows,
            (Lines{"PetImages/Cat/0.jpg image='CAT' label='Cat' split=- id='PetImages/Cat/0.jpg'"}));
}

TEST_F(FolderSource, TextsHaveTheirOwnColumn) {
  put("aclImdb/train/neg/0_3.txt", "bad");
  put("aclImdb/train/unsup/0_0.txt", "none");
  EXPECT_EQ(read("aclImdb", InputFormat::kAclImdb).rows,
            (Lines{"train/neg/0_3.txt text='bad' label='neg' split='train' id='train/neg/0_3.txt'",
                   "train/unsup/0_0.txt ignored: unsupervised text (unsup)"}));
  EXPECT_EQ(read("aclImdb", InputFormat::kTextFolder).rows.at(1),
            "train/unsup/0_0.txt text='none' label='unsup' split='train' id='train/unsup/0_0.txt'");
}

TEST_F(FolderSource, WhatIsLargerThanACellIsRejected) {
  put("data/cats/a.png", std::string(100, 'x'));
  put("data/cats/b.png", std::string(101, 'x'));
  const RowsRead read = this->read("data", InputFormat::kImageFolder, 100);
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_TRUE(read.rows[0].starts_with("cats/a.png image='xxx"));
  EXPECT_EQ(read.rows[1], "cats/b.png rejected: image larger than --max-cell 100 B: 101 B");
  EXPECT_EQ(read_slice(*find("data", InputFormat::kImageFolder),
                       find("data", InputFormat::kImageFolder)->slices[0], 100)
                .rows,
            read.rows);
}

TEST_F(FolderSource, SlicesJoinToTheFolderWhateverTheirSize) {
  for (int i = 0; i < 23; ++i) put(concat("data/cats/", i, ".jpg"), concat(i));
  put("data2/cats/0.jpg", "of another folder");
  const RowsRead whole = read("data", InputFormat::kImageFolder);
  ASSERT_EQ(whole.rows.size(), 23U);
  for (const std::uint64_t objects : {1U, 2U, 5U, 22U, 23U, 24U}) {
    const auto input = find("data", InputFormat::kImageFolder, {.objects = objects});
    ASSERT_TRUE(input);
    EXPECT_EQ(input->slices.size(), (23 + objects - 1) / objects);
    EXPECT_EQ(input->objects, 23U);
    Lines joined;
    std::uint64_t size_bytes = 0;
    for (const Slice& slice : input->slices) {
      EXPECT_TRUE(slice.is_range_of_folder());
      const RowsRead part = read_slice(*input, slice);
      ASSERT_TRUE(part.status) << part.status.error().message;
      EXPECT_EQ(part.rows.size(), slice.objects);
      EXPECT_EQ(part.consumed_bytes, slice.size_bytes);
      size_bytes += slice.size_bytes;
      joined.insert(joined.end(), part.rows.begin(), part.rows.end());
    }
    EXPECT_EQ(joined, whole.rows) << objects;
    EXPECT_EQ(size_bytes, input->size_bytes);
  }
}

TEST_F(FolderSource, MoreObjectsThanOneListingHoldsAreReadOnce) {
  constexpr std::uint64_t kObjects = 20'000;  // two pages, and an empty third
  for (std::uint64_t i = 0; i < kObjects; ++i) put(concat("data/cats/", i, ".jpg"), "x");
  const RowsRead read = this->read("data", InputFormat::kImageFolder);
  ASSERT_TRUE(read.status) << read.status.error().message;
  EXPECT_EQ(read.rows.size(), kObjects);
}

TEST_F(FolderSource, ARangeThatChangedIsNoticedAndOthersAreNot) {
  for (int i = 0; i < 6; ++i) put(concat("data/cats/", i, ".jpg"), "x");
  const auto input = find("data", InputFormat::kImageFolder, {.objects = 3});
  ASSERT_TRUE(input);
  const auto expect_only_the_second_is_as_it_was = [&](std::string_view change) {
    const Status first = read_slice(*input, input->slices[0]).status;
    ASSERT_FALSE(first) << change;
    EXPECT_EQ(first.error().code, Code::kFailedPrecondition);
    EXPECT_NE(first.error().message.find("memory://test/data changed while it was being read"),
              std::string::npos);
    EXPECT_NE(first.error().message.find("run the command again"), std::string::npos);
    EXPECT_TRUE(read_slice(*input, input->slices[1]).status) << change;
  };
  ASSERT_TRUE(read_slice(*input, input->slices[0]).status);
  put("data/cats/1.jpg", "y");
  expect_only_the_second_is_as_it_was("another version");
  ASSERT_TRUE(remove_object(store(), "data/cats/1.jpg"));
  expect_only_the_second_is_as_it_was("removed");
}

TEST_F(FolderSource, AnObjectThatCameBetweenIsNoticed) {
  for (int i = 0; i < 3; ++i) put(concat("data/cats/", i, ".jpg"), "x");
  const auto input = find("data", InputFormat::kImageFolder);
  put("data/cats/00.jpg", "new");
  EXPECT_FALSE(read_slice(*input, input->slices[0]).status);
  EXPECT_NE(find("data", InputFormat::kImageFolder)->version, input->version);
}

TEST_F(FolderSource, WhatComesBehindTheLastIsOfAnotherTime) {
  put("data/cats/0.jpg", "x");
  const auto input = find("data", InputFormat::kImageFolder);
  put("data/cats/1.jpg", "new");
  const RowsRead read = read_slice(*input, input->slices[0]);
  EXPECT_TRUE(read.status);
  EXPECT_EQ(read.rows.size(), 1U);
}

auto* const scratch = static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));

TEST_F(FolderSource, FilesOfADiskAreReadAlike) {
  const std::string root = scratch->new_root();
  const auto folder = stores_.open(root);
  ASSERT_TRUE(folder);
  for (const char* name : {"train/cats/1.jpg", "train/a dog/2.PNG", "README.md"})
    ASSERT_TRUE(write_text(*folder->store, folder->at(name).key, name));
  const auto input = find_input(*folder, InputFormat::kImageFolder, {.objects = 2});
  ASSERT_TRUE(input) << input.error().message;
  ASSERT_EQ(input->slices.size(), 2U);
  EXPECT_EQ(
      read_slice(*input, input->slices[0]).rows,
      (Lines{
          "README.md ignored: no .jpg, .jpeg or .png file",
          "train/a dog/2.PNG image='train/a dog/2.PNG' label='a dog' split='train' id='train/a dog/2.PNG'"}));
  EXPECT_EQ(
      read_slice(*input, input->slices[1]).rows,
      (Lines{"train/cats/1.jpg image='train/cats/1.jpg' label='cats' split='train' id='train/cats/1.jpg'"}));
}

}  // namespace
}  // namespace headrace
