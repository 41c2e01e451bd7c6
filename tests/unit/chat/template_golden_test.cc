// Replays what python jinja2 made of templates; tools/template_parity.py --write stores it.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "chat/jinja/json.h"
#include "chat/jinja/template.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string fnv1a(std::string_view text) {
  uint64_t h = 0xCBF29CE484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(h));
  return hex;
}

// 2024-02-29 13:05:09.000123, as the goldens were made.
jinja::Template::Options options() {
  jinja::Template::Options o;
  o.now.tm_year = 124;
  o.now.tm_mon = 1;
  o.now.tm_mday = 29;
  o.now.tm_hour = 13;
  o.now.tm_min = 5;
  o.now.tm_sec = 9;
  o.now.tm_wday = 4;
  o.now.tm_yday = 59;
  o.microseconds = 123;
  return o;
}

Result<std::string> render(const jinja::Template& parsed, const std::string& context) {
  return parsed.render(
      [&](jinja::Runtime& rt) { return jinja::read_json(rt, context, "context").dict; }, options());
}

// One line of a golden file.
class Case {
 public:
  explicit Case(const std::string& line) : value_(jinja::read_json(rt_, line, "golden")) {}
  bool has(std::string_view key) const { return find(*value_.dict, key) != nullptr; }
  std::string text(std::string_view key) const {
    return std::string(find(*value_.dict, key)->text());
  }

 private:
  jinja::Runtime rt_{jinja::Limits{}};
  jinja::Value value_;
};

void expect_same(const Case& golden, const Result<std::string>& got, const std::string& what) {
  if (golden.has("fails")) {
    EXPECT_FALSE(got.ok()) << what << "\nrendered: " << got.value();
    return;
  }
  ASSERT_TRUE(got.ok()) << what << "\n" << got.error().message;
  if (golden.has("output")) {
    EXPECT_EQ(got.value(), golden.text("output")) << what;
  } else {
    EXPECT_EQ(fnv1a(got.value()), golden.text("fnv1a")) << what << "\nrendered: " << got.value();
  }
}

fs::path goldens() { return testing::repo_dir() / "tests" / "golden" / "chat"; }

TEST(TemplateGoldens, EverySnippetRendersAsJinja2RendersIt) {
  const std::string context = read(goldens() / "context.json");
  std::istringstream lines(read(goldens() / "snippets.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Case golden(line);
    const std::string source = golden.text("template");
    const Result<jinja::Template> parsed = jinja::Template::parse(source, "snippet");
    if (!parsed.ok()) {
      EXPECT_TRUE(golden.has("fails")) << source << "\n" << parsed.error().message;
      continue;
    }
    expect_same(golden, render(parsed.value(), context), source);
  }
  EXPECT_GT(count, 500);
}

TEST(TemplateGoldens, EveryConversationRendersAsJinja2RendersIt) {
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(goldens())) {
    if (entry.path().extension() != ".jsonl" || entry.path().filename() == "snippets.jsonl")
      continue;
    ++files;
    std::istringstream lines(read(entry.path()));
    std::string line;
    std::getline(lines, line);
    const std::string name = Case(line).text("template");
    fs::path file = testing::repo_dir() / "models" / "laguna-tiny-nvfp4" / "chat_template.jinja";
    if (name != "models/laguna-tiny-bf16/chat_template.jinja")
      file = testing::shared_dir_setting() / name;
    if (!fs::exists(file)) {
      std::printf("SKIPPED FOR LACK OF DATA: %s does not exist\n", file.c_str());
      continue;
    }
    const Result<jinja::Template> parsed = jinja::Template::parse(read(file), name);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    int count = 0;
    for (; std::getline(lines, line); ++count) {
      const Case golden(line);
      const std::string context = golden.text("context");
      expect_same(golden, render(parsed.value(), context), name + "\n" + context);
    }
    EXPECT_GE(count, 40) << entry.path();
  }
  EXPECT_GE(files, 7);
}

}  // namespace
}  // namespace spindrift
