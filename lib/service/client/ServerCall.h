// One request to the scheduler, as often as it takes.
#pragma once
#include "lib/service/call/HttpCall.h"

namespace accord::service {

/// Where the scheduler is, and who asks.
struct ServerPlace {
  std::string url = {};            ///< "https://lab.example:8421", without a path
  std::string origin = "--server"; ///< who said so, for messages: "--server", "ACCORD_SERVER"
  std::string token = {};          ///< empty: none
  std::string authority = {};      ///< file in PEM that has signed the certificate; empty: those of the machine
  double connectSeconds = 5, answerSeconds = 30;
  int tries = 5; ///< of a request that may be repeated
};

/// When a request may be sent again after an answer did not come.
enum class Repeat : uint8_t {
  Always,     ///< it reads, or a second time does no more than the first
  Ends,       ///< as Always; if it is sent again, "there is none" and "it is over" mean that the first one did it
  Unreceived, ///< only if it cannot have arrived
};

class ServerCall {
public:
  /// Error A1206: the URL is none, or the file of the authority cannot be read.
  static Result<ServerCall> open(ServerPlace place);

  /// An answer with status 200 to 299, else the errors that the server states, as it states them. Busy servers (429,
  /// 503) are asked again. Error A1206: no answer, or none that can be read.
  Result<HttpAnswer, Errors> call(const std::string &method, const std::string &path, const std::string &body = "",
                                  Repeat repeat = Repeat::Always, double wait = 0) const;
  /// Hands the bytes of an answer that stays open to `take` until it says no (then true), or the answer ends (false).
  /// Errors as above, without repeating.
  Result<bool> stream(const std::string &path, int64_t lastEvent,
                      const std::function<bool(std::string_view)> &take) const;
  const ServerPlace &place() const { return place_; }
  /// The error for a server that cannot be asked.
  Error unreachable(const std::string &why) const;

private:
  explicit ServerCall(ServerPlace place) : place_(std::move(place)) {}
  HttpAsk ask(const std::string &method, const std::string &path, const std::string &body) const;

  ServerPlace place_;
  HttpUrl url_;
  HttpTrust trust_;
};

/// What a server says of an answer with an error: its codes and messages.
Errors errorsOf(int status, const std::string &body);

} // namespace accord::service
