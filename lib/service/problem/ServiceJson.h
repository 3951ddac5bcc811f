// Jobs, runs and events as JSON: one description for what clients send and get and for what the state keeps.
//
// Times are seconds since 1970 (`…_s`), spans of time seconds, speeds samples a second; enumerators are words in lower
// case. What is left out is at its default.
#pragma once
#include "lib/service/problem/ServedJob.h"
#include "lib/support/Result.h"
#include "lib/support/documents/Fields.h"
#include <optional>

namespace accord::service {

void describe(JsonVisitor &v, Start &start);
void describe(JsonVisitor &v, JobPhase &phase);
void describe(JsonVisitor &v, JobRunRecord::State &state);
void describe(JsonVisitor &v, JobRunRecord::Outcome &outcome);
void describe(JsonVisitor &v, Role &role);
void describe(JsonFields &f, MeasuredConfiguration &measured);
/// "elasticity" is "rigid" where it is moldable and `minDevices` and `maxDevices` are one number, 1 or more.
void describe(JsonFields &f, Submission &submission);
void describe(JsonFields &f, ProgressPoint &point);
void describe(JsonFields &f, JobProgressState &progress);
void describe(JsonFields &f, ServedJob &job);
void describe(JsonFields &f, JobRunRecord &run);
void describe(JsonFields &f, ServiceEvent &event);

/// "plain", "torchrun", "megatron".
std::string_view nameOf(Start start);
/// "modelling", "queued", "running", "stopping", "complete", "failed", "cancelled".
std::string_view nameOf(JobPhase phase);
std::optional<JobPhase> jobPhase(std::string_view name);
/// "intended", "submitted", "running", "stopping", "ended".
std::string_view nameOf(JobRunRecord::State state);
/// "none", "succeeded", "failed", "stopped", "lost", "refused".
std::string_view nameOf(JobRunRecord::Outcome outcome);
/// "viewer", "submitter", "operator".
std::string_view nameOf(Role role);
std::optional<Role> roleNamed(std::string_view name);

/// Limits of a submission.
constexpr int64_t kMaxServedDevices = 1'000'000;
constexpr size_t kMaxNameLength = 60, kMaxKeyLength = 200, kMaxCommandWords = 4'096, kMaxSubmittedFiles = 1'000,
                 kMaxSubmittedBytes = size_t(1) << 24, kMaxListed = 10'000;
constexpr double kMaxSpan = 1e9, kMaxTime = 1e12, kMaxSamples = 1e18;

/// Everything that is wrong with a submission, each with its key, what was found and what is allowed (A1201); empty:
/// nothing.
Errors checkSubmission(const Submission &submission);
/// Reads a submission that anybody may have written, and checks it. Unknown keys, keys twice, other types and numbers
/// out of range are refused (A1201).
Result<Submission, Errors> readSubmission(llvm::StringRef text);

} // namespace accord::service
