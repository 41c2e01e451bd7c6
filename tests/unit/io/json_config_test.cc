#include "io/json_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "io/json_tree.h"
#include "io/quote.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JsonObject parsed(std::string_view text) {
  Result<JsonObject> object = JsonObject::parse(text, "config.json");
  if (!object.ok()) ADD_FAILURE() << object.error().message;
  return std::move(object).value();
}

std::string refusal(std::string_view text) {
  const Result<JsonObject> object = JsonObject::parse(text, "config.json");
  if (object.ok()) return "accepted";
  EXPECT_EQ(object.error().message.find('\n'), std::string::npos);
  EXPECT_LE(object.error().message.size(), 700U);
  return object.error().message;
}

TEST(JsonObject, ReadsEachType) {
  const JsonObject o =
      parsed(R"({"i": -3, "n": 1.5, "b": true, "s": "x", "o": {"k": 1}, "a": [1, 2], "z": null})");
  EXPECT_EQ(o.get_int("i").value(), -3);
  EXPECT_EQ(o.get_number("n").value(), 1.5);
  EXPECT_EQ(o.get_number("i").value(), -3.0);
  EXPECT_TRUE(o.get_bool("b").value());
  EXPECT_EQ(o.get_string("s").value(), "x");
  EXPECT_EQ(o.get_object("o").value().get_int("k").value(), 1);
  EXPECT_THAT(o.get_ints("a").value(), ElementsAre(1, 2));
  EXPECT_FALSE(o.has("z"));
  EXPECT_THAT(o.keys(), ElementsAre("i", "n", "b", "s", "o", "a", "z"));
}

TEST(JsonObject, ErrorsNameFileKeyPathExpectationAndValue) {
  const JsonObject o = parsed(R"({"rope": {"layers": [{"theta": "big"}]}})");
  const JsonObject layer = o.get_object("rope").value().get_objects("layers").value()[0];
  EXPECT_EQ(layer.path(), "rope.layers[0]");
  EXPECT_EQ(
      layer.get_number("theta", 0.0, 1e9).error().message,
      "config.json: key `rope.layers[0].theta`: expected a number in [0, 1e+09], found `\"big\"`");
  EXPECT_EQ(layer.get_int("missing", 1).error().message,
            "config.json: key `rope.layers[0].missing`: expected an integer of at least 1, found "
            "nothing");
  EXPECT_EQ(layer.get_int("missing").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(layer.get_int("theta").error().code, ErrorCode::kInvalid);
}

TEST(JsonObject, TakesAnIntegerWrittenAsAFloatAndNoOther) {
  const JsonObject o =
      parsed(R"({"two": 2.0, "half": 0.5, "huge": 1e17, "t": true, "u": 18446744073709551615})");
  EXPECT_EQ(o.get_int("two").value(), 2);
  for (const char* key : {"half", "huge", "t", "u"}) EXPECT_FALSE(o.get_int(key).ok()) << key;
  EXPECT_FALSE(o.get_number("t").ok());
}

TEST(JsonObject, RefusesADuplicateKeyByItsPath) {
  EXPECT_THAT(refusal(R"({"a": {"b": [{"c": 1, "d": 2, "c": 3}]}})"),
              HasSubstr("key `a.b[0].c`: expected each key once"));
}

TEST(JsonObject, RefusesWhatIsNoJson) {
  for (const char* text :
       {"", "{", "[1]", "1", R"({"a": NaN})", R"({"a": Infinity})", R"({"a": 1e999})",
        R"({"a": 1} x)", R"({"a": 01})", R"({'a': 1})", R"({"a": 1,})", "{\"a\": \"\x01\"}",
        "{\"a\": \"\xff\"}", "{\"a\": \"\xed\xa0\x80\"}"})
    EXPECT_THAT(refusal(text), HasSubstr("config.json: expected")) << text;
}

TEST(JsonObject, AZeroByteEndsNothing) {
  using namespace std::string_literals;
  for (const std::string& text : {"{}\0"s, "{}\0x"s, "{\0}"s, "\0{}"s})
    EXPECT_FALSE(JsonObject::parse(text, "f").ok());
}

TEST(JsonObject, RefusesDeepNestingWithoutRecursion) {
  EXPECT_THAT(refusal("{\"a\":" + std::string(1'000'000, '[')), HasSubstr("levels of nesting"));
}

TEST(JsonObject, FindTellsAbsentFromWrong) {
  const JsonObject o = parsed(R"({"n": null, "s": "x"})");
  EXPECT_EQ(o.find_int("n").value(), std::nullopt);
  EXPECT_EQ(o.find_int("absent").value(), std::nullopt);
  EXPECT_FALSE(o.find_int("s").ok());
  EXPECT_EQ(o.find_string("s").value(), "x");
}

TEST(JsonTree, RefusesMoreValuesThanItsLimit) {
  EXPECT_TRUE(parse_json_tree("[0,{\"a\":0}]", "c", 4).ok());
  EXPECT_EQ(parse_json_tree("[0,{\"a\":0}]", "c", 3).error().message,
            "c: expected at most 3 values, found more");
}

TEST(JsonObject, ArraysNameTheElementThatIsWrong) {
  const JsonObject o = parsed(
      R"({"a": {"i": [1, 2, "x"], "n": [0.5, null], "s": ["x", 1], "b": [true, 0], "o": [{}, []],
                                  "r": [3, 99]}, "scalar": 1})");
  const JsonObject a = o.get_object("a").value();
  EXPECT_EQ(a.get_ints("i").error().message,
            "config.json: key `a.i[2]`: expected an integer, found `\"x\"`");
  EXPECT_THAT(a.get_numbers("n").error().message,
              HasSubstr("key `a.n[1]`: expected a number, found `null`"));
  EXPECT_THAT(a.get_strings("s").error().message,
              HasSubstr("key `a.s[1]`: expected a string, found `1`"));
  EXPECT_THAT(a.get_bools("b").error().message, HasSubstr("key `a.b[1]`"));
  EXPECT_THAT(a.get_objects("o").error().message,
              HasSubstr("key `a.o[1]`: expected an object, found `[]`"));
  EXPECT_THAT(a.get_ints("r", 0, 9).error().message,
              HasSubstr("key `a.r[1]`: expected an integer in [0, 9], found `99`"));
  EXPECT_THAT(o.get_ints("scalar").error().message,
              HasSubstr("expected an array, each element an integer, found `1`"));
  EXPECT_EQ(o.find_ints("absent").value(), std::nullopt);
}

TEST(JsonObject, RangesIncludeTheirEnds) {
  const JsonObject o = parsed(R"({"i": 4, "n": 0.25})");
  EXPECT_TRUE(o.get_int("i", 4, 4).ok());
  EXPECT_FALSE(o.get_int("i", 5).ok());
  EXPECT_FALSE(o.get_int("i", 0, 3).ok());
  EXPECT_TRUE(o.get_number("n", 0.25, 0.25).ok());
  EXPECT_FALSE(o.get_number("n", 0.3).ok());
  EXPECT_FALSE(o.get_number("n", 0.0, 0.2).ok());
}

TEST(JsonObject, TellsTypesApart) {
  const JsonObject o =
      parsed(R"({"i": 1, "n": 1.5, "b": false, "s": "", "o": {}, "a": [], "z": null})");
  const std::string keys = "inbsoaz";
  const auto those = [&](bool (JsonObject::*is)(std::string_view) const) {
    std::string out;
    for (const char key : keys)
      if ((o.*is)(std::string(1, key))) out += key;
    return out;
  };
  EXPECT_EQ(those(&JsonObject::is_number), "in");
  EXPECT_EQ(those(&JsonObject::is_bool), "b");
  EXPECT_EQ(those(&JsonObject::is_string), "s");
  EXPECT_EQ(those(&JsonObject::is_object), "o");
  EXPECT_EQ(those(&JsonObject::is_array), "a");
  EXPECT_EQ(those(&JsonObject::has), "inbsoa");
}

TEST(JsonObject, DumpsCompactlyInFileOrderWithNumbersAsSpelled) {
  const std::string text =
      R"({"z":1.0,"a":[1e-7,true,null,{"k":"\u0001\"\\é"}],"big":18446744073709551615})";
  EXPECT_EQ(parsed(text).dump(), text);
  EXPECT_EQ(parsed(text).dump("z"), "1.0");
  EXPECT_EQ(parsed(text).dump("absent"), "null");
}

TEST(JsonObject, SurvivesItsDocumentsOtherViews) {
  std::optional<JsonObject> inner;
  inner = parsed(R"({"a": {"b": {"k": "still here"}}})")
              .get_object("a")
              .value()
              .get_object("b")
              .value();
  EXPECT_EQ(inner->get_string("k").value(), "still here");
  EXPECT_EQ(inner->path(), "a.b");
}

TEST(JsonObject, MessagesStayShortAndOnOneLine) {
  const JsonObject o = parsed("{\"k\\n\": \"" + std::string(100'000, 'x') + "\\n\"}");
  const std::string message = o.get_int("k\n").error().message;
  EXPECT_LT(message.size(), 300U);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_THAT(message, HasSubstr("key `k\\x0a`"));
}

TEST(JsonObject, ReadsFilesAndNamesTheirPath) {
  const testing::TempDir dir;
  const std::filesystem::path file = dir.write("config.json", R"({"a": 1})");
  EXPECT_EQ(JsonObject::parse_file(file).value().get_int("a").value(), 1);
  EXPECT_EQ(JsonObject::parse_file(file).value().file(), file.string());
  EXPECT_EQ(JsonObject::parse_file(file, 3).error().code, ErrorCode::kLimit);
  EXPECT_EQ(JsonObject::parse_file(dir / "none.json").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(JsonObject::parse_file(dir.path()).error().code, ErrorCode::kInvalid);
}

TEST(JsonObject, SurvivesEveryFlippedBitAndTruncationOfAConfig) {
  const std::string text = R"({"a": {"b": [1, 2.5e3, -7]}, "s": "\u00e9x", "t": true, "n": null})";
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(JsonObject::parse(text.substr(0, size), "c").ok());
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto object = JsonObject::parse(flipped, "c");
    if (object.ok())
      EXPECT_EQ(object.value().keys().size(), 4U) << flipped;
    else
      EXPECT_EQ(object.error().message.find('\n'), std::string::npos);
  }
}

TEST(QuotedForMessage, EscapesWhatATerminalCouldActOn) {
  EXPECT_EQ(quoted_for_message("a\x1b[2J\n"), "`a\\x1b[2J\\x0a`");
  EXPECT_EQ(quoted_for_message("\xc2\x9b"
                               "é€😀\xff"),
            "`\\xc2\\x9bé€😀\\xff`");
  EXPECT_EQ(quoted_for_message("\xed\xa0\x80"), "`\\xed\\xa0\\x80`");
}

TEST(QuotedForMessage, CutsBetweenCodePoints) {
  EXPECT_EQ(quoted_for_message("aé€b", 2), "`aé…`");
  EXPECT_EQ(quoted_for_message("ab", 2), "`ab`");
}

}  // namespace
}  // namespace spindrift
