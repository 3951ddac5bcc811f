// Results of tunings that a running `accord serve` keeps, with whose best configurations a later tuning begins, on
// whatever machine it runs.
#pragma once
#include "lib/service/client/ApiClient.h"

namespace accord {

/// Whether a word of `--history` names a service: "serve", that of --engine-option server or ACCORD_SERVER, or its URL.
bool namesService(const std::string &history);

/// Where the results of a service are asked for: that of a word of `--history`, with the token of `client`.
service::ClientOptions historyPlace(const std::string &history, service::ClientOptions client);

struct KeptTuning {
  std::string label;    ///< for messages: "tuning 3 of http://lab:8421"
  std::string document; ///< tune.json
};

/// The newest results of tunings of a name that a service has, at most `kMaxKept`. With a folder, they are those that
/// were written there the first time: a tuning that was interrupted goes on as it began, whatever the service has by
/// then. Errors: those of the service, A0803 where the folder cannot be written, A0008 where it cannot be read.
Result<std::vector<KeptTuning>> keptTunings(const service::ClientOptions &place, const std::string &name,
                                            const std::string &folder);
constexpr size_t kMaxKept = 5;

} // namespace accord
