#include "io/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/crc32.h"

namespace spindrift {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = PickleValue::Kind;

std::string operator""_b(const char* text, size_t size) { return {text, size}; }

struct Read {
  std::vector<char> bytes;  // outlives the views of `pickle`
  Result<Pickle> pickle;
};

Read read(const std::string& text, const PickleRules& rules = {.tensors = true}) {
  std::vector<char> exact(text.begin(), text.end());
  const auto bytes = std::as_bytes(std::span(exact));
  Result<Pickle> pickle = read_pickle(bytes, rules, "f: record `p`");
  return {std::move(exact), std::move(pickle)};
}

PickleValue root(const std::string& code, const PickleRules& rules = {.tensors = true}) {
  const Read done = read("\x80\x02"_b + code + ".", rules);
  EXPECT_TRUE(done.pickle.ok()) << done.pickle.error().message;
  return done.pickle.ok() ? done.pickle.value().root : PickleValue{};
}

TEST(Pickle, ReadsNumbersOfEveryWidth) {
  EXPECT_EQ(root("K\xff"_b).number, 255);
  EXPECT_EQ(root("M\x01\x80"_b).number, 0x8001);
  EXPECT_EQ(root("J\xff\xff\xff\xff"_b).number, -1);
  EXPECT_EQ(root("J\x00\x00\x00\x7f"_b).number, 0x7F000000);
  EXPECT_EQ(root("\x8a\x00"_b).number, 0);
  EXPECT_EQ(root("\x8a\x01\x7f"_b).number, 127);
  EXPECT_EQ(root("\x8a\x05\x00\x00\x00\x00\x01"_b).number, 0x100000000);
  EXPECT_EQ(root("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"_b).number, INT64_MAX);
}

TEST(Pickle, ReadsTextsTuplesAndDictionaries) {
  const Read done = read("\x80\x02}(X\x01\0\0\0aK\x01X\x02\0\0\0\xc3\xa9(N\x88\x89tu."_b);
  ASSERT_TRUE(done.pickle.ok()) << done.pickle.error().message;
  const Pickle& pickle = done.pickle.value();
  EXPECT_EQ(pickle.root.kind, Kind::kDict);
  EXPECT_EQ(pickle.root.number, 0);
  ASSERT_EQ(pickle.entries.size(), 2U);
  EXPECT_EQ(pickle.text(pickle.entries[0].key), "a");
  EXPECT_EQ(pickle.entries[0].value.number, 1);
  EXPECT_EQ(pickle.text(pickle.entries[1].key), "é");
  const auto tuple = pickle.elements_of(pickle.entries[1].value);
  ASSERT_EQ(tuple.size(), 3U);
  EXPECT_EQ(tuple[0].kind, Kind::kNone);
  EXPECT_EQ(tuple[1].number, 1);
  EXPECT_EQ(tuple[2].number, 0);
}

TEST(Pickle, SaysWhereItStopped) {
  EXPECT_EQ(read("\x80\x02K\x01.more"_b).pickle.value().bytes, 5U);
}

TEST(Pickle, RecallsWhatWasPut) {
  EXPECT_EQ(root("K\x07q\x00h\x00\x86"_b.substr(0, 4) + "h\x00\x86"_b).kind, Kind::kTuple);
  EXPECT_EQ(root("K\x07r\x00\x00\x00\x00j\x00\x00\x00\x00\x86"_b).number, 2);
}

TEST(Pickle, KeepsOneStorageForOneKey) {
  const std::string id =
      "(X\x07\0\0\0storagectorch\nHalfStorage\nX\x01\0\0\0"_b + "5X\x03\0\0\0cpuK\x04tQ"_b;
  const Read done = read("\x80\x02"_b + id + id + "\x86.");
  ASSERT_TRUE(done.pickle.ok()) << done.pickle.error().message;
  ASSERT_EQ(done.pickle.value().storages.size(), 1U);
  EXPECT_EQ(done.pickle.value().storages[0].key, "5");
  EXPECT_EQ(done.pickle.value().storages[0].dtype, DType::kF16);
  EXPECT_EQ(done.pickle.value().storages[0].elements, 4);
  EXPECT_EQ(done.pickle.value().slices.size(), 2U);
}

TEST(Pickle, NamesFileRecordPlaceAndOpcodeOfARefusal) {
  const Read done = read("\x80\x02NX\x02\0\0\0osX\x06\0\0\0system\x93."_b);
  ASSERT_FALSE(done.pickle.ok());
  EXPECT_EQ(done.pickle.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(done.pickle.error().message,
            "f: record `p`: byte 21, opcode STACK_GLOBAL (0x93): expected an opcode of a PyTorch "
            "dictionary of tensors, found this one");
}

TEST(Pickle, AllowsOnlyWhatTheRulesName) {
  for (const std::string& code : {"ccollections\nOrderedDict\n"_b, "NQ"_b, "N)R"_b, "}}b"_b})
    EXPECT_EQ(read("\x80\x02"_b + code + ".", {.lists = true}).pickle.error().code,
              ErrorCode::kUnsupported);
  for (const std::string& code : {"]"_b, "]Na"_b, "](Ne"_b}) {
    EXPECT_EQ(root(code, {.lists = true}).kind, Kind::kList);
    EXPECT_EQ(read("\x80\x02"_b + code + ".").pickle.error().code, ErrorCode::kUnsupported);
  }
}

TEST(Pickle, RefusesOneThatIsLongerThanTheLimit) {
  // A mebibyte of text under a short key, again and again.
  const std::string item =
      "X\x00\x00\x00\x00X\x00\x00\x10\x00"_b + std::string(1U << 20, 'a') + "s";
  std::string text = "\x80\x02}"_b;
  while (text.size() <= static_cast<size_t>(kMaxPickleBytes)) text += item;
  const Read done = read(text + ".");
  ASSERT_FALSE(done.pickle.ok());
  EXPECT_EQ(done.pickle.error().code, ErrorCode::kLimit);
  EXPECT_THAT(done.pickle.error().message,
              HasSubstr("expected a pickle of at most 16777216 bytes"));
}

TEST(Pickle, RefusesEveryByteThatIsNoOpcodeOfIt) {
  const std::string known = "(.JKMNQRX]abcehjqrst)u}\x80\x85\x86\x87\x88\x89\x8a"_b;
  for (int byte = 0; byte < 256; ++byte) {
    if (known.find(static_cast<char>(byte)) != std::string::npos) continue;
    const Read done = read("\x80\x02"_b + static_cast<char>(byte) + std::string(32, '\n') + ".");
    ASSERT_FALSE(done.pickle.ok()) << byte;
    EXPECT_EQ(done.pickle.error().code, ErrorCode::kUnsupported) << byte;
    EXPECT_THAT(done.pickle.error().message, StartsWith("f: record `p`: byte 2, opcode ")) << byte;
  }
}

TEST(Crc32, AgreesWithThePublishedCheckValue) {
  const auto of = [](std::string_view text) { return crc32(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(""), 0U);
  EXPECT_EQ(of("123456789"), 0xCBF43926U);
  EXPECT_EQ(of("The quick brown fox jumps over the lazy dog"), 0x414FA339U);
}

}  // namespace
}  // namespace spindrift
