#include "io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "io/mmap_file.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;

TEST(ReadFile, ReturnsTheWholeContent) {
  const TempDir dir;
  const std::string content("a\0b\n", 4);
  EXPECT_EQ(read_file(dir.write("f", content), 4).value(), content);
  EXPECT_EQ(read_file(dir.write("empty", ""), 0).value(), "");
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(read_file(dir.write("large", large), 1'000'000).value(), large);
}

TEST(ReadFile, ReadsFilesThatSayTheyAreEmpty) {
  EXPECT_FALSE(read_file("/proc/self/status", 1'000'000).value().empty());
  EXPECT_EQ(read_file("/proc/self/status", 10).error().code, ErrorCode::kLimit);
}

TEST(ReadFile, RefusesMoreThanTheLimit) {
  const TempDir dir;
  const Error error = read_file(dir.write("f", "12345"), 4).error();
  EXPECT_EQ(error.code, ErrorCode::kLimit);
  EXPECT_THAT(error.message, HasSubstr("expected at most 4 bytes, found 5"));
}

TEST(OpenRegularFile, RefusesEverythingElseWithoutWaiting) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("fifo", dir / "link");
  std::filesystem::create_symlink("loop", dir / "loop");
  EXPECT_THAT(open_regular_file(dir / "fifo").error().message,
              HasSubstr("expected a regular file, found a FIFO"));
  EXPECT_THAT(open_regular_file(dir / "link").error().message, HasSubstr("found a FIFO"));
  EXPECT_THAT(open_regular_file(dir.path()).error().message, HasSubstr("found a folder"));
  EXPECT_THAT(open_regular_file("/dev/zero").error().message, HasSubstr("found a device"));
  EXPECT_EQ(open_regular_file(dir / "loop").error().code, ErrorCode::kIo);
  EXPECT_EQ(open_regular_file(dir / "none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::open(dir / "fifo").error().code, ErrorCode::kInvalid);
}

TEST(MappedFile, ShowsTheFilesBytes) {
  const TempDir dir;
  const std::string content(10'000, 'q');
  const auto file = MappedFile::open(dir.write("f", content)).value();
  ASSERT_EQ(file->bytes().size(), content.size());
  EXPECT_EQ(std::memcmp(file->bytes().data(), content.data(), content.size()), 0);
}

TEST(MappedFile, ACopyInLargePagesHasTheSameBytesAtTheSameAddresses) {
  const TempDir dir;
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{5'000'001}, size_t{70} << 20}) {
    std::string content(size, 'q');
    for (size_t i = 0; i < size; i += 997) content[i] = static_cast<char>(i);
    const std::filesystem::path path = dir.write("f", content);
    const auto file = MappedFile::open(path).value();
    const std::byte* const before = file->bytes().data();
    ASSERT_TRUE(file->copy_to_large_pages().ok());
    EXPECT_EQ(file->bytes().data(), before);
    // A file that is cut short no longer matters: nothing is read from it.
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(std::memcmp(file->bytes().data(), content.data(), size), 0) << size;
  }
}

TEST(MappedFile, MapsAnEmptyFile) {
  const TempDir dir;
  const auto file = MappedFile::open(dir.write("f", "")).value();
  EXPECT_TRUE(file->bytes().empty());
  EXPECT_TRUE(file->copy_to_large_pages().ok());
  EXPECT_TRUE(file->lock().ok());
}

}  // namespace
}  // namespace spindrift
