// What reading a PyTorch file does to the outside: which files it opens, which bytes it touches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/crc32.h"
#include "io/file.h"
#include "io/mmap_file.h"
#include "io/pickle.h"
#include "io/torch_bin.h"
#include "io/weight_store.h"
#include "support/opened_files.h"
#include "support/temp_dir.h"
#include "support/torch_vectors.h"

namespace spindrift {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::opened_files;
using testing::TempDir;
using testing::torch_bin_dir;

#define OPENED_OR_SKIP(variable, ...)              \
  const auto variable = opened_files(__VA_ARGS__); \
  if (!variable) GTEST_SKIP() << "SKIPPED: this system has no seccomp filters";

std::string content(const std::filesystem::path& path) {
  return read_file(path, 1024 * 1024).value();
}

TEST(TorchBinOpens, TheWatchSeesOtherFilesAndPrograms) {
  const TempDir dir;
  const auto other = dir.write("other", "x");
  OPENED_OR_SKIP(opened, [&] {
    std::ifstream(other).get();
    std::ofstream(dir / "new").put('x');
    if (::fork() == 0) ::_exit(0);
  });
  EXPECT_THAT(*opened, Contains(other.string()));
  EXPECT_THAT(*opened, Contains((dir / "new").string()));
  EXPECT_THAT(*opened, Contains(HasSubstr("forbidden system call")));
}

TEST(TorchBinOpens, NothingButTheFileItself) {
  for (const char* name : {"tied_scaled.bf16.bin", "tied_scaled.f32.legacy.bin"}) {
    const TempDir dir;
    dir.write("pytorch_model.bin.index.json", "not read");
    const auto file = dir.write("pytorch_model.bin", content(torch_bin_dir() / name));
    OPENED_OR_SKIP(opened, [&] {
      if (!open_weights(dir.path()).ok()) ::_exit(1);
    });
    EXPECT_THAT(*opened, ElementsAre(file.string()));
  }
}

TEST(TorchBinOpens, NothingButTheIndexAndItsShards) {
  const TempDir dir;
  const auto a = dir.write("a.bin", content(torch_bin_dir() / "variants" / "shared.bin"));
  const auto b = dir.write("b.bin", content(torch_bin_dir() / "variants" / "legacy.bin"));
  dir.write("c.bin", "not read");
  const auto index = dir.write("pytorch_model.bin.index.json",
                               R"({"weight_map": {"all": "a.bin", "row": "a.bin", )"
                               R"("same": "a.bin", "w": "b.bin"}})");
  OPENED_OR_SKIP(opened, [&] {
    if (!open_weights(dir.path()).ok()) ::_exit(1);
  });
  EXPECT_THAT(*opened, ElementsAre(index.string(), a.string(), b.string()));
}

TEST(TorchBinOpens, NothingAtAllForAnyHostileFileOnceItIsMapped) {
  OPENED_OR_SKIP(opened, [] {
    for (const auto& entry : std::filesystem::directory_iterator(torch_bin_dir() / "hostile")) {
      if (entry.path().extension() != ".bin") continue;
      const auto file = MappedFile::open(entry.path()).value();
      if (parse_torch_bin(file->bytes(), "hostile").ok()) ::_exit(1);
    }
  });
  ASSERT_GE(opened->size(), 250U);  // the folder and its files, each once
  for (const std::string& path : *opened)
    EXPECT_TRUE(path.starts_with((torch_bin_dir() / "hostile").string())) << path;
  EXPECT_EQ(std::set<std::string>(opened->begin(), opened->end()).size(), opened->size());
}

// --- a zip file whose data is a hole -----------------------------------------------------------

std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

std::string local_header(std::string_view name, uint32_t crc, uint64_t size) {
  return little(0x04034B50, 4) + std::string(10, '\0') + little(crc, 4) + little(size, 4) +
         little(size, 4) + little(name.size(), 2) + little(0, 2) + std::string(name);
}

std::string central_header(std::string_view name, uint32_t crc, uint64_t size, uint64_t place) {
  return little(0x02014B50, 4) + std::string(12, '\0') + little(crc, 4) + little(size, 4) +
         little(size, 4) + little(name.size(), 2) + std::string(12, '\0') + little(place, 4) +
         std::string(name);
}

// Writes a zip of whole entries and, behind them, one whose data is a hole and its checksum wrong.
void write_sparse(const std::filesystem::path& path,
                  const std::vector<std::pair<std::string, std::string>>& entries,
                  std::string_view hole, uint64_t hole_bytes) {
  std::string head, directory;
  for (const auto& [name, data] : entries) {
    const uint32_t crc = crc32(std::as_bytes(std::span(data)));
    directory += central_header(name, crc, data.size(), head.size());
    head += local_header(name, crc, data.size()) + data;
  }
  directory += central_header(hole, 1, hole_bytes, head.size());
  head += local_header(hole, 1, hole_bytes);
  const uint64_t count = entries.size() + 1;
  const std::string end = little(0x06054B50, 4) + little(0, 4) + little(count, 2) +
                          little(count, 2) + little(directory.size(), 4) +
                          little(head.size() + hole_bytes, 4) + little(0, 2);
  std::ofstream(path, std::ios::binary) << head;
  std::filesystem::resize_file(path, head.size() + hole_bytes);
  std::ofstream(path, std::ios::binary | std::ios::app) << directory << end;
}

// A tensor of so many halves, none of them stored on the disk.
void write_sparse_tensor(const std::filesystem::path& path, uint64_t elements) {
  const auto text = [](std::string_view t) {
    return std::string("X").append(little(t.size(), 4)).append(t);
  };
  const std::string pickle = "\x80\x02}" + text("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" +
                             text("storage") + "ctorch\nHalfStorage\n" + text("0") + text("cpu") +
                             "J" + little(elements, 4) + "tQJ" + little(0, 4) + "J" +
                             little(elements, 4) + "\x85K\x01\x85\x89" +
                             "ccollections\nOrderedDict\n)RtRs.";
  write_sparse(path, {{"m/data.pkl", pickle}, {"m/version", "3\n"}}, "m/data/0", 2 * elements);
}

TEST(TorchBinReads, TheChecksumsOfASmallFileAndNotTheDataOfALargeOne) {
  const TempDir dir;
  write_sparse_tensor(dir / "pytorch_model.bin", 1024);
  const auto small = open_weights(dir.path());
  ASSERT_FALSE(small.ok());
  EXPECT_THAT(small.error().message,
              HasSubstr("record `m/data/0`: expected bytes with the checksum"));
  write_sparse_tensor(dir / "pytorch_model.bin", 40 * 1024 * 1024);
  const auto large = open_weights(dir.path());
  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ(large.value()->total_bytes(), 80 * 1024 * 1024);
}

TEST(TorchBinReads, NoPickleBeyondTheLimit) {
  const TempDir dir;
  write_sparse(dir / "pytorch_model.bin", {{"m/version", "3\n"}}, "m/data.pkl",
               static_cast<uint64_t>(kMaxPickleBytes) + 1);
  const Error error = open_weights(dir.path()).error();
  EXPECT_EQ(error.code, ErrorCode::kLimit);
  EXPECT_THAT(error.message,
              HasSubstr("record `m/data.pkl`: expected at most 16777216 bytes, found 16777217"));
}

}  // namespace
}  // namespace spindrift
