#include "cli/turn.h"

#include <fmt/format.h>

#include <utility>

#include "app/answer.h"
#include "cli/interrupt.h"
#include "core/plural.h"
#include "engine/ledger.h"

namespace spindrift::cli {
namespace {

class Streamer final : public RequestListener {
 public:
  Streamer(const TurnOptions& options, AnswerStream& answer) : options_(options), answer_(answer) {}

  void on_prefill(int64_t done, int64_t total) override {
    if (options_.progress != nullptr)
      options_.progress->show(
          fmt::format("reading the prompt: {} of {}", done, counted(total, "token")));
  }
  void on_token(const TokenEvent& token) override {
    if (options_.progress != nullptr) options_.progress->clear();
    if (options_.ledger != nullptr)
      std::fputs(ledger_line(token.index, token.id, token.logits_hash).c_str(), options_.ledger);
  }
  void on_text(std::string_view piece, bool drafted) override {
    show(answer_.push(piece), drafted);
  }
  void on_round(const RoundRecord& round) override {
    if (options_.trace != nullptr) std::fprintf(options_.trace, "%s\n", to_json(round).c_str());
  }

  void show(const std::vector<AnswerPiece>& pieces, bool drafted) {
    if (options_.terminal == nullptr) return;
    for (const AnswerPiece& piece : pieces) {
      const bool reasoning = piece.kind == AnswerPiece::Kind::kReasoning;
      if (reasoning ? !options_.show_reasoning : piece.kind != AnswerPiece::Kind::kContent)
        continue;
      if (!reasoning && in_reasoning_) options_.terminal->end_line();
      in_reasoning_ = reasoning;
      options_.terminal->write(piece.text, reasoning ? Shade::kDim
                                           : drafted ? Shade::kDrafted
                                                     : Shade::kPlain);
    }
    if (!options_.terminal->ok()) request_stop();
  }

 private:
  const TurnOptions& options_;
  AnswerStream& answer_;
  bool in_reasoning_ = false;
};

}  // namespace

Result<Turn> run_turn(const Assembly& assembly, Engine& engine, Request request,
                      const Prompt& prompt, const TurnOptions& options) {
  AnswerStream answer(assembly,
                      {.prompt = prompt.text, .tools = options.tools_json, .split = options.split});
  Streamer streamer(options, answer);
  request.prompt = prompt.ids;
  request.text = answer_decoder(assembly, options.split);
  request.listener = &streamer;
  streamer.on_prefill(0, std::ssize(prompt.ids));
  Result<Outcome> run = engine.run(std::move(request));
  if (options.progress != nullptr) options.progress->clear();
  SPINDRIFT_TRY(Outcome outcome, std::move(run));
  streamer.show(answer.finish(), false);
  Turn turn{.outcome = std::move(outcome),
            .answer = {.text = answer.content(),
                       .reasoning = answer.reasoning(),
                       .tool_calls_json = answer.tool_calls_json()}};
  return turn;
}

}  // namespace spindrift::cli
