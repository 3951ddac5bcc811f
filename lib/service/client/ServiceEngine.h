// Tasks that are jobs of a running `accord serve`: it decides when, and on which devices, each of them runs, beside the
// jobs of everybody else.
//
//   auto options = serviceEngineOptions({{"server", "http://lab:8421"}, {"devices", "8"}, {"prefix", "tune-"}});
//   auto engine = serviceEngine(*options);
//
// The contract is that of Engine.h but for nodes: those that it lists stand for the devices that its tasks may have at
// once. A task says by its nodes how many devices it takes, not which ones; where it runs is said of it then. The
// service keeps jobs that were handed in, so the process that handed them in may end and come back: a name is the key
// of its job, which makes it the same one.
#pragma once
#include "lib/service/client/ApiClient.h"
#include "lib/service/control/MakeEngine.h"
#include <atomic>

namespace accord::service {

struct ServiceEngineOptions {
  ClientOptions client = {};
  std::string tenant = {};     ///< empty: that of the token
  std::string deviceType = {}; ///< empty: the only one of the cluster
  std::string prefix = {};     ///< of names of tasks; not empty
  int64_t devices = 0;         ///< that its tasks may have at once
  double priority = 1;         ///< of each job, above 0
  /// Jobs of several numbers of devices, up to those of their tasks, may be shrunk and grow: malleable ones, which have
  /// to save when they get SIGUSR1.
  bool isElastic = false;
  double patience = 300;                   ///< seconds for which a service that has answered before is waited for
  const std::atomic<bool> *stop = nullptr; ///< ends waiting
};

/// Reads options as `makeEngine` does: server, token-file, authority, tenant, type, devices, priority, elastic ("yes",
/// "no"), patience (seconds), prefix. Error A1203 for others, and for values that are none.
Result<ServiceEngineOptions> serviceEngineOptions(const EngineOptions &options);

/// Errors: A1206 for a URL that is none. Later calls: A1206 where the service has not answered for `patience` seconds
/// (or never did), A1202 for a token that may not hand in jobs, A1203 for devices that the cluster or the tenant does
/// not have, and those that the service states of a job that it refuses.
Result<std::unique_ptr<Engine>> serviceEngine(ServiceEngineOptions options);

} // namespace accord::service
