#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "io/mmap_file.h"
#include "support/safetensors_builder.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::safetensors_file;
using testing::SafetensorsBuilder;

// Parses from a buffer of exactly the file's size, so that a sanitizer sees any read past it.
Result<SafetensorsHeader> parse(const std::string& file) {
  const std::vector<char> exact(file.begin(), file.end());
  return parse_safetensors_header(std::as_bytes(std::span(exact)), "w.safetensors");
}

Error refusal(const std::string& file) {
  const Result<SafetensorsHeader> header = parse(file);
  if (header.ok()) return {ErrorCode::kUsage, "accepted"};
  EXPECT_EQ(header.error().message.find('\n'), std::string::npos) << header.error().message;
  EXPECT_THAT(header.error().message, ::testing::StartsWith("w.safetensors: "));
  EXPECT_LE(header.error().message.size(), 800U);
  return header.error();
}

std::string one(std::string_view fields, size_t data_bytes = 8) {
  return safetensors_file("{\"a\":{" + std::string(fields) + "}}", std::string(data_bytes, 'x'));
}

TEST(Safetensors, ReadsNamesTypesShapesAndPlaces) {
  const std::string file =
      SafetensorsBuilder().add("z", "F32", {2, 1}, "01234567").add("a", "BF16", {}, "ab").file();
  const SafetensorsHeader header = parse(file).value();
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].dtype, DType::kBf16);
  EXPECT_TRUE(header.tensors[0].shape.empty());
  EXPECT_EQ(header.tensors[1].name, "z");
  EXPECT_THAT(header.tensors[1].shape, ElementsAre(2, 1));
  EXPECT_EQ(file.substr(static_cast<size_t>(header.tensors[1].begin), 8), "01234567");
  EXPECT_EQ(header.tensors[0].begin, header.tensors[1].end);
}

TEST(Safetensors, KnowsEveryTypeOfTheFormatThatALoaderMayMeet) {
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, size_t>>{{"F64", 8},
                                                                               {"F32", 4},
                                                                               {"F16", 2},
                                                                               {"BF16", 2},
                                                                               {"F8_E4M3", 1},
                                                                               {"F8_E5M2", 1},
                                                                               {"I64", 8},
                                                                               {"I32", 4},
                                                                               {"I16", 2},
                                                                               {"I8", 1},
                                                                               {"U64", 8},
                                                                               {"U32", 4},
                                                                               {"U16", 2},
                                                                               {"U8", 1},
                                                                               {"BOOL", 1}}) {
    const SafetensorsHeader header =
        parse(SafetensorsBuilder().add("a", name, {3}, std::string(3 * bytes, 'x')).file()).value();
    EXPECT_EQ(dtype_name(header.tensors[0].dtype), name);
  }
}

TEST(Safetensors, LetsDataStartAtAnyAddress) {
  for (size_t pad = 0; pad < 8; ++pad) {
    const SafetensorsBuilder builder = SafetensorsBuilder().add("a", "F32", {1}, "0123");
    const SafetensorsHeader header =
        parse(safetensors_file(builder.json() + std::string(pad, ' '), builder.data())).value();
    EXPECT_EQ(header.tensors[0].begin, static_cast<int64_t>(8 + builder.json().size() + pad));
  }
}

TEST(Safetensors, KeepsMetadataInFileOrder) {
  const SafetensorsHeader header =
      parse(safetensors_file(R"({"__metadata__":{"format":"pt","b":"\u00e9"}})", "")).value();
  EXPECT_THAT(header.metadata, ElementsAre(Pair("format", "pt"), Pair("b", "é")));
}

TEST(Safetensors, AcceptsAFileWithoutTensorsAndTensorsWithoutElements) {
  EXPECT_TRUE(parse(safetensors_file("{}", "")).ok());
  EXPECT_TRUE(parse(SafetensorsBuilder()
                        .add("empty", "F32", {0, 7}, "")
                        .add("a", "U8", {1}, "x")
                        .add("also", "F32", {3, 0}, "")
                        .file())
                  .ok());
}

TEST(Safetensors, ReadsEscapedNames) {
  const std::string json = R"({"a\"\u0041\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  EXPECT_EQ(parse(safetensors_file(json, "x")).value().tensors[0].name, "a\"A\n");
}

TEST(Safetensors, RefusesAHeaderLengthThatDoesNotFit) {
  for (size_t size = 0; size < 8; ++size)
    EXPECT_EQ(refusal(std::string(size, '\0')).code, ErrorCode::kCorrupt);
  EXPECT_THAT(refusal(std::string(8, '\0')).message, HasSubstr("starts with `{`, found nothing"));
  EXPECT_THAT(refusal(std::string(8, '\xff') + "{}").message,
              HasSubstr("found 18446744073709551615"));
  std::string file = safetensors_file("{}", "");
  file[0] = 3;
  EXPECT_THAT(refusal(file).message,
              HasSubstr("header length: expected at most 2 (the rest of the file), found 3"));
}

TEST(Safetensors, RefusesAnOversizedHeaderBeforeReadingIt) {
  const testing::TempDir dir;
  const uint64_t length = static_cast<uint64_t>(kMaxSafetensorsHeaderBytes) + 1;
  std::string start(reinterpret_cast<const char*>(&length), 8);
  const std::filesystem::path path = dir.write("w.safetensors", start + "{");
  std::filesystem::resize_file(path, 8 + length);
  const auto file = MappedFile::open(path).value();
  EXPECT_EQ(parse_safetensors_header(file->bytes(), "w").error().code, ErrorCode::kLimit);
}

TEST(Safetensors, RefusesAHeaderThatIsNoJsonObject) {
  for (const char* json :
       {" {}", "[]", "{", "{}{}", "{} x", "{\"a\":}", "{\"a\" 1}", "{'a':1}", "{\"a\":1,}", "nul",
        "{\"\xff\":1}", "{\"a\":{\"dtype\":\"\xc3\x28\"}}", "{\"a\n\":1}"})
    EXPECT_EQ(refusal(safetensors_file(json, "")).code, ErrorCode::kInvalid) << json;
  EXPECT_THAT(refusal(safetensors_file("{\"a\":" + std::string(5000, '['), "")).message,
              HasSubstr("header: "));
}

TEST(Safetensors, RefusesTensorsWithWrongKeys) {
  const std::string d = "\"dtype\":\"F32\"", s = "\"shape\":[2]", o = "\"data_offsets\":[0,8]";
  EXPECT_EQ(refusal(one(d + "," + s + "," + o)).message, "accepted");
  EXPECT_EQ(refusal(one(o + "," + s + "," + d)).message, "accepted");
  EXPECT_THAT(
      refusal(one(s + "," + o)).message,
      HasSubstr("tensor `a`: expected an object of dtype, shape and data_offsets, found no dtype"));
  EXPECT_THAT(refusal(one(d + "," + o)).message, HasSubstr("found no shape"));
  EXPECT_THAT(refusal(one(d + "," + s)).message, HasSubstr("found no data_offsets"));
  EXPECT_THAT(refusal(one(d + "," + s + "," + o + ",\"x\":1")).message,
              HasSubstr("found the key `x`"));
  EXPECT_THAT(refusal(one(d + "," + s + "," + o + "," + s)).message,
              HasSubstr("found the key `shape` twice"));
  EXPECT_THAT(refusal(safetensors_file("{\"a\":3}", "")).message,
              HasSubstr("tensor `a`: expected an object"));
}

TEST(Safetensors, RefusesUnknownTypesByName) {
  const std::string rest = ",\"shape\":[2],\"data_offsets\":[0,8]";
  EXPECT_THAT(refusal(one("\"dtype\":\"F33\"" + rest)).message, HasSubstr("key `dtype`"));
  EXPECT_EQ(refusal(one("\"dtype\":\"f32\"" + rest)).code, ErrorCode::kInvalid);
  EXPECT_EQ(refusal(one("\"dtype\":3" + rest)).code, ErrorCode::kInvalid);
  EXPECT_EQ(refusal(one("\"dtype\":\"F4\"" + rest)).code, ErrorCode::kUnsupported);
  EXPECT_EQ(refusal(one("\"dtype\":\"F8_E8M0\"" + rest)).code, ErrorCode::kUnsupported);
}

TEST(Safetensors, RefusesShapesThatAreNotNonNegativeIntegers) {
  for (const char* shape :
       {"[-2]", "[2.0]", "[\"2\"]", "[null]", "[[2]]", "2", "{}", "[9223372036854775808]", "[true]",
        "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]"})
    EXPECT_THAT(refusal(one(std::string("\"dtype\":\"F32\",\"shape\":") + shape +
                            ",\"data_offsets\":[0,8]"))
                    .message,
                HasSubstr("tensor `a`: key `shape`: expected"))
        << shape;
}

TEST(Safetensors, RefusesShapesWhoseProductOverflows) {
  for (const char* shape :
       {"[9223372036854775807,2]", "[4294967296,4294967296,4]", "[4611686018427387904,4,0]"})
    EXPECT_EQ(refusal(one(std::string("\"dtype\":\"F32\",\"shape\":") + shape +
                          ",\"data_offsets\":[0,8]"))
                  .code,
              ErrorCode::kCorrupt)
        << shape;
}

TEST(Safetensors, RefusesOffsetsThatAreWrongByThemselves) {
  for (const char* offsets :
       {"[8,0]", "[0,9]", "[0]", "[0,8,8]", "[-1,7]", "[0.0,8]", "[\"0\",8]", "8", "[]",
        "[18446744073709551608,18446744073709551615]", "[0,9223372036854775807]"})
    EXPECT_THAT(
        refusal(one(std::string("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":") + offsets))
            .message,
        HasSubstr("tensor `a`: key `data_offsets`: expected"))
        << offsets;
}

TEST(Safetensors, RefusesALengthOtherThanShapeTimesType) {
  EXPECT_THAT(refusal(one("\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]")).message,
              HasSubstr("expected 12 bytes for F32 [3], found 8 bytes"));
  EXPECT_THAT(refusal(one("\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,8]")).message,
              HasSubstr("expected 4 bytes for BF16 [2], found 8 bytes"));
}

std::string two(std::string_view a, std::string_view b, size_t data_bytes) {
  const auto tensor = [](std::string_view offsets) {
    return "{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + std::string(offsets) + "}";
  };
  return safetensors_file("{\"a\":" + tensor(a) + ",\"b\":" + tensor(b) + "}",
                          std::string(data_bytes, 'x'));
}

TEST(Safetensors, RefusesOverlapsHolesAndLeftoverBytes) {
  EXPECT_EQ(refusal(two("[4,8]", "[0,4]", 8)).message, "accepted");
  EXPECT_THAT(refusal(two("[0,4]", "[3,7]", 7)).message,
              HasSubstr("tensor `b`: expected its data to begin at byte 4, found 3 (overlap)"));
  EXPECT_THAT(refusal(two("[0,4]", "[0,4]", 4)).message, HasSubstr("(overlap)"));
  EXPECT_THAT(refusal(two("[0,4]", "[5,9]", 9)).message, HasSubstr("(hole)"));
  EXPECT_THAT(refusal(two("[1,5]", "[5,9]", 9)).message,
              HasSubstr("tensor `a`: expected its data to begin at byte 0, found 1 (hole)"));
  EXPECT_THAT(refusal(two("[0,4]", "[4,8]", 9)).message,
              HasSubstr("expected 8 bytes of data after the header, found 9"));
  EXPECT_THAT(refusal(safetensors_file("{}", "x")).message, HasSubstr("expected 0 bytes of data"));
}

TEST(Safetensors, RefusesANameThatOccursTwice) {
  const std::string t = "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  EXPECT_THAT(refusal(safetensors_file("{\"a\":" + t + ",\"\\u0061\":" + t + "}", "")).message,
              HasSubstr("tensor `a`: expected each name once, found it twice"));
}

TEST(Safetensors, RefusesMetadataThatIsNoMapOfStrings) {
  for (const char* metadata : {"3", "[]", "{\"a\":1}", "{\"a\":{}}", "null"})
    EXPECT_THAT(
        refusal(safetensors_file("{\"__metadata__\":" + std::string(metadata) + "}", "")).message,
        HasSubstr("key `__metadata__`: expected a JSON object of strings"))
        << metadata;
  EXPECT_THAT(refusal(safetensors_file("{\"__metadata__\":{},\"__metadata__\":{}}", "")).message,
              HasSubstr("expected it once, found it twice"));
}

std::string sample() {
  return SafetensorsBuilder()
      .add("layers.0.weight", "F32", {2, 3}, std::string(24, 'w'))
      .add("layers.0.scale", "F8_E4M3", {2, 1}, "ss")
      .add("bias", "BF16", {3}, "bbbbbb")
      .file();
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string file = sample();
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse(file.substr(0, size)).ok()) << size;
}

// A flipped bit is refused, or it changed nothing but a name or a type of the same width: the
// places then still cover the data exactly.
TEST(Safetensors, SurvivesEveryFlippedBitOfTheHeader) {
  const std::string file = sample();
  const size_t header_end =
      8 + static_cast<unsigned char>(file[0]) + 256 * static_cast<unsigned char>(file[1]);
  ASSERT_EQ(file.substr(header_end - 2, 2), "}}");
  int accepted = 0;
  for (size_t bit = 0; bit < header_end * 8; ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Result<SafetensorsHeader> header = parse(flipped);
    if (!header.ok()) continue;
    ++accepted;
    EXPECT_EQ(header.value().tensors.size(), 3U);
    int64_t bytes = 0;
    for (const SafetensorsTensor& t : header.value().tensors) bytes += t.end - t.begin;
    EXPECT_EQ(bytes, 32);
    // Nothing outside the names and the type names may have changed.
    const size_t at = bit / 8;
    const size_t quote_before = file.rfind('"', at);
    ASSERT_NE(quote_before, std::string::npos);
    const std::string text = file.substr(quote_before + 1, file.find('"', at) - quote_before - 1);
    EXPECT_TRUE(text.starts_with("layers.0.") || text == "bias" || text == "F8_E4M3" ||
                text == "BF16")
        << text;
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace spindrift
