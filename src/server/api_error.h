#pragma once

#include <string>

#include "core/result.h"
#include "server/http.h"

namespace spindrift::server {

// What is wrong with a request, as OpenAI's API says it.
struct ApiError {
  int status = 400;
  std::string message = {};
  std::string param = {};  // the parameter at fault; empty = null
  std::string code = {};   // empty = null
};

// {"error": {"message", "type", "param", "code"}}; the type follows from the status.
std::string error_json(const ApiError& error);
HttpReply error_reply(const ApiError& error);

// An error of a lower layer. A conversation's error names its place ("messages[0].content"), which
// becomes the parameter; otherwise it is `param`.
ApiError api_error(const Error& error, const std::string& param = {});

ApiError unsupported(const std::string& param, const std::string& what);

}  // namespace spindrift::server
