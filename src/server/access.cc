#include "server/access.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "server/api_error.h"

namespace spindrift::server {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The bytes that base64 text stands for, up to the first character that is none of its alphabet.
std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) break;
    bits = (bits << 6U | static_cast<uint32_t>(value)) & 0xFFFFFFU;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> static_cast<uint32_t>(count) & 0xFFU));
  }
  return out;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() > word.size() && text[word.size()] == ' ' &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

// The page of this very server: its origin is the host that was asked.
bool same_origin(std::string_view origin, std::string_view host) {
  const size_t at = origin.find("://");
  return at != std::string_view::npos && !host.empty() && origin.substr(at + 3) == host;
}

}  // namespace

bool same_key(std::string_view expected, std::string_view given) {
  size_t different = expected.size() ^ given.size();
  for (size_t i = 0; i < expected.size(); ++i) {
    const char c = given.empty() ? '\0' : given[i % given.size()];
    different |= static_cast<size_t>(static_cast<unsigned char>(expected[i] ^ c));
  }
  return different == 0;
}

bool Access::has_key(const HttpRequest& request) const {
  const std::string_view given = request.header("authorization");
  if (starts_with_word(given, "Bearer")) return same_key(options_.key, given.substr(7));
  if (!starts_with_word(given, "Basic")) return same_key(options_.key, {});
  const std::string pair = from_base64(given.substr(6));
  const size_t colon = pair.find(':');
  return same_key(options_.key, colon == std::string::npos
                                    ? std::string_view{}
                                    : std::string_view(pair).substr(colon + 1));
}

bool Access::allowed(std::string_view origin) const {
  return std::any_of(options_.cors.begin(), options_.cors.end(),
                     [&](const std::string& entry) { return entry == "*" || entry == origin; });
}

std::optional<HttpReply> Access::check(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin");
  const bool foreign = !origin.empty() && !same_origin(origin, request.header("host"));
  if (request.method == "OPTIONS" && foreign && allowed(origin)) {
    HttpReply reply{.status = 204};
    reply.headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                     {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                     {"Access-Control-Max-Age", "600"}};
    return reply;
  }
  if (!options_.key.empty() && request.path != "/health" && !has_key(request)) {
    HttpReply reply = error_reply({.status = 401,
                                   .message = "expected the server's API key in the Authorization "
                                              "header (Bearer KEY)",
                                   .code = "invalid_api_key"});
    if (request.path == "/") reply.headers = {{"WWW-Authenticate", "Basic realm=\"spindrift\""}};
    return reply;
  }
  if (foreign && !allowed(origin))
    return error_reply({.status = 403,
                        .message = "pages of this origin may not use this server (see --cors)",
                        .code = "origin_not_allowed"});
  return std::nullopt;
}

void Access::finish(const HttpRequest& request, HttpReply& reply) const {
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  reply.headers.emplace_back("Cache-Control", "no-store");
  if (options_.cors.empty()) return;
  reply.headers.emplace_back("Vary", "Origin");
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && allowed(origin))
    reply.headers.emplace_back("Access-Control-Allow-Origin", std::string(origin));
}

}  // namespace spindrift::server
