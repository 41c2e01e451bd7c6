#include "io/torch_bin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "io/crc32.h"
#include "io/file.h"
#include "io/mmap_file.h"
#include "io/weight_store.h"
#include "support/safetensors_builder.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"
#include "support/torch_vectors.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TempDir;
using testing::torch_bin_dir;
using testing::TorchVector;
using testing::TorchVectorFile;

std::string content(const std::filesystem::path& path) {
  return read_file(path, 100 * 1024 * 1024).value();
}

// Parses from a buffer of exactly the file's size, so that a sanitizer sees any read past it.
Result<std::vector<TorchTensor>> parse(std::string_view file,
                                       std::string_view name = "pytorch_model.bin") {
  const std::vector<char> exact(file.begin(), file.end());
  return parse_torch_bin(std::as_bytes(std::span(exact)), name);
}

std::string_view bytes_of(const TorchTensor& tensor, std::string_view file) {
  return file.substr(static_cast<size_t>(tensor.begin),
                     static_cast<size_t>(tensor.end - tensor.begin));
}

void expect_tensors(const TorchVectorFile& expected, const std::string& file) {
  const auto found = parse(file);
  ASSERT_TRUE(found.ok()) << expected.file << ": " << found.error().message;
  ASSERT_EQ(found.value().size(), expected.tensors.size()) << expected.file;
  for (size_t i = 0; i < found.value().size(); ++i) {
    const TorchTensor& tensor = found.value()[i];
    const TorchVector& vector = expected.tensors[i];
    SCOPED_TRACE(expected.file + ", " + vector.name);
    EXPECT_EQ(tensor.name, vector.name);
    EXPECT_EQ(dtype_name(tensor.dtype), vector.dtype);
    EXPECT_EQ(tensor.shape, vector.shape);
    const std::string_view bytes = bytes_of(tensor, file);
    EXPECT_EQ(crc32(std::as_bytes(std::span(bytes))), vector.crc32);
    EXPECT_TRUE(bytes.starts_with(vector.first));
    EXPECT_TRUE(bytes.ends_with(vector.last));
  }
}

TEST(TorchBin, HoldsTheNumbersThatPyTorchWroteIntoTheSmallHeads) {
  int files = 0;
  for (const TorchVectorFile& expected : testing::torch_vectors(torch_bin_dir())) {
    if (expected.file.starts_with("models/")) continue;
    expect_tensors(expected, content(torch_bin_dir() / expected.file));
    ++files;
  }
  EXPECT_EQ(files, 11);
}

TEST(TorchBin, HoldsTheNumbersOfTheSharedHeads) {
  SPINDRIFT_SHARED_OR_SKIP(shared, "");
  int files = 0;
  for (const TorchVectorFile& expected : testing::torch_vectors(torch_bin_dir())) {
    if (!expected.file.starts_with("models/")) continue;
    if (!std::filesystem::exists(shared / expected.file))
      GTEST_SKIP() << "SKIPPED FOR LACK OF DATA: " << (shared / expected.file);
    expect_tensors(expected, content(shared / expected.file));
    ++files;
  }
  EXPECT_EQ(files, 2);
}

TEST(TorchBin, ReadsEveryUnusualFormThatIsAllowed) {
  const std::filesystem::path folder = torch_bin_dir() / "variants";
  int files = 0;
  for (const TorchVectorFile& expected : testing::torch_vectors(folder)) {
    expect_tensors(expected, content(folder / expected.file));
    ++files;
  }
  EXPECT_GE(files, 30);
}

TEST(TorchBin, GivesTiedNamesTheSameBytes) {
  const std::string file = content(torch_bin_dir() / "tied_scaled.bf16.bin");
  const auto tensors = parse(file).value();
  std::set<int64_t> places;
  for (const TorchTensor& tensor : tensors) places.insert(tensor.begin);
  EXPECT_EQ(tensors.size(), 20U);
  EXPECT_EQ(places.size(), 6U);  // emb, head, ln.weight, ln.bias, proj.0, proj.1
  const auto stored = parse(content(torch_bin_dir() / "tied_scaled.bf16.every_stage_stored.bin"));
  places.clear();
  for (const TorchTensor& tensor : stored.value()) places.insert(tensor.begin);
  EXPECT_EQ(places.size(), 20U);
}

const std::map<std::string, ErrorCode> kCodes = {{"invalid", ErrorCode::kInvalid},
                                                 {"unsupported", ErrorCode::kUnsupported},
                                                 {"corrupt", ErrorCode::kCorrupt},
                                                 {"limit", ErrorCode::kLimit}};

TEST(TorchBin, RefusesEveryHostileFileForTheReasonItWasMadeFor) {
  const std::filesystem::path folder = torch_bin_dir() / "hostile";
  std::ifstream list(folder / "expected.txt");
  int files = 0;
  for (std::string line; std::getline(list, line); ++files) {
    std::istringstream words(line);
    std::string name, code, message;
    words >> name >> code;
    std::getline(words >> std::ws, message);
    SCOPED_TRACE(name);
    const std::string where = "some/" + name;
    const auto tensors = parse(content(folder / name), where);
    ASSERT_FALSE(tensors.ok()) << "accepted";
    EXPECT_EQ(tensors.error().code, kCodes.at(code)) << tensors.error().message;
    EXPECT_THAT(tensors.error().message, StartsWith(where + ": "));
    EXPECT_THAT(tensors.error().message, HasSubstr(message));
    EXPECT_THAT(tensors.error().message, HasSubstr("expected "));
    EXPECT_LE(tensors.error().message.size(), 1200U);
    for (const char c : tensors.error().message)
      EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7F) << tensors.error().message;
  }
  EXPECT_GE(files, 250);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), files + 1);
}

// One small file of each form.
std::vector<std::string> small_files() {
  return {content(torch_bin_dir() / "variants" / "metadata.bin"),
          content(torch_bin_dir() / "variants" / "zip64_local_sizes.bin"),
          content(torch_bin_dir() / "variants" / "legacy_view.bin")};
}

TEST(TorchBin, RefusesEveryTruncation) {
  for (const std::string& file : small_files())
    for (size_t size = 0; size < file.size(); ++size)
      ASSERT_FALSE(parse(std::string_view(file).substr(0, size)).ok()) << size;
}

TEST(TorchBin, AFlippedBitOfAZipIsRefusedOrChangesNothing) {
  for (std::string file : small_files()) {
    if (!file.starts_with("PK")) continue;
    const auto before = parse(file).value();
    const std::string original = file;
    int accepted = 0;
    for (size_t at = 0; at < file.size(); ++at)
      for (int bit = 0; bit < 8; ++bit) {
        file[at] = static_cast<char>(original[at] ^ (1 << bit));
        if (const auto after = parse(file); after.ok()) {
          ++accepted;
          ASSERT_EQ(after.value().size(), before.size()) << at;
          for (size_t i = 0; i < before.size(); ++i) {
            ASSERT_EQ(after.value()[i].name, before[i].name) << at;
            ASSERT_EQ(after.value()[i].dtype, before[i].dtype) << at;
            ASSERT_EQ(after.value()[i].shape, before[i].shape) << at;
            ASSERT_EQ(bytes_of(after.value()[i], file), bytes_of(before[i], original)) << at;
          }
        }
        file[at] = original[at];
      }
    EXPECT_GT(accepted, 0);  // times, versions, attributes and padding carry nothing
  }
}

TEST(TorchBin, AFlippedBitOfALegacyFileNeverLeadsOutsideTheFile) {
  std::string file = small_files().back();
  for (size_t at = 0; at < file.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      file[at] = static_cast<char>(file[at] ^ (1 << bit));
      if (const auto tensors = parse(file); tensors.ok())
        for (const TorchTensor& tensor : tensors.value()) {
          ASSERT_GE(tensor.begin, 0);
          ASSERT_LE(tensor.begin, tensor.end);
          ASSERT_LE(tensor.end, static_cast<int64_t>(file.size()));
        }
      file[at] = static_cast<char>(file[at] ^ (1 << bit));
    }
}

class TorchBinFolder : public ::testing::Test {
 protected:
  static std::string head(const char* name) { return content(torch_bin_dir() / name); }
  TempDir dir_;
};

TEST_F(TorchBinFolder, IsAWeightStoreLikeAnyOther) {
  dir_.write("pytorch_model.bin", head("tied_scaled.f32.bin"));
  const auto store = open_weights(dir_.path()).value();
  EXPECT_EQ(store->size(), 20U);
  const auto weight = store->get("speculator.emb.0.weight", DType::kF32, {23, 8}).value();
  const auto tied = store->get("speculator.emb.3.weight", DType::kF32, {23, 8}).value();
  EXPECT_EQ(weight.bytes.data(), tied.bytes.data());
  const std::span<const std::byte> file = store->files().front()->bytes();
  EXPECT_TRUE(weight.bytes.data() >= file.data() &&
              weight.bytes.data() < file.data() + file.size());
  float first = 0;
  std::memcpy(&first, weight.bytes.data(), sizeof first);
  EXPECT_EQ(first, 1.3359375F);
  EXPECT_EQ(store->unread().size(), 18U);
}

TEST_F(TorchBinFolder, ReadsTheShardsOfAnIndex) {
  dir_.write("pytorch_model-1.bin", content(torch_bin_dir() / "variants" / "shared.bin"));
  dir_.write("pytorch_model-2.bin", content(torch_bin_dir() / "variants" / "legacy.bin"));
  const std::string map =
      R"({"metadata": {"total_size": 1}, "weight_map": {"all": "pytorch_model-1.bin", )"
      R"("row": "pytorch_model-1.bin", "same": "pytorch_model-1.bin", "w": "pytorch_model-2.bin")";
  dir_.write("pytorch_model.bin.index.json", map + "}}");
  const auto store = open_weights(dir_.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_THAT(store.value()->names(), ElementsAre("all", "row", "same", "w"));
  EXPECT_EQ(store.value()->find("w")->file, (dir_ / "pytorch_model-2.bin").string());

  dir_.write("pytorch_model.bin.index.json", map + R"(, "x": "pytorch_model-2.bin"}})");
  EXPECT_THAT(open_weights(dir_.path()).error().message,
              HasSubstr("tensor `x`: expected it in pytorch_model-2.bin, found it in no shard"));
  dir_.write("pytorch_model.bin.index.json", map + R"(, "x": "../pytorch_model-2.bin"}})");
  EXPECT_THAT(open_weights(dir_.path()).error().message,
              HasSubstr("expected a file of this folder that ends in .bin"));
}

TEST_F(TorchBinFolder, ComesAfterSafetensorsAndBeforeItsIndex) {
  dir_.write("pytorch_model.bin.index.json", "broken");
  dir_.write("pytorch_model.bin", content(torch_bin_dir() / "variants" / "plain.bin"));
  EXPECT_THAT(open_weights(dir_.path()).value()->names(), ElementsAre("w"));
  dir_.write("model.safetensors", testing::SafetensorsBuilder().add("s", "U8", {1}, "x").file());
  EXPECT_THAT(open_weights(dir_.path()).value()->names(), ElementsAre("s"));
}

TEST_F(TorchBinFolder, NamesTheFileThatIsRefused) {
  const auto path = dir_.write("pytorch_model.bin", "not a model");
  const auto store = open_weights(dir_.path());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(
      store.error().message,
      path.string() +
          ": expected a file of torch.save (zip, or its legacy form), found bytes `not a mo`");
}

}  // namespace
}  // namespace spindrift
