#include "lib/comparison/output/ClusterOutput.h"
#include "lib/comparison/output/Shares.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord::comparison {
namespace {

struct ShareDocument {
  std::string name;
  double planned = 0, measured = 0;
};
struct ExchangeDocument {
  std::string purpose, kind, kernel;
  std::vector<int64_t> ranks;
  int64_t calls = 0, aligned = 0, bytes = 0;
  double transfer = 0, waiting = 0, exposed = 0, exposedWaiting = 0;
};
struct PlannedDocument {
  std::string purpose;
  std::vector<int64_t> ranks;
  int64_t bytes = 0;
  double seconds = 0, exposed = 0;
};
struct OperationDocument {
  std::string name, part, workClass, match, call;
  double planned = 0, measured = 0;
  int64_t executions = 0, calls = 0, missing = 0;
};
struct UnplannedDocument {
  std::string name, workClass, part;
  double seconds = 0;
  int64_t calls = 0;
};
struct RankDocument {
  int64_t rank = 0, stage = 0, replica = 0, tensor = 0;
  std::string trace, step, device;
  std::vector<std::string> layers;
  double measured = 0, computation = 0, layerExchanges = 0, waitedFor = 0;
  std::vector<ShareDocument> shares;
  std::vector<PlannedDocument> planned;
  std::vector<ExchangeDocument> exchanges;
  std::vector<WorkRow> work;
  std::vector<OperationDocument> operations;
  std::vector<UnplannedDocument> unplanned;
};
struct FindingDocument {
  std::string kind, text;
  double seconds = 0;
  std::vector<int64_t> ranks;
};
struct Document {
  std::string model, cluster, job;
  int64_t devices = 0, stages = 1, replicas = 1, tensor = 1, microbatches = 1;
  double planned = 0, measured = 0, explained = 0;
  std::vector<ShareDocument> shares;
  std::vector<FindingDocument> findings;
  std::vector<RankDocument> ranks;
  std::vector<LinkRow> links;
  std::vector<std::string> notes;
};

Words kinds() {
  Words words;
  for (unsigned kind = 0; kind < kCommunicationKinds; ++kind)
    words.words.push_back(nameOf(static_cast<CommunicationKind>(kind)));
  return words;
}
Words purposes() {
  Words words;
  for (unsigned purpose = 0; purpose < kPurposes; ++purpose)
    words.words.push_back(nameOf(static_cast<Purpose>(purpose)));
  return words;
}
Words findingKinds() {
  Words words;
  for (unsigned kind = 0; kind < kFindingKinds; ++kind)
    words.words.push_back(nameOf(static_cast<FindingKind>(kind)));
  return words;
}

void describeShare(JsonFields &f, ShareDocument &share) {
  f.field("name", share.name)
      .about("with the collectives inside of layers")
      .field("planned_s", share.planned, kAnyNumber)
      .field("measured_s", share.measured);
}
void describePlanned(JsonFields &f, PlannedDocument &one) {
  f.field("purpose", one.purpose, purposes())
      .about("that take part")
      .field("ranks", one.ranks)
      .about("of a step, of whole tensors; absent: the plan does not say")
      .maybe("bytes", one.bytes)
      .about("of a step, hidden or not; absent: it is in the passes")
      .maybe("seconds_s", one.seconds)
      .about("what nothing hides")
      .maybe("exposed_s", one.exposed);
}
void describeExchange(JsonFields &f, ExchangeDocument &one) {
  f.field("purpose", one.purpose, purposes())
      .field("kind", one.kind, kinds())
      .about("that take part; of messages the one that sends, then the one that receives")
      .field("ranks", one.ranks)
      .about("of the first call")
      .field("kernel", one.kernel)
      .field("calls", one.calls)
      .about("calls that were seen on another rank, too: only of these waiting is known")
      .field("aligned", one.aligned)
      .about("of a step, of whole tensors; absent: the trace does not say")
      .maybe("bytes", one.bytes)
      .about("of its kernels, from when the last rank came")
      .field("transfer_s", one.transfer)
      .about("of its kernels, until the last rank came")
      .field("waiting_s", one.waiting)
      .about("of both, what nothing hides")
      .field("exposed_s", one.exposed)
      .about("of exposed_s, waiting")
      .field("exposed_waiting_s", one.exposedWaiting);
}
void describeWork(JsonFields &f, WorkRow &row) {
  std::string workClass = nameOf(row.workClass), part = nameOf(row.part);
  f.about("as the trace names it")
      .field("name", row.name)
      .field("class", workClass)
      .field("part", part)
      .about("the first")
      .maybe("kernel", row.kernel)
      .field("calls", row.calls)
      .about("what belongs to it alone")
      .field("seconds_s", row.exposed);
}
void describeOperation(JsonFields &f, OperationDocument &row) {
  f.about("of the plan")
      .field("name", row.name)
      .field("part", row.part)
      .field("class", row.workClass)
      .about("how it was recognized, as in compare")
      .field("match", row.match, Words{{"name", "sequence", "shapes", "order", "none"}})
      .about("of a step")
      .field("planned_s", row.planned)
      .about("of a step, what belongs to it alone")
      .field("measured_s", row.measured)
      .about("of the plan, in a step")
      .field("executions", row.executions)
      .about("of the trace, in a step")
      .field("calls", row.calls)
      .about("executions that the trace does not have")
      .maybe("missing", row.missing)
      .about("the first call")
      .maybe("call", row.call);
}
void describeUnplanned(JsonFields &f, UnplannedDocument &one) {
  f.about("as the trace names it")
      .field("name", one.name)
      .field("class", one.workClass)
      .field("part", one.part)
      .field("seconds_s", one.seconds)
      .field("calls", one.calls);
}
void describeRank(JsonFields &f, RankDocument &rank) {
  f.field("rank", rank.rank)
      .about("of the pipeline")
      .field("stage", rank.stage)
      .field("replica", rank.replica)
      .about("within the devices that share operations")
      .field("tensor", rank.tensor)
      .about("of the stage")
      .field("layers", rank.layers)
      .about("path")
      .field("trace", rank.trace)
      .about("mark of the profiler; absent where the trace has none")
      .maybe("step", rank.step)
      .about("as the trace names it")
      .maybe("device", rank.device)
      .about("the step")
      .field("measured_s", rank.measured)
      .field("computation_s", rank.computation)
      .about("exposed collectives inside of layers, which the parts have within the passes")
      .field("layer_exchanges_s", rank.layerExchanges)
      .about("the most that another rank waited, beside no computation, until this one came to collectives")
      .field("waited_for_s", rank.waitedFor)
      .about("their sums are the planned and the measured step")
      .field("parts", rank.shares, describeShare)
      .field("planned_exchanges", rank.planned, describePlanned)
      .field("exchanges", rank.exchanges, describeExchange)
      .about("longest first")
      .field("work", rank.work, describeWork)
      .about("with --from: in the order of the plan; without the update and collectives")
      .maybe("operations", rank.operations, describeOperation)
      .about("with --from: calls that no operation of the plan is, longest first")
      .maybe("unplanned", rank.unplanned, describeUnplanned);
}
void describeFinding(JsonFields &f, FindingDocument &finding) {
  f.field("kind", finding.kind, findingKinds())
      .about("of a step of its ranks")
      .field("seconds_s", finding.seconds)
      .field("ranks", finding.ranks)
      .field("text", finding.text);
}
void describeLink(JsonFields &f, LinkRow &row) {
  std::string kind = nameOf(row.kind), level = row.isIntraNode ? "intra-node" : "inter-node";
  f.field("kind", kind, kinds())
      .about("whether all ranks are in one node")
      .field("level", level, Words{{"intra-node", "inter-node"}})
      .about("that take part")
      .field("devices", row.devices)
      .about("of a call, of the whole tensor")
      .field("bytes", row.bytes)
      .field("calls", row.calls)
      .about("mean transfer of a call")
      .field("seconds_s", row.seconds)
      .about("bytes a second over the link of each device, as nccl-tests defines it")
      .field("bus_bandwidth", row.busBandwidth);
}
void describeDocument(JsonFields &f, Document &d) {
  f.head("compare")
      .constant("kind", "cluster", "is no comparison of a cluster")
      .field("model", d.model)
      .field("cluster", d.cluster)
      .field("job", d.job)
      .about("of the plan")
      .field("devices", d.devices)
      .about("of the pipeline")
      .field("stages", d.stages)
      .field("data_parallel", d.replicas)
      .field("tensor_parallel", d.tensor)
      .field("microbatches", d.microbatches)
      .about("the step")
      .field("planned_s", d.planned)
      .about("the step, mean of the ranks")
      .field("measured_s", d.measured)
      .about("share of the measured steps that has a name")
      .field("explained", d.explained, kShare)
      .about("means over the ranks that are given")
      .field("parts", d.shares, describeShare)
      .about("what explains the difference, by size")
      .field("findings", d.findings, describeFinding)
      .about("those that are given")
      .field("ranks", d.ranks, describeRank)
      .about("what exchanges achieved, where several of their ranks are given")
      .field("links", d.links, describeLink)
      .field("notes", d.notes);
}

std::vector<ShareDocument> documentOf(const ShareSeconds &planned, const ShareSeconds &measured) {
  std::vector<ShareDocument> all;
  for (unsigned share = 0; share < kStepShares; ++share)
    all.push_back({nameOf(static_cast<StepShare>(share)), planned[share], std::max(0.0, measured[share])});
  return all;
}

RankDocument documentOf(const RankComparison &rank) {
  RankDocument made;
  made.rank = rank.plan.rank, made.stage = rank.plan.stage, made.replica = rank.plan.replica;
  made.tensor = rank.plan.tensor, made.layers = rank.plan.layers;
  made.trace = rank.trace, made.step = rank.step, made.device = rank.device;
  made.measured = rank.seconds, made.computation = rank.computation(), made.waitedFor = rank.waitedFor;
  made.layerExchanges = rank.layerExchanges;
  made.shares = documentOf(rank.plan.shares, rank.shares);
  for (const PlannedExchange &one : rank.plan.exchanges) {
    PlannedDocument planned{nameOf(one.purpose), one.ranks, 0, one.seconds, one.exposed};
    for (const auto &[kind, bytes] : one.bytes)
      planned.bytes += bytes;
    made.planned.push_back(std::move(planned));
  }
  for (const ExchangeRow &row : rank.exchanges)
    made.exchanges.push_back({nameOf(row.purpose), nameOf(row.kind), row.kernel, row.ranks, row.calls, row.aligned,
                              row.bytes, row.transfer(), row.waiting, row.exposed, row.exposedWaiting});
  made.work = rank.work;
  if (!rank.operations)
    return made;
  const Comparison &both = *rank.operations;
  for (const Row &row : both.rows)
    made.operations.push_back({nameOf(both, row), partOf(both, row), nameOf(classOf(both, row)), nameOf(row.match),
                               row.call, row.planned, row.exposed, row.executions, row.calls, row.missing});
  for (const Extra &one : both.extra)
    made.unplanned.push_back({one.name, nameOf(one.workClass), nameOf(one.part), one.exposed, one.calls});
  return made;
}

} // namespace

json::Value toJson(const ClusterComparison &comparison) {
  const PlannedCluster &plan = comparison.plan;
  Document d;
  d.model = plan.model, d.cluster = plan.cluster, d.job = plan.job;
  d.devices = static_cast<int64_t>(plan.ranks.size()), d.stages = plan.stages, d.replicas = plan.replicas;
  d.tensor = plan.tensor, d.microbatches = plan.microbatches;
  d.planned = plan.seconds, d.measured = comparison.seconds;
  d.explained = std::clamp(explainedShare(comparison), 0.0, 1.0);
  d.shares = documentOf(comparison.planned, comparison.measured);
  for (const Finding &finding : comparison.findings)
    d.findings.push_back({nameOf(finding.kind), finding.text, finding.seconds, finding.ranks});
  for (const RankComparison &rank : comparison.ranks)
    d.ranks.push_back(documentOf(rank));
  d.links = linkRows(comparison);
  d.notes = comparison.notes;
  return toDocument(d, describeDocument);
}

std::string clusterPage(const ClusterComparison &comparison) {
  json::Value document = toJson(comparison);
  return pageOf(Page::ClusterComparison, comparison.plan.job + " on " + comparison.plan.cluster,
                jsonText(document) + "\n", document);
}

json::Value clusterSchema() { return schemaOf<Document>(describeDocument); }

} // namespace accord::comparison
