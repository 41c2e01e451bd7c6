#include "server/access.h"

#include <gtest/gtest.h>

namespace spindrift::server {
namespace {

HttpRequest request(std::string path, std::vector<std::pair<std::string, std::string>> headers) {
  return {.method = "GET", .path = std::move(path), .headers = std::move(headers)};
}

int status(const Access& access, const HttpRequest& request) {
  const auto reply = access.check(request);
  return reply ? reply->status : 200;
}

TEST(SameKey, OnlyTheKeyItselfIsTheKey) {
  EXPECT_TRUE(same_key("secret", "secret"));
  for (const std::string_view wrong :
       {"", "s", "secre", "secrets", "secretsecret", "Secret", "sEcret"})
    EXPECT_FALSE(same_key("secret", wrong)) << wrong;
}

TEST(Access, WantsTheKeyEverywhereButAtHealth) {
  const Access access({.key = "secret", .cors = {}});
  EXPECT_EQ(status(access, request("/health", {})), 200);
  EXPECT_EQ(status(access, request("/metrics", {})), 401);
  EXPECT_EQ(status(access, request("/metrics", {{"authorization", "Bearer secret"}})), 200);
  EXPECT_EQ(status(access, request("/metrics", {{"authorization", "bearer secret"}})), 200);
  EXPECT_EQ(status(access, request("/metrics", {{"authorization", "Bearer  secret"}})), 401);
  EXPECT_EQ(status(access, request("/metrics", {{"authorization", "Bearer"}})), 401);
}

TEST(Access, TakesTheKeyAsThePasswordOfBasic) {
  const Access access({.key = "secret", .cors = {}});
  // "x:secret", ":secret", "secret", and no base64 at all
  EXPECT_EQ(status(access, request("/", {{"authorization", "Basic eDpzZWNyZXQ="}})), 200);
  EXPECT_EQ(status(access, request("/", {{"authorization", "Basic OnNlY3JldA=="}})), 200);
  EXPECT_EQ(status(access, request("/", {{"authorization", "Basic c2VjcmV0"}})), 401);
  EXPECT_EQ(status(access, request("/", {{"authorization", "Basic \xFF\x01"}})), 401);
}

TEST(Access, PagesOfOtherOriginsNeedLeave) {
  const Access closed({.key = {}, .cors = {}});
  EXPECT_EQ(status(closed, request("/", {{"origin", "http://a.example"}, {"host", "b:80"}})), 403);
  EXPECT_EQ(status(closed, request("/", {{"origin", "http://b:80"}, {"host", "b:80"}})), 200);
  EXPECT_EQ(status(closed, request("/", {{"origin", "null"}, {"host", "b:80"}})), 403);
  const Access open({.key = {}, .cors = {"http://a.example"}});
  EXPECT_EQ(status(open, request("/", {{"origin", "http://a.example"}, {"host", "b"}})), 200);
  EXPECT_EQ(status(open, request("/", {{"origin", "http://c.example"}, {"host", "b"}})), 403);
}

}  // namespace
}  // namespace spindrift::server
