// How the training of an actor went: as JSON and for the terminal.
#pragma once
#include "lib/jobs/actor/ActorTrainer.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>

namespace accord::jobs {

struct ActorReport {
  std::string file;      ///< that was written
  std::string trainedOn; ///< in words
  TrainedActor actor;
};

llvm::json::Value actorJson(const ActorReport &report);
llvm::json::Value actorSchema();
/// A row for each validation, and what was kept.
std::string actorText(const ActorReport &report, const TextStyle &style);
/// What the file of the actor says of its training, by key.
std::map<std::string, std::string> actorMetadata(const ActorReport &report, const TrainingOptions &options);

} // namespace accord::jobs
