#include "io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/npy_reader.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;

TEST(NpyHeader, IsWhatNumpyWrites) {
  // numpy 2: np.lib.format.write_array_header_1_0 for a float32 array of shape (2, 3).
  const std::string expected = std::string("\x93NUMPY\x01\0\x76\0", 10) +
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                               std::string(58, ' ') + "\n";
  EXPECT_EQ(npy_header(DType::kF32, std::array<int64_t, 2>{2, 3}), expected);
  EXPECT_THAT(npy_header(DType::kI64, std::array<int64_t, 1>{5}),
              HasSubstr("'<i8', 'fortran_order': False, 'shape': (5,), }"));
  EXPECT_THAT(npy_header(DType::kI32, {}),
              HasSubstr("'<i4', 'fortran_order': False, 'shape': (), }"));
  EXPECT_EQ(npy_header(DType::kF32, std::array<int64_t, 3>{1234567890123, 1, 1}).size() % 64, 0U);
}

TEST(NpyWriter, WritesInPiecesWhatTheReaderReads) {
  const TempDir dir;
  NpyWriter writer = NpyWriter::create(dir / "a.npy", DType::kF32, {3, 2}).value();
  ASSERT_TRUE(writer.write(std::array<float, 4>{1, 2, 3, 4}).ok());
  ASSERT_TRUE(writer.write(std::array<float, 2>{5, -0.5F}).ok());
  ASSERT_TRUE(writer.finish().ok());
  const testing::NpyArray array = testing::read_npy(dir / "a.npy").value();
  EXPECT_THAT(array.shape, ElementsAre(3, 2));
  EXPECT_THAT(array.values, ElementsAre(1, 2, 3, 4, 5, -0.5F));
}

TEST(NpyWriter, WritesIntegersAndEmptyArrays) {
  const TempDir dir;
  NpyWriter ids = NpyWriter::create(dir / "i.npy", DType::kI32, {2}).value();
  ASSERT_TRUE(ids.write(std::array<int32_t, 2>{7, -9}).ok());
  ASSERT_TRUE(ids.finish().ok());
  EXPECT_THAT(testing::read_npy(dir / "i.npy").value().values, ElementsAre(7, -9));
  NpyWriter none = NpyWriter::create(dir / "n.npy", DType::kF32, {0, 5}).value();
  ASSERT_TRUE(none.finish().ok());
  EXPECT_THAT(testing::read_npy(dir / "n.npy").value().shape, ElementsAre(0, 5));
}

TEST(NpyWriter, SaysWhereItCannotWrite) {
  const TempDir dir;
  const auto writer = NpyWriter::create(dir / "no/such.npy", DType::kF32, {1});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, ErrorCode::kIo);
  EXPECT_THAT(writer.error().message, HasSubstr("no/such.npy: cannot be written"));
}

TEST(NpyWriter, ReportsAFullDisk) {
  NpyWriter writer = NpyWriter::create("/dev/full", DType::kF32, {4}).value();
  const Status written = writer.write(std::array<float, 4>{1, 2, 3, 4});
  EXPECT_TRUE(!written.ok() || !writer.finish().ok());
}

TEST(NpyReader, ReadsTheDemoReference) {
  const testing::NpyArray logits =
      testing::read_npy(testing::repo_dir() / "models/laguna-tiny-nvfp4/golden/logits.npy").value();
  EXPECT_EQ(logits.shape.size(), 2U);
  EXPECT_EQ(logits.cols(), 3072);
}

}  // namespace
}  // namespace spindrift
