#pragma once

#include <memory>
#include <optional>
#include <string>

namespace spindrift::cli {

// Lines from standard input: with editing and history on a terminal (kept in
// $XDG_STATE_HOME/spindrift/chat_history, default ~/.local/state), plain otherwise.
class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its newline; nullopt at the end of input. Ctrl-C at the prompt gives an
  // empty line.
  std::optional<std::string> next(const char* prompt);
  // Whether lines are typed at a terminal.
  bool interactive() const;

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;  // null when standard input is no terminal
};

}  // namespace spindrift::cli
