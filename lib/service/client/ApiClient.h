// What the commands ask the scheduler: one function for each request.
//
//   auto client = ApiClient::open({});            // ACCORD_SERVER, ACCORD_TOKEN or ~/.config/accord/token
//   auto answer = client->submit(submission);
//   client->watch(-1, [](const ServiceEvent &event) { … return true; });
//
// Errors are those that the server states, with their codes, or A1206 where it cannot be asked. One client may be used
// by several threads.
#pragma once
#include "lib/service/client/ServerCall.h"
#include "lib/service/http/ViewJson.h"

namespace accord::service {

struct ClientOptions {
  std::string server = {};    ///< URL; empty: ACCORD_SERVER, else http://localhost:8421
  std::string token = {};     ///< empty: ACCORD_TOKEN, else the file ~/.config/accord/token, else none
  std::string authority = {}; ///< as of ServerPlace; empty: ACCORD_AUTHORITY, else none
  double connectSeconds = 5, answerSeconds = 30;
  int tries = 5;
  double patience = 60;            ///< seconds for which a watch looks for a server that has gone
  std::string origin = "--server"; ///< who stated `server`, for messages
};

class ApiClient {
public:
  /// Error A1206: the URL is none, or the file of the authority cannot be read.
  static Result<ApiClient> open(const ClientOptions &options);

  Result<SubmitAnswer, Errors> submit(const Submission &submission) const;
  Result<JobList> jobs(const JobFilter &filter) const;
  Result<JobView> job(int64_t id) const;
  /// `reason`: at most 200 bytes, for those who see the job; empty: none.
  Result<void> cancel(int64_t id, const std::string &reason = {}) const;
  Result<std::vector<std::string>> explain(int64_t id) const;
  Result<std::vector<RunView>> runs(const RunFilter &filter) const;
  /// Keeps the result of a tuning, of `record` its name, tenant and document; its number.
  Result<int64_t> keepTuning(const TuningRecord &record) const;
  /// Results of tunings of a name, the newest first, without their documents.
  Result<std::vector<TuningRecord>> tunings(const std::string &name, size_t limit) const;
  Result<TuningRecord> tuning(int64_t id) const;
  Result<ClusterView> cluster() const;
  /// Whose the token is.
  Result<Caller> caller() const;
  /// Events above a number; waits for one, for so many seconds, at most 60.
  Result<std::vector<ServiceEvent>> events(int64_t after, size_t limit, double wait) const;
  Result<void> drain(const std::string &node, const std::string &reason) const;
  Result<void> resume(const std::string &node) const;
  Result<std::string> makeToken(const Caller &of, double expires) const;
  Result<void> revokeToken(const std::string &name) const;
  /// Of the task whose token the client has.
  Result<void> report(const ProgressReport &report) const;
  Result<HealthAnswer> health() const;
  Result<std::string> metrics() const;
  /// The description of the interface, as text.
  Result<std::string> description() const;

  /// Each event above `after` (-1: from now on) once and in order, until `each` returns false. A connection that breaks
  /// is made again. Errors: the server refuses, or is not there for `patience` seconds.
  Result<void> watch(int64_t after, const std::function<bool(const ServiceEvent &)> &each) const;
  const ServerPlace &place() const { return call_.place(); }

private:
  ApiClient(ServerCall call, double patience) : call_(std::move(call)), patience_(patience) {}
  template <typename T> Result<T> get(const std::string &path, double wait = 0) const;
  Result<void> change(const std::string &method, const std::string &path, const std::string &body, Repeat repeat) const;

  ServerCall call_;
  double patience_;
};

/// Reads server-sent events from pieces of a stream (HTML, section 9.2): `id` and `data`.
class EventReader {
public:
  explicit EventReader(int64_t last) : last_(last) {}
  /// Calls `each` for every event whose number is above all before. False: `each` said no, or a line is too long.
  bool take(std::string_view bytes, const std::function<bool(const ServiceEvent &)> &each);
  /// The last number; -1: none yet.
  int64_t last() const { return last_; }
  /// A new connection: what was there of a line is gone.
  void restart();
  bool isBroken() const { return isBroken_; }

private:
  bool takeLine(std::string_view line, const std::function<bool(const ServiceEvent &)> &each);
  std::string line_, data_;
  int64_t last_, id_ = -1;
  bool isBroken_ = false;
};

} // namespace accord::service
