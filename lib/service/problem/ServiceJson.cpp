#include "lib/service/problem/ServiceJson.h"

using namespace llvm;
namespace accord::service {
namespace {

constexpr StringRef kStarts[] = {"plain", "torchrun", "megatron"};
constexpr StringRef kPhases[] = {"modelling", "queued", "running", "stopping", "complete", "failed", "cancelled"};
constexpr StringRef kStates[] = {"intended", "submitted", "running", "stopping", "ended"};
constexpr StringRef kOutcomes[] = {"none", "succeeded", "failed", "stopped", "lost", "refused"};
constexpr StringRef kRoles[] = {"viewer", "submitter", "operator"};

template <typename E> void describeWord(JsonVisitor &v, E &value, ArrayRef<StringRef> words, StringLiteral expected) {
  size_t index = llvm::to_underlying(value);
  v.word(index, words, expected);
  if (v.reads())
    value = static_cast<E>(index);
}

template <typename E> std::string_view wordOf(E value, ArrayRef<StringRef> words) {
  size_t index = llvm::to_underlying(value);
  return index < words.size() ? std::string_view(words[index]) : "unknown";
}

template <typename E> std::optional<E> valueOf(std::string_view name, ArrayRef<StringRef> words) {
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == StringRef(name))
      return static_cast<E>(i);
  return std::nullopt;
}

constexpr NumberRange kPositive{0, std::numeric_limits<double>::infinity(), true}, kMoment{0, kMaxTime},
    kSpan{0, kMaxSpan};
constexpr IntegerRange kDevices{1, kMaxServedDevices};

void name(JsonVisitor &v, std::string &value) { v.text(value, "^[A-Za-z0-9_.-]{1,60}$"); }
void path(JsonVisitor &v, std::string &value) { v.text(value, "^/"); }

/// "rigid" is moldable with one number of devices.
void describeElasticity(JsonFields &f, Submission &submission) {
  constexpr size_t kRigid = 0, kMoldable = 1, kMalleable = 2;
  bool isMoldable = submission.elasticity == jobs::Elasticity::Moldable;
  bool isRigid = isMoldable && submission.maxDevices > 0 && submission.minDevices == submission.maxDevices;
  size_t index = isRigid ? kRigid : isMoldable ? kMoldable : kMalleable;
  f.visit("elasticity", false, isRigid || !isMoldable, [&](JsonVisitor &v) {
    v.word(index, {"rigid", "moldable", "malleable"}, "expected rigid, moldable or malleable");
  });
  if (!f.reads())
    return;
  submission.elasticity = index == kMalleable ? jobs::Elasticity::Malleable : jobs::Elasticity::Moldable;
  if (index != kRigid || isRigid)
    return;
  if (!f.has("max_devices"))
    submission.maxDevices = submission.minDevices;
  else if (!f.has("min_devices"))
    submission.minDevices = submission.maxDevices;
  f.check("elasticity", submission.minDevices == submission.maxDevices,
          "min_devices and max_devices of a rigid job differ");
}

} // namespace

void describe(JsonVisitor &v, Start &start) { describeWord(v, start, kStarts, "expected plain, torchrun or megatron"); }
void describe(JsonVisitor &v, JobPhase &phase) { describeWord(v, phase, kPhases, "expected a phase of a job"); }
void describe(JsonVisitor &v, JobRunRecord::State &state) {
  describeWord(v, state, kStates, "expected a state of a run");
}
void describe(JsonVisitor &v, JobRunRecord::Outcome &outcome) {
  describeWord(v, outcome, kOutcomes, "expected an outcome of a run");
}
void describe(JsonVisitor &v, Role &role) { describeWord(v, role, kRoles, "expected viewer, submitter or operator"); }

void describe(JsonFields &f, MeasuredConfiguration &measured) {
  f.field("device_type", measured.deviceType)
      .field("devices", measured.devices, kDevices)
      .about("samples a second")
      .field("samples_per_s", measured.rate, kPositive);
}

void describe(JsonFields &f, Submission &submission) {
  f.field("name", submission.name, name).about("empty: that of the token").maybe("tenant", submission.tenant);
  f.about("words").field("command", submission.command);
  f.maybe("start", submission.start).maybe("directory", submission.directory, path);
  f.maybe("environment", submission.environment);
  f.about("descriptions of the training by relative path").maybe("files", submission.files);
  f.about("the file that describes it").maybe("main", submission.main).maybe("train", submission.train);
  f.maybe("measured", submission.measured);
  f.about("its whole work; left out: what `train` says")
      .maybe("samples", submission.samples, NumberRange{0, kMaxSamples});
  f.about("of `samples`, those that a checkpoint has before its first run")
      .maybe("done", submission.done, NumberRange{0, kMaxSamples});
  f.about("URL of its metrics for Prometheus; {node} is the first node of its run");
  f.maybe("progress_from", submission.progressFrom);
  f.about("which of them are its samples").maybe("progress_metric", submission.progressMetric);
  f.about("seconds since 1970").maybe("deadline_s", submission.deadline, kMoment);
  f.about("seconds since 1970").maybe("due_s", submission.due, kMoment);
  f.about("dollars a second after `due_s`").maybe("late_price_per_s", submission.latePrice, kSpan);
  f.maybeIf(submission.priority != 1, "priority", submission.priority, NumberRange{0, kMaxSpan, true});
  f.maybeIf(submission.minDevices != 1, "min_devices", submission.minDevices, kDevices);
  f.maybe("max_devices", submission.maxDevices, IntegerRange{0, kMaxServedDevices});
  describeElasticity(f, submission);
  f.about("seconds until it makes progress after a start")
      .maybeIf(submission.restart >= 0, "restart_s", submission.restart, kSpan);
  f.about("seconds between the signal to save and the end of a run")
      .maybeIf(submission.notice != 30, "notice_s", submission.notice, kSpan);
  f.maybeIf(submission.maxFailures != 3, "max_failures", submission.maxFailures, IntegerRange{1, 1'000'000});
  f.maybe("device_types", submission.deviceTypes);
  f.about("jobs that have to be complete before it starts").maybe("after", submission.after, kFromOne);
  f.about("a second submission with the same key is the first").maybe("key", submission.key);
}

void describe(JsonFields &f, ProgressPoint &point) { f.field("time_s", point.time).field("samples", point.samples); }

void describe(JsonFields &f, JobProgressState &progress) {
  f.maybe("samples", progress.samples).maybe("saved", progress.saved).maybe("reported_s", progress.reported);
  f.maybe("samples_per_s", progress.rate);
  f.about("of an interval with 90 % confidence").maybe("samples_per_s_low", progress.rateLow);
  f.about("of an interval with 90 % confidence").maybe("samples_per_s_high", progress.rateHigh);
  f.maybe("batch", progress.batch).maybe("noise", progress.noise, kAnyNumber).maybe("loss", progress.loss, kAnyNumber);
  f.about("of the runs that ended, thinned out").maybe("history", progress.history);
}

void describe(JsonFields &f, ServedJob &job) {
  f.field("id", job.id, kFromOne).field("submission", job.submission).field("phase", job.phase);
  f.maybe("reason", job.reason).maybe("submitted_s", job.submitted).maybe("started_s", job.started);
  f.maybe("ended_s", job.ended).maybe("samples", job.samples).field("progress", job.progress);
  f.maybe("runs", job.runs).maybe("failures", job.failures).maybe("user", job.user);
}

void describe(JsonFields &f, JobRunRecord &run) {
  f.field("job", run.job, kFromOne).field("number", run.number, kFromOne);
  f.field("state", run.state).field("outcome", run.outcome).field("task", run.task).maybe("engine_id", run.engineId);
  f.field("device_type", run.deviceType).field("devices", run.devices).maybe("devices_per_node", run.devicesPerNode);
  f.maybe("configuration", run.configuration).maybe("plan", run.plan).field("nodes", run.nodes);
  f.maybe("planned_s", run.planned).maybe("planned_end_s", run.plannedEnd);
  f.maybe("intended_s", run.intended).maybe("started_s", run.started).maybe("stopping_s", run.stopping);
  f.maybe("ended_s", run.ended).maybe("samples_at_start", run.samplesAtStart);
  f.maybe("samples_at_end", run.samplesAtEnd).maybeIf(run.exitCode != -1, "exit_code", run.exitCode, kAnyInteger);
  f.maybe("reason", run.reason);
}

void describe(JsonFields &f, ServiceEvent &event) {
  f.field("number", event.number).field("time_s", event.time).field("kind", event.kind);
  f.maybe("job", event.job).maybe("tenant", event.tenant).maybe("who", event.who).field("text", event.text);
}

std::string_view nameOf(Start start) { return wordOf(start, kStarts); }
std::string_view nameOf(JobPhase phase) { return wordOf(phase, kPhases); }
std::optional<JobPhase> jobPhase(std::string_view name) { return valueOf<JobPhase>(name, kPhases); }
std::string_view nameOf(JobRunRecord::State state) { return wordOf(state, kStates); }
std::string_view nameOf(JobRunRecord::Outcome outcome) { return wordOf(outcome, kOutcomes); }
std::string_view nameOf(Role role) { return wordOf(role, kRoles); }
std::optional<Role> roleNamed(std::string_view name) { return valueOf<Role>(name, kRoles); }

} // namespace accord::service
