#include "chat/reasoning_split.h"

#include <gtest/gtest.h>

#include <vector>

namespace spindrift {
namespace {

using Piece = ReasoningSplit::Piece;

void add(Piece* all, const Piece& more) {
  all->reasoning += more.reasoning;
  all->content += more.content;
}

Piece whole(ReasoningState state, std::string_view text) {
  ReasoningSplit split(state);
  Piece all = split.push(text);
  add(&all, split.finish());
  return all;
}

TEST(ReasoningSplit, AfterAnOpenPromptEverythingUpToTheCloseIsReasoning) {
  const Piece p = whole(ReasoningState::kOpen, "why\nnot</think>because");
  EXPECT_EQ(p.reasoning, "why\nnot");
  EXPECT_EQ(p.content, "because");
}

TEST(ReasoningSplit, AnOpenThoughtThatNeverClosesIsAllReasoning) {
  EXPECT_EQ(whole(ReasoningState::kOpen, "so </thin").reasoning, "so </thin");
}

TEST(ReasoningSplit, AToolCallEndsReasoningAndStays) {
  const Piece p = whole(ReasoningState::kOpen, "hm<tool_call>f</tool_call>");
  EXPECT_EQ(p.reasoning, "hm");
  EXPECT_EQ(p.content, "<tool_call>f</tool_call>");
}

TEST(ReasoningSplit, AfterAClosedPromptAllIsContentWithoutTheModelsOwnTags) {
  EXPECT_EQ(whole(ReasoningState::kClosed, "just text").content, "just text");
  const Piece p = whole(ReasoningState::kClosed, "<think>a</think>b</think>c");
  EXPECT_EQ(p.reasoning, "");
  EXPECT_EQ(p.content, "ab</think>c");
}

TEST(ReasoningSplit, AnUndecidedPromptLetsTheTextDecide) {
  const Piece p = whole(ReasoningState::kUndecided, "\n<think>a</think>b");
  EXPECT_EQ(p.reasoning, "a");
  EXPECT_EQ(p.content, "b");
  EXPECT_EQ(whole(ReasoningState::kUndecided, "no <think> here").content, "no <think> here");
}

TEST(ReasoningSplit, EveryDivisionOfTheTextGivesTheSame) {
  for (const ReasoningState state :
       {ReasoningState::kOpen, ReasoningState::kClosed, ReasoningState::kUndecided})
    for (const std::string_view text :
         {"<think>a</think>b", "a</think><tool_call>b", " \n<think> x </thin</think>é</think>",
          "<thin", "</think>", "", "  ", "<tool_call>x</think>",
          "<think><think>a</think></think>"}) {
      const Piece expected = whole(state, text);
      for (size_t i = 0; i <= text.size(); ++i)
        for (size_t j = i; j <= text.size(); ++j) {
          ReasoningSplit split(state);
          Piece all = split.push(text.substr(0, i));
          add(&all, split.push(text.substr(i, j - i)));
          add(&all, split.push(text.substr(j)));
          add(&all, split.finish());
          EXPECT_EQ(all.reasoning, expected.reasoning) << text << " at " << i << ", " << j;
          EXPECT_EQ(all.content, expected.content) << text << " at " << i << ", " << j;
        }
    }
}

TEST(ReasoningSplit, TextIsShownAsSoonAsItCannotBeATag) {
  ReasoningSplit split(ReasoningState::kOpen);
  EXPECT_EQ(split.push("one <").reasoning, "one ");
  EXPECT_EQ(split.push("/th").reasoning, "");
  EXPECT_EQ(split.push("is").reasoning, "</this");
  EXPECT_TRUE(split.in_reasoning());
}

TEST(ReasoningState, IsReadBackwardFromThePromptsEnd) {
  const auto state = [](std::vector<TokenId> ids) {
    return reasoning_state(std::span<const TokenId>(ids));
  };
  EXPECT_EQ(state({2, 21, 40, 23, 18}), ReasoningState::kOpen);
  EXPECT_EQ(state({2, 18, 40, 19, 23, 19}), ReasoningState::kClosed);
  EXPECT_EQ(state({2, 18, 40, 23}), ReasoningState::kUndecided);
  EXPECT_EQ(state({}), ReasoningState::kUndecided);
}

TEST(ReasoningState, IsReadFromThePromptsTextToo) {
  EXPECT_EQ(reasoning_state("<user>x</user>\n<assistant><think>"), ReasoningState::kOpen);
  EXPECT_EQ(reasoning_state("<assistant><think>\n\n</think>\n\n"), ReasoningState::kClosed);
  EXPECT_EQ(reasoning_state("<think>a</think>b</assistant>\n<user>x</user>\n<assistant>"),
            ReasoningState::kUndecided);
  EXPECT_EQ(reasoning_state(""), ReasoningState::kUndecided);
}

}  // namespace
}  // namespace spindrift
