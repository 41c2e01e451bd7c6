#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/shared_dir.h"
#include "tokenizer/tokenizer.h"

namespace spindrift {
namespace {

std::shared_ptr<const Tokenizer> demo() {
  auto loaded = Tokenizer::load(testing::repo_dir() / "models/laguna-tiny-nvfp4");
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

TEST(LagunaTokenizer, KnowsItsSpecialTokens) {
  const auto t = demo();
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->bos_text(), "〈|EOS|〉");
  EXPECT_EQ(t->bos_id(), std::optional<TokenId>(2));
  EXPECT_EQ(t->token_id("</assistant>"), std::optional<TokenId>(24));
  EXPECT_TRUE(t->is_special(2));
  EXPECT_TRUE(t->is_added(24));
  EXPECT_FALSE(t->is_special(24));
  EXPECT_EQ(t->vocab_size(), 3072);
  EXPECT_EQ(t->special_tokens().eos, "〈|EOS|〉");
  EXPECT_EQ(t->special_tokens().pad, "〈|PAD|〉");
}

TEST(LagunaTokenizer, ANewlineRunIsCutFromTheTextBeforeIt) {
  const auto t = demo();
  ASSERT_NE(t, nullptr);
  const auto joined = t->encode(">\n");
  const auto right = t->encode("\n");
  ASSERT_TRUE(joined.ok() && right.ok());
  ASSERT_EQ(joined.value().size(), 2u);
  EXPECT_EQ(joined.value().back(), right.value().front());
}

TEST(LagunaTokenizer, EveryDigitIsItsOwnToken) {
  const auto t = demo();
  ASSERT_NE(t, nullptr);
  const auto ids = t->encode("12345");
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids.value().size(), 5u);
}

TEST(LagunaTokenizer, TextReturnsFromItsIds) {
  const auto t = demo();
  ASSERT_NE(t, nullptr);
  const std::string text =
      "def f(x):\r\n\treturn '→ 日本語 👨‍👩‍👧' # 12 \xc2\xa0\n\n";
  const auto ids = t->encode(text);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(t->decode(ids.value(), false), text);
  std::string bytes;
  for (const TokenId id : ids.value()) bytes += t->bytes(id);
  EXPECT_EQ(bytes, text);
}

TEST(LagunaTokenizer, ThreadsShareOneTokenizer) {
  const auto t = demo();
  ASSERT_NE(t, nullptr);
  std::vector<std::string> texts;
  std::vector<std::vector<TokenId>> expected;
  for (int i = 0; i < 16; ++i) {
    texts.push_back(std::string(static_cast<size_t>(i) + 1, 'x') + " <think> it's " +
                    std::to_string(i) + "\n");
    const auto ids = t->encode(texts.back());
    ASSERT_TRUE(ids.ok());
    expected.push_back(ids.value());
  }
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t worker = 0; worker < wrong.size(); ++worker) {
    threads.emplace_back([&, worker] {
      for (size_t i = 0; i < 16 * texts.size(); ++i) {
        const auto ids = t->encode(texts[i % texts.size()]);
        if (!ids.ok() || ids.value() != expected[i % texts.size()]) ++wrong[worker];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(SharedTokenizers, EveryModelFolderLoads) {
  SPINDRIFT_SHARED_OR_SKIP(models, "models");
  for (const char* name :
       {"laguna-tiny-bf16", "granite-tiny", "gptbigcode-random", "llama-biased-random"}) {
    const auto loaded = Tokenizer::load(models / name);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const auto ids = loaded.value()->encode("def f(x): return x + 12\n");
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(loaded.value()->decode(ids.value(), true), "def f(x): return x + 12\n");
  }
}

}  // namespace
}  // namespace spindrift
