#include <gtest/gtest.h>

#include <random>
#include <string>

#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

TEST(TextSearch, AgreesWithTheLibraryOnTextsFullOfNearMatches) {
  std::mt19937 random(1);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text(400, 'a');
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = 'b';
    const size_t length = 60 + random() % 80;
    std::string wanted = text.substr(random() % (text.size() - length), length);
    if (round % 2 == 0) wanted[random() % wanted.size()] = 'b';
    const size_t from = random() % 3 == 0 ? random() % 420 : 0;
    EXPECT_EQ(find_text(text, wanted, from), text.find(wanted, from));
    EXPECT_EQ(rfind_text(text, wanted), text.rfind(wanted));
    found += find_text(text, wanted) != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(found, 1000);
  EXPECT_LT(found, 2000);
}

TEST(TextSearch, NothingLongerThanTheTextIsFound) {
  EXPECT_EQ(find_text(std::string(70, 'a'), std::string(71, 'a')), std::string::npos);
  EXPECT_EQ(rfind_text("", std::string(71, 'a')), std::string::npos);
}

}  // namespace
}  // namespace spindrift::jinja
