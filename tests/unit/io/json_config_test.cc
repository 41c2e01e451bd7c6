#include "io/json_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace spindrift
