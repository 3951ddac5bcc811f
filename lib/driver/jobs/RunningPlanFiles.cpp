#include "lib/driver/jobs/RunningPlanFiles.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/Documents.h"
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/jobs/verify/PlacementCheck.h"
#include "lib/jobs/verify/ReplanCheck.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/format.h>

namespace accord {
namespace {

using namespace jobs;
using Of = JobEvent::Of;

constexpr llvm::StringLiteral kRoot = "job_events";
constexpr IntegerRange kTimes{0, kMaxSeconds}, kIntervals{1, kMaxSeconds};

struct EventsDocument {
  std::vector<JobEvent> events;
};

bool isOfServer(Of of) { return of == Of::ServerOut || of == Of::ServerBack; }

/// Keys that an event does not have are refused where they stand.
void checkKeys(JsonFields &f, const JobEvent &event) {
  if (!f.reads())
    return;
  const bool ofServer = isOfServer(event.of), stops = event.of == Of::Stopped || event.of == Of::Failed;
  const bool isDone = event.of == Of::Progress || stops;
  f.check("event", ofServer || f.has("job"), "expected 'job' beside this event")
      .check("event", !ofServer || f.has("server"), "expected 'server' beside this event")
      .check("event", event.of != Of::Progress || f.has("share") || f.has("samples"),
             "expected 'share' or 'samples' beside this event")
      .check("event", event.of != Of::Speed || f.has("factor"), "expected 'factor' beside this event")
      .check("event", event.of != Of::RestartBudget || f.has("restarts"), "expected 'restarts' beside this event");
  auto only = [&](llvm::StringLiteral key, bool belongs) {
    f.check(key, belongs || !f.has(key), "does not belong to this event");
  };
  only("job", !ofServer);
  only("server", ofServer);
  only("share", isDone);
  only("samples", isDone && !f.has("share"));
  only("factor", event.of == Of::Speed);
  only("checkpoint_s", (stops && !f.has("share") && !f.has("samples")) || event.of == Of::ServerOut);
  only("restarts", event.of == Of::RestartBudget);
  only("from_s", event.of == Of::ServerOut);
  only("until_s", event.of == Of::ServerOut);
}

void describeEvent(JsonFields &f, JobEvent &event) {
  f.about("progress: it has done more or less than planned; stopped, failed: it goes on from what is done; speed: of "
          "that planned; server_out: jobs on it stop; restart_budget: how often a job may start again")
      .field("event", event.of,
             [](JsonVisitor &v, Of &of) {
               v.oneOf(of,
                       {"progress", "complete", "stopped", "failed", "speed", "server_out", "server_back",
                        "restart_budget"},
                       "unknown event");
             })
      .maybe("job", event.job)
      .about("of its work that is done")
      .maybeIf(event.share >= 0, "share", event.share, kShare)
      .about("that are done; instead of a share")
      .maybeIf(event.samples >= 0, "samples", event.samples)
      .about("seconds of progress between two checkpoints, to the last of which a job is set back; instead of a share")
      .maybeIf(event.checkpoint > 0, "checkpoint_s", event.checkpoint, kIntervals)
      .about("above 0, times the planned speed")
      .maybeIf(event.of == Of::Speed, "factor", event.factor)
      .about("number within the cluster, from 0")
      .maybeIf(isOfServer(event.of), "server", event.server)
      .about("on the clock of the block; absent: now")
      .maybeIf(event.from >= 0, "from_s", event.from, kTimes)
      .about("absent: for good")
      .maybeIf(event.until >= 0, "until_s", event.until, kTimes)
      .maybeIf(event.of == Of::RestartBudget, "restarts", event.restarts, kTimes);
  checkKeys(f, event);
}

void describeDocument(JsonFields &f, EventsDocument &document) {
  f.about("in the order in which they happened").field("events", document.events, describeEvent);
}

const DocumentEntry kDocument("job_events", "accord jobs --after OUT --at TIME --events FILE",
                              "What makes a running cluster differ from its plan: a file that accord reads.",
                              [] { return schemaOf<EventsDocument>(describeDocument); });

} // namespace

Errors findingsOf(const JobAnswer &answer) {
  Errors found;
  for (Result<void> holds : {verifyJobSchedule(answer.problem, answer.schedule),
                             checkPlacements(answer, /*partial=*/true), checkReplan(answer)})
    if (!holds)
      found.push_back(holds.takeError());
  return found;
}

Result<JobAnswer, Errors> provedJobs(const std::string &folder) {
  const std::string file = folder + "/" + kJobsCertificate;
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text)
    return Errors{{Code::CannotRead, fmt::format("cannot read '{}': {}", file, text.getError().message())}};
  auto answer = jobsFromCertificate((*text)->getBuffer(), file);
  if (!answer)
    return Errors{answer.error()};
  Errors found = findingsOf(*answer);
  if (found.empty())
    found = fileViolations(filesOf(*answer), folder, /*all=*/false);
  if (found.empty() && llvm::sys::fs::exists(folder + "/" + kManifestFile)) {
    auto manifest = readManifest(folder);
    found = manifest ? manifestViolations(*manifest, folder) : Errors{manifest.error()};
  }
  for (Error &one : found)
    one.message = fmt::format("'{}' does not verify: {}", folder, one.message);
  if (!found.empty())
    return found;
  return std::move(*answer);
}

Result<std::vector<JobEvent>> readJobEventsFile(llvm::StringRef text, const std::string &file) {
  auto document = readJsonDocument<EventsDocument>(
      text, file, kRoot, [](const llvm::json::Value &value, EventsDocument &read, llvm::json::Path at) {
        return readDocument(value, read, at, describeDocument);
      });
  if (!document)
    return Error{Code::WrongJobsBlock, llvm::toString(document.takeError())};
  return std::move(document->events);
}

Error placedAtEvent(Error error, llvm::StringRef text, const std::string &file, size_t event) {
  const llvm::StringLiteral mark = "?";
  llvm::json::Path::Root root(kRoot);
  llvm::json::Path(root).field("events").index(static_cast<unsigned>(event)).report(mark);
  std::string placed = llvm::toString(documentError(text, file, kRoot, root));
  if (const size_t at = placed.find(": ?"); at != std::string::npos)
    placed.replace(at + 2, 1, error.message);
  error.message = std::move(placed);
  return error;
}

} // namespace accord
