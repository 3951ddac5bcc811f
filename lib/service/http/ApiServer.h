// The scheduler over HTTP: who asks, how often, what, and the answer.
//
//   auto server = ApiServer::start(scheduler, {.http = {.address = "0.0.0.0", .port = 8421}});
//   (*server)->port();
//
// Errors are `{"errors": [{"code": "A1201", "message": …, "key": …}]}` with the status that fits. Every answer carries
// the id of its request (X-Request-Id), under which the audit log has what was refused.
#pragma once
#include "lib/service/control/Scheduler.h"
#include "lib/service/http/HttpServer.h"

namespace accord::service {

/// A file of the web page.
struct ApiPageFile {
  std::string type; ///< "text/html; charset=utf-8"
  std::string text;
};

struct ApiOptions {
  HttpServerOptions http;
  std::vector<std::string> hosts; ///< names of the server, besides that of the machine: where no tokens are needed
  bool hasOpenMetrics = false;    ///< /metrics needs no token
  double requestsPerSecond = 1000, requestBurst = 2000;    ///< of one token
  double strangersPerSecond = 200, strangerBurst = 400;    ///< of one address without a token, or a wrong one
  double wrongTokensPerSecond = 1.0 / 3, wrongTokens = 20; ///< of one address
  double heartbeatSeconds = 15;                            ///< how often a token that watches is asked for again
  std::map<std::string, ApiPageFile> page;                 ///< by name: "index.html" is at "/", all are at "/page/NAME"
};

class ApiServer {
public:
  /// Error A0801: it cannot listen, or the certificate cannot be used. `scheduler` outlives it.
  static Result<std::unique_ptr<ApiServer>> start(Scheduler &scheduler, ApiOptions options);
  virtual ~ApiServer() = default;
  virtual int port() const = 0;
  /// Ends within a second if the scheduler answers within it; open connections are closed.
  virtual void stop() = 0;
  virtual const HttpCounters &counters() const = 0;
};

} // namespace accord::service
