// The commands by which people ask a scheduler process: accord run, queue, watch, top, cancel, drain, token.
#pragma once
#include "lib/driver/ExitStatus.h"
#include "lib/service/client/ApiClient.h"
#include <string>
#include <vector>

namespace accord {

struct RunCommandOptions {
  service::ClientOptions client;
  service::Submission submission;
  std::string job;   ///< a .dnn file that describes the training; empty: none does
  std::string start; ///< "plain", "torchrun", "megatron"; empty: by the command and the description
  std::string deadline, due, notice, restart; ///< times from now on, or spans: "6h"
  std::string elastic = "moldable";
  std::vector<std::string> environment; ///< NAME=VALUE
  std::vector<std::string> measured;    ///< a100=4:120: so many samples a second on 4 devices
  bool waits = false;                   ///< until it is over
  bool json = false;
};
/// Hands a job in. The exit status: 0, 1 it was refused or, with `waits`, failed.
int runJob(RunCommandOptions options);

struct QueueOptions {
  service::ClientOptions client;
  service::JobFilter filter;
  std::vector<std::string> phases;
  bool all = false; ///< also jobs that are over
  bool json = false;
};
int showQueue(QueueOptions options);

struct WatchOptions {
  service::ClientOptions client;
  int64_t job = 0;    ///< until it is over; 0: all jobs, until the command is ended
  int64_t after = -1; ///< events above this number; -1: from now on
  bool json = false;
};
int watchEvents(const WatchOptions &options);

struct TopOptions {
  service::ClientOptions client;
  bool once = false, json = false;
};
int showTop(const TopOptions &options);

int explainJob(const service::ClientOptions &client, int64_t job, bool json);
int cancelJobs(const service::ClientOptions &client, const std::vector<int64_t> &jobs, const std::string &reason);
int drainNode(const service::ClientOptions &client, const std::string &node, bool resumes, const std::string &reason);
int makeToken(const service::ClientOptions &client, const service::Caller &of, const std::string &expires);
int revokeToken(const service::ClientOptions &client, const std::string &name);

} // namespace accord
