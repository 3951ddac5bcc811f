// What the scheduler answers, and what is asked of it, as JSON: one description for the server, its clients and the
// schemas.
//
// Times are seconds since 1970 (`…_s`), spans of time seconds, speeds samples a second; enumerators are words in lower
// case. What is left out is at its default.
#pragma once
#include "lib/service/control/Scheduler.h"
#include "lib/service/problem/ServiceJson.h"

namespace accord::service {

void describe(JsonFields &f, JobView &view);
void describe(JsonFields &f, RunView &run);
void describe(JsonFields &f, NodeView &node);
void describe(JsonFields &f, TypeView &type);
void describe(JsonFields &f, TenantView &tenant);
void describe(JsonFields &f, ClusterView &cluster);
void describe(JsonFields &f, Caller &caller);
void describe(JsonFields &f, ProgressReport &report);

struct SubmitAnswer {
  int64_t id = 0;
  bool isNew = true; ///< false: a job with this key was there
};
void describe(JsonFields &f, SubmitAnswer &answer);

struct JobList {
  std::vector<JobView> jobs;
  int64_t next = 0; ///< `after` of the next page; 0: this is the last one
};
void describe(JsonFields &f, JobList &list);

struct RunList {
  std::vector<RunView> runs;
};
void describe(JsonFields &f, RunList &list);

struct EventList {
  std::vector<ServiceEvent> events;
};
void describe(JsonFields &f, EventList &list);

struct Explanation {
  std::vector<std::string> sentences;
};
void describe(JsonFields &f, Explanation &explanation);

struct DrainRequest {
  std::string reason;
};
void describe(JsonFields &f, DrainRequest &request);

struct TokenRequest {
  Caller of;
  double expires = 0; ///< 0: never
};
void describe(JsonFields &f, TokenRequest &request);

struct TokenAnswer {
  std::string token; ///< not shown again
};
void describe(JsonFields &f, TokenAnswer &answer);

struct HealthAnswer {
  std::string status = "ok", version;
  bool needsToken = true;
};
void describe(JsonFields &f, HealthAnswer &answer);

/// A result of a tuning that is to be kept, or is.
void describe(JsonFields &f, TuningRecord &tuning);
struct TuningList {
  std::vector<TuningRecord> tunings;
};
void describe(JsonFields &f, TuningList &list);
struct TuningAnswer {
  int64_t id = 0;
};
void describe(JsonFields &f, TuningAnswer &answer);

/// Why a request was refused.
struct ApiError {
  std::string code;    ///< "A1201"
  std::string message; ///< lower case, without a full stop
  std::string key;     ///< of the request; empty: none
};
void describe(JsonFields &f, ApiError &error);

struct ErrorList {
  std::vector<ApiError> errors;
};
void describe(JsonFields &f, ErrorList &list);

/// A job without what the readers of its tenant need not know: values of its environment, texts of its files, its
/// key.
JobView shownToReaders(JobView view);

} // namespace accord::service
