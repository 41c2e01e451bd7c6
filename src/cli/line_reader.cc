#include "cli/line_reader.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <iostream>

#include "cli/interrupt.h"

namespace spindrift::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kHistoryLines = 1000;

// Empty when there is no home folder or it cannot be written to.
std::string history_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (state != nullptr && *state != '\0')
    folder = state;
  else if (home != nullptr && *home != '\0')
    folder = fs::path(home) / ".local" / "state";
  else
    return {};
  folder /= "spindrift";
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? std::string() : (folder / "chat_history").string();
}

// One character of standard input for libedit: 1, 0 at the end, -1 with errno EINTR on Ctrl-C.
int read_character(EditLine*, wchar_t* out) {
  std::mbstate_t state = {};
  while (true) {
    pollfd wanted[2] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_event(), POLLIN, 0}};
    if (poll(wanted, 2, -1) < 0 && errno != EINTR) return -1;
    if (interrupted()) {
      errno = EINTR;
      return -1;
    }
    if (wanted[0].revents == 0) continue;
    char byte = 0;
    const ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return static_cast<int>(count);
    const size_t used = std::mbrtowc(out, &byte, 1, &state);
    if (used == static_cast<size_t>(-1))
      state = {};  // not UTF-8: the byte is dropped
    else if (used != static_cast<size_t>(-2))
      return 1;
  }
}

}  // namespace

struct LineReader::Terminal {
  EditLine* line = nullptr;
  History* history = nullptr;
  std::string file = history_file();
  const char* prompt = "";

  Terminal() {
    // Lines are UTF-8 whatever the user's locale is, as prompts are everywhere in the program.
    std::setlocale(LC_CTYPE, "C.UTF-8");
    line = el_init("spindrift", stdin, stderr, stderr);
    history = history_init();
    HistEvent event;
    ::history(history, &event, H_SETSIZE, kHistoryLines);
    ::history(history, &event, H_SETUNIQUE, 1);
    if (!file.empty()) ::history(history, &event, H_LOAD, file.c_str());
    el_set(line, EL_CLIENTDATA, this);
    el_set(
        line, EL_PROMPT, +[](EditLine* el) {
          void* self = nullptr;
          el_get(el, EL_CLIENTDATA, &self);
          return const_cast<char*>(static_cast<Terminal*>(self)->prompt);
        });
    el_set(line, EL_EDITOR, "emacs");
    el_set(line, EL_HIST, ::history, history);
    el_set(line, EL_GETCFN, read_character);
  }
  ~Terminal() {
    HistEvent event;
    if (!file.empty()) ::history(history, &event, H_SAVE, file.c_str());
    el_end(line);
    history_end(history);
  }
};

LineReader::LineReader() {
  if (isatty(STDIN_FILENO) == 1) terminal_ = std::make_unique<Terminal>();
}
LineReader::~LineReader() = default;

bool LineReader::interactive() const { return terminal_ != nullptr; }

std::optional<std::string> LineReader::next(const char* prompt) {
  std::string text;
  if (terminal_ == nullptr) {
    if (!std::getline(std::cin, text)) return std::nullopt;
    return text;
  }
  terminal_->prompt = prompt;
  // By itself libedit shows the prompt first: a Ctrl-D typed in between would be lost.
  el_set(terminal_->line, EL_PREP_TERM, 1);
  int count = 0;
  const char* line = el_gets(terminal_->line, &count);
  if (line == nullptr || count <= 0) {
    if (!interrupted()) return std::nullopt;
    clear_interrupt();
    el_reset(terminal_->line);
    std::fputs("\n", stderr);
    return std::string();
  }
  text.assign(line, static_cast<size_t>(count));
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty()) {
    HistEvent event;
    ::history(terminal_->history, &event, H_ENTER, text.c_str());
  }
  return text;
}

}  // namespace spindrift::cli
