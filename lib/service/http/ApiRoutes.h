// What may be asked of the scheduler over HTTP: one table, by which requests are answered and described.
#pragma once
#include "lib/service/http/EventHub.h"
#include "lib/service/http/ViewJson.h"

namespace accord::service {

/// A field of a query.
struct ApiParameter {
  llvm::StringLiteral name;
  enum class Kind : uint8_t { Integer, Number, Text, Flag, Phases } kind = Kind::Text;
  llvm::StringLiteral about;
  double max = 9e15;                ///< of numbers; they are 0 or more
  llvm::StringLiteral initial = ""; ///< what it is when it is left out; empty: nothing
};

/// A request whose query is known to be as its route says.
struct ApiAsk {
  const HttpRequest &http;
  Caller caller = {};
  std::string token = {};
  std::vector<std::string> names = {}; ///< of the path, for "{…}"
  const struct ApiRoute *route = nullptr;

  /// What the query says, or else what the route does.
  std::string text(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name) const;
  double number(llvm::StringRef name) const;
  /// The number in the path; 0: it is none.
  int64_t id() const;
};

struct ApiContext {
  Scheduler &scheduler;
  EventHub &hub;
  std::string ownMetrics = {}; ///< of the server itself, behind those of the scheduler
};

struct ApiRoute {
  llvm::StringLiteral method, path; ///< "GET", "/v1/jobs/{id}"
  llvm::StringLiteral id;           ///< "getJob"
  llvm::StringLiteral about;
  enum class Access : uint8_t {
    Open,
    Token,  ///< of a caller
    Task,   ///< of a task
    Metrics ///< of a caller, unless the server says that everybody may
  } access = Access::Token;
  std::vector<ApiParameter> query = {};
  llvm::json::Value (*request)() = nullptr; ///< schema of the body; null: there is none
  llvm::json::Value (*answer)() = nullptr;  ///< schema; null: not JSON, or nothing
  int status = 200;
  llvm::StringLiteral type = "application/json"; ///< of the answer; empty: it has no body
  HttpReply (*handle)(const ApiContext &, const ApiAsk &) = nullptr;
};

const std::vector<ApiRoute> &apiRoutes();
/// Parts of a path: "{id}" stands for any.
std::vector<llvm::StringRef> segmentsOf(llvm::StringRef path);

/// Answers as JSON.
template <typename T> HttpResponse jsonResponse(const T &value, int status = 200);
HttpResponse jsonResponse(int status, const llvm::json::Value &value);
HttpResponse errorResponse(int status, const Errors &errors, const std::string &key = "");
/// The status that fits the code of an error.
int statusOf(Code code);
/// What is wrong with the query of a request; nothing: it is as the route says.
std::optional<HttpResponse> refuseQuery(const ApiRoute &route, const HttpRequest &request);

template <typename T> HttpResponse jsonResponse(const T &value, int status) {
  return jsonResponse(status, toDocument(value));
}

} // namespace accord::service
