#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <functional>
#include <string>

#include "chat/jinja/json.h"
#include "chat/jinja/template.h"

namespace spindrift {
namespace {

Result<std::string> render(const std::string& source, const std::string& context = "{}") {
  SPINDRIFT_TRY(const jinja::Template parsed, jinja::Template::parse(source, "t.jinja"));
  return parsed.render(
      [&](jinja::Runtime& rt) { return jinja::read_json(rt, context, "context").dict; }, {});
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// A template that would run or grow without end fails soon, in one line.
void expect_stopped(const std::string& source, const std::string& why) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::string> out = render(source);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(out.ok()) << source.substr(0, 200);
  EXPECT_NE(out.error().message.find(why), std::string::npos) << out.error().message;
  EXPECT_EQ(out.error().message.find('\n'), std::string::npos);
  EXPECT_EQ(out.error().code, ErrorCode::kInvalid);
  EXPECT_LT(took.count(), 20.0);  // about a second; sanitizers and a busy machine need room
}

TEST(TemplateLimits, NestedLoopsEnd) {
  expect_stopped(
      "{% for a in range(100000) %}{% for b in range(100000) %}{% set x = a %}{% endfor %}{% "
      "endfor %}",
      "does not end");
}

TEST(TemplateLimits, LoopsThatGrowTheirOwnInputEnd) {
  expect_stopped(
      "{% set ns = namespace(l=[1, 2]) %}{% for a in range(99999) %}{% set ns.l = ns.l + ns.l %}{% "
      "endfor %}",
      "t.jinja:1");
}

TEST(TemplateLimits, SearchesAmongNearMatchesEnd) {
  for (const std::string body : {"wanted in s", "s.rfind(wanted)", "s|replace(wanted, '')"})
    expect_stopped(
        "{% set s = 'a' * 1000000 %}{% set wanted = 'a' * 400000 ~ 'b' %}"
        "{% for a in range(99999) %}{% set x = " +
            body + " %}{% endfor %}",
        "t.jinja:1: the template");
}

TEST(TemplateLimits, SummingLongListsOftenEnds) {
  expect_stopped(
      "{% set l = range(90000) | list %}{% for a in range(99999) %}{% set x = l | sum %}{% endfor "
      "%}",
      "does not end");
}

TEST(TemplateLimits, EndlessRecursionEnds) {
  expect_stopped("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nests too deep");
  expect_stopped("{% macro m(x) %}{{ m(x ~ 'a') ~ m(x) }}{% endmacro %}{{ m('') }}",
                 "nests too deep");
  expect_stopped("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "nests too deep");
}

TEST(TemplateLimits, DoublingTextEnds) {
  expect_stopped(
      "{% set ns = namespace(s='x') %}{% for a in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% "
      "endfor %}",
      "too large");
  expect_stopped("{{ 'x' * 1000000000000 }}", "too large");
  expect_stopped("{{ [1] * 1000000000000 }}", "too large");
  expect_stopped("{{ 'x' * 10 ** 30 }}", "too large");
  expect_stopped("{{ ('%999999999d' % 1) }}", "width");
  expect_stopped("{{ 'a'.center(10 ** 12) }}", "too large");
  expect_stopped("{{ 'aaaaaaaaaaaaaaaa'|replace('a', 'b' * 30000000) }}", "too large");
}

TEST(TemplateLimits, PrintingWithoutEndEnds) {
  expect_stopped("{% set s = 'x' * 1000000 %}{% for a in range(100000) %}{{ s }}{% endfor %}",
                 "more text");
}

TEST(TemplateLimits, NumbersStayBounded) {
  expect_stopped("{{ 10 ** (10 ** 10) }}", "too large");
  expect_stopped(
      "{% set ns = namespace(n=3) %}{% for a in range(1000) %}{% set ns.n = ns.n * ns.n %}{% "
      "endfor %}",
      "too large");
}

TEST(TemplateLimits, DeepValuesNeitherPrintNorCompareWithoutEnd) {
  const std::string deep =
      "{% set ns = namespace(l=[]) %}{% for a in range(50000) %}{% set ns.l = [ns.l] %}{% endfor "
      "%}";
  expect_stopped(deep + "{{ ns.l }}", "nests too deep");
  expect_stopped(deep + "{{ ns.l|tojson }}", "nests too deep");
  expect_stopped(deep + "{{ ns.l == [ns.l] }}", "nests too deep");
  expect_stopped(deep + "{{ ns.l < [ns.l] }}", "nests too deep");
}

TEST(TemplateLimits, ANamespaceThatHoldsItselfIsNoLeakAndDoesNotPrint) {
  expect_stopped("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}", "nests too deep");
  EXPECT_TRUE(
      render("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me.me is defined }}").ok());
}

TEST(TemplateLimits, DeepSourceIsRefusedWhenParsed) {
  expect_stopped("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}", "nests too deep");
  expect_stopped("{{ " + repeated("[", 5000), "nests too deep");
  expect_stopped("{{ " + repeated("not ", 5000) + "1 }}", "nests too deep");
  expect_stopped("{{ " + repeated("-", 5000) + "1 }}", "nests too deep");
  expect_stopped("{{ 1" + repeated(" + 1", 5000) + " }}", "nests too deep");
  expect_stopped("{{ x" + repeated(".a", 5000) + " }}", "nests too deep");
  expect_stopped("{{ x" + repeated("|upper", 5000) + " }}", "nests too deep");
  expect_stopped(repeated("{% if a %}", 5000), "nests too deep");
}

// Runs `work` on a stack of 256 KiB.
void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{256} << 10), 0);
  pthread_t thread = {};
  const auto run = [](void* work_of_thread) -> void* {
    (*static_cast<std::function<void()>*>(work_of_thread))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(TemplateLimits, NestingEndsWithASmallStackToo) {
  on_small_stack([] {
    expect_stopped("{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}", "nests too deep");
    expect_stopped("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}",
                   "nests too deep");
    expect_stopped(repeated("{% if a %}", 5000), "nests too deep");
    expect_stopped(
        "{% set ns = namespace(l=[]) %}{% for a in range(50000) %}{% set ns.l = [ns.l] "
        "%}{% endfor %}{{ ns.l }}",
        "nests too deep");
    // As deep as the parser takes it: refused or rendered, but never past the end of the stack.
    for (const char* piece : {".a", "|upper", " + 1", "[0]", "(1)"})
      (void)render("{{ x" + repeated(piece, 390) + " }}");
    (void)render(repeated("{% if 1 %}", 90) + "{{ " + repeated("(", 90) + "1" + repeated(")", 90) +
                 " }}" + repeated("{% endif %}", 90));
    EXPECT_EQ(render("{% for x in [1, 2] %}{% if x > 1 %}{{ x }}{% endif %}{% endfor %}").value(),
              "2");
  });
}

TEST(TemplateLimits, WideSourceIsFine) {
  EXPECT_TRUE(render(repeated("{% if a %}x{% endif %}", 5000)).ok());
  EXPECT_TRUE(render("{% if a %}" + repeated("{% elif b %}x", 3000) + "{% endif %}").ok());
  EXPECT_TRUE(render("{{ ['a'" + repeated(", 'b'", 5000) + "]|length }}").ok());
}

TEST(TemplateLimits, AnAccumulatorOfAMegabyteIsFine) {
  const Result<std::string> out = render(
      "{% set ns = namespace(s='') %}{% for a in range(20000) %}{% set ns.s = ns.s ~ 'fifty bytes "
      "of text, more or less, in here' "
      "%}{% endfor %}{{ ns.s|length }}");
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out.value(), "840000");
}

TEST(TemplateErrors, NameTheFileAndTheLine) {
  const auto message = [](const std::string& source) { return render(source).error().message; };
  EXPECT_EQ(message("a\n\n{{ 1 / 0 }}"), "t.jinja:3: division by zero");
  EXPECT_EQ(message("{% if x %}\n{{ y }}\n"), "t.jinja:2: the template ends inside 'if' of line 1");
  EXPECT_EQ(message("\n{% frob %}"), "t.jinja:2: unknown tag 'frob'");
  EXPECT_EQ(message("\n{{ x.y }}"), "t.jinja:2: 'x' is undefined");
  EXPECT_EQ(message("{{ raise_exception('no\nway') }}"), "t.jinja:1: the template refuses: no way");
  EXPECT_EQ(message("{{ 'a'|frob }}"), "t.jinja:1: no filter named 'frob'");
}

TEST(TemplateErrors, WhatReachesBeyondTheTemplateIsRefusedByName) {
  for (const char* source : {"{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}",
                             "{% from 'x' import y %}", "{{ 'a'|urlize }}", "{{ [1]|random }}"}) {
    const Result<std::string> out = render(source);
    ASSERT_FALSE(out.ok()) << source;
    EXPECT_EQ(out.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(out.error().message.find("not supported"), std::string::npos) << out.error().message;
  }
}

TEST(TemplateErrors, BytesThatAreNoUtf8AreRefused) {
  EXPECT_FALSE(render("a\xFF").ok());
  EXPECT_FALSE(render("{{ x }}", "{\"x\": \"\xC3\"}").ok());
  EXPECT_FALSE(render("{{ x }}", "{\"x\": \"\\ud800\"}").ok());
}

}  // namespace
}  // namespace spindrift
