#include "lib/service/http/ViewJson.h"

namespace accord::service {
namespace {

constexpr IntegerRange kTotal{0};
constexpr NumberRange kTimes{0, kMaxTime};
const Words kOutcomeWords{{"succeeded", "failed", "stopped", "lost", "refused", "runs", "planned"},
                          "expected an outcome of a run, runs or planned"};
const Words kNodeWords{{"up", "drained", "down"}, "expected up, drained or down"};

void name(JsonVisitor &v, std::string &value) { v.text(value, "^[A-Za-z0-9_.-]{1,60}$"); }

} // namespace

void describe(JsonFields &f, JobView &view) {
  describe(f, view.job);
  f.about("of its work that is done").field("share", view.share, kShare);
  f.about("seconds of running and waiting").maybeIf(view.timeLeft >= 0, "time_left_s", view.timeLeft);
  f.about("of an interval with 90 % confidence").maybeIf(view.timeLeftLow >= 0, "time_left_low_s", view.timeLeftLow);
  f.about("of an interval with 90 % confidence").maybeIf(view.timeLeftHigh >= 0, "time_left_high_s", view.timeLeftHigh);
  f.about("of its speed from the plan: -0.1 is a tenth slower");
  f.maybeIf(view.deviation != 0, "deviation", view.deviation, kAnyNumber);
  f.about("samples a second, weighted by what they are worth at its batch")
      .maybe("goodput_samples_per_s", view.goodput);
  f.about("where it runs").maybe("device_type", view.deviceType).maybe("devices", view.devices);
  f.about("its parallelism").maybe("plan", view.plan).maybe("nodes", view.nodes);
  f.maybe("planned_start_s", view.plannedStart, kTimes).maybe("planned_end_s", view.plannedEnd, kTimes);
  f.about("why it does not run").maybe("wait", view.wait).maybe("restarts", view.restarts);
  f.about("how far it was when, over all of its runs, thinned out; of one job that is asked for alone");
  f.maybe("history", view.history);
}

void describe(JsonFields &f, RunView &run) {
  f.field("job", run.job, kFromOne).about("left out: it is planned").maybe("run", run.run);
  f.field("name", run.name).maybe("tenant", run.tenant).field("device_type", run.deviceType);
  f.maybe("configuration", run.configuration).field("devices", run.devices, kTotal).maybe("nodes", run.nodes);
  f.field("start_s", run.start, kTimes).about("left out: it runs").maybe("end_s", run.end, kTimes);
  f.field("outcome", run.outcome, kOutcomeWords);
  f.about("left out: not known").maybeIf(run.exitCode >= 0, "exit_code", run.exitCode);
}

void describe(JsonFields &f, NodeView &node) {
  f.field("name", node.name).field("device_type", node.deviceType).field("state", node.state, kNodeWords);
  f.maybe("reason", node.reason).field("devices", node.devices, kTotal).field("used", node.used, kTotal);
  f.maybe("jobs", node.jobs, kFromOne);
}

void describe(JsonFields &f, TypeView &type) {
  f.field("name", type.name).field("devices", type.devices, kTotal).field("up", type.up, kTotal);
  f.field("used", type.used, kTotal);
  f.about("of one device for an hour, in what the first objective counts");
  f.maybeIf(type.price != 0, "price_per_h", type.price, kAnyNumber);
}

void describe(JsonFields &f, TenantView &tenant) {
  f.field("name", tenant.name).field("weight", tenant.weight);
  f.field("running", tenant.running, kTotal).field("queued", tenant.queued, kTotal);
  f.field("devices", tenant.devices, kTotal).field("device_hours", tenant.deviceHours);
  f.about("devices at once, by type; of all types the one without a name").maybe("quota", tenant.quota, kTotal);
}

void describe(JsonFields &f, ClusterView &cluster) {
  f.field("name", cluster.name).field("engine", cluster.engine).field("time_s", cluster.time, kTimes);
  f.about("the engine answers").field("is_healthy", cluster.isHealthy).maybe("health", cluster.health);
  f.field("types", cluster.types).field("nodes", cluster.nodes).field("tenants", cluster.tenants);
  f.about("jobs by phase").field("phases", cluster.phases, kTotal);
  f.maybe("power_w", cluster.watts).maybe("power_limit_w", cluster.wattsLimit);
  f.about("when the plan was made").maybe("planned_s", cluster.planned, kTimes);
  f.about("that this took").maybe("plan_seconds", cluster.planSeconds).maybe("plan_status", cluster.planStatus);
  f.about("share, of the first objective").maybe("plan_gap", cluster.planGap).maybe("objective", cluster.objective);
}

void describe(JsonFields &f, Caller &caller) {
  f.about("of the token").field("name", caller.name).about("left out: it is of all").maybe("tenant", caller.tenant);
  f.field("role", caller.role);
}

void describe(JsonFields &f, ProgressReport &report) {
  constexpr NumberRange kSamples{0, kMaxSamples};
  f.about("that it trained on").maybeIf(report.samples >= 0, "samples", report.samples, kSamples);
  f.about("of them, those that a checkpoint has").maybeIf(report.saved >= 0, "saved", report.saved, kSamples);
  f.about("left out: now").maybe("time_s", report.time, kTimes).maybe("batch", report.batch, kSamples);
  f.about("gradient noise scale, in samples").maybeIf(report.noise != 0, "noise", report.noise, kAnyNumber);
  f.maybeIf(report.loss != 0, "loss", report.loss, kAnyNumber);
}

void describe(JsonFields &f, SubmitAnswer &answer) {
  f.field("id", answer.id, kFromOne).about("false: a job with this key was there").field("is_new", answer.isNew);
}
void describe(JsonFields &f, JobList &list) {
  f.field("jobs", list.jobs).about("`after` of the next page; left out: this is the last one").maybe("next", list.next);
}
void describe(JsonFields &f, RunList &list) { f.field("runs", list.runs); }
void describe(JsonFields &f, EventList &list) { f.field("events", list.events); }
void describe(JsonFields &f, Explanation &explanation) { f.field("sentences", explanation.sentences); }
void describe(JsonFields &f, DrainRequest &request) { f.maybe("reason", request.reason); }
void describe(JsonFields &f, TokenRequest &request) {
  f.field("name", request.of.name, name).about("left out: of all").maybe("tenant", request.of.tenant, name);
  f.field("role", request.of.role).about("left out: never").maybe("expires_s", request.expires, kTimes);
}
void describe(JsonFields &f, TuningRecord &tuning) {
  f.about("left out in a request").maybe("id", tuning.id).field("name", tuning.name, name);
  f.about("left out: that of the token").maybe("tenant", tuning.tenant).about("who kept it").maybe("user", tuning.user);
  f.about("when it was kept").maybe("time_s", tuning.time, kTimes);
  f.about("tune.json as text; left out in lists").maybe("document", tuning.document);
}
void describe(JsonFields &f, TuningList &list) { f.field("tunings", list.tunings); }
void describe(JsonFields &f, TuningAnswer &answer) { f.field("id", answer.id, kFromOne); }
void describe(JsonFields &f, TokenAnswer &answer) { f.about("not shown again").field("token", answer.token); }
void describe(JsonFields &f, HealthAnswer &answer) {
  f.field("status", answer.status).field("version", answer.version);
  f.about("left out: true").maybeIf(!answer.needsToken, "needs_token", answer.needsToken);
}
void describe(JsonFields &f, ApiError &error) {
  f.about("as `accord explain` takes it").field("code", error.code).field("message", error.message);
  f.about("of the request").maybe("key", error.key);
}
void describe(JsonFields &f, ErrorList &list) { f.field("errors", list.errors); }

JobView shownToReaders(JobView view) {
  for (auto &[key, value] : view.job.submission.environment)
    value = "…";
  for (auto &[path, text] : view.job.submission.files)
    text.clear();
  view.job.submission.key.clear();
  return view;
}

} // namespace accord::service
