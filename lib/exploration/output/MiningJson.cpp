#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
namespace accord {
namespace {

constexpr IntegerRange kPositive{.min = 1};
constexpr const char *kRatio = "minimax_regret of ";
constexpr auto orNull = [](JsonVisitor &v, double &value) { v.numberOrNull(value); };

/// A flag as one of two words: that of false, that of true.
void oneOfTwo(JsonVisitor &v, bool &flag, std::array<llvm::StringRef, 2> words, llvm::StringLiteral expected) {
  size_t index = flag;
  v.word(index, words, expected);
  flag = index == 1;
}

/// Null where it is not finite.
std::optional<double> finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

/// Values by parameter, as written.
auto chosenOf(const MiningPlan &plan) {
  return [&plan](JsonVisitor &v, std::vector<std::string> &chosen) {
    std::map<std::string, std::string> byName;
    for (size_t p = 0; p < chosen.size(); ++p)
      byName[plan.parameters[p].name] = chosen[p];
    visitValue(v, byName);
    if (v.reads() && !byName.empty()) // a machine that is compared with has none
      for (const DesignParameter &parameter : plan.parameters)
        chosen.push_back(byName[parameter.name]);
  };
}

void describeSearch(JsonFields &f, MiningResult &result) {
  bool timed = result.seconds > 0;
  f.field("strategy", result.strategy)
      .about("designs evaluated")
      .field("evaluations", result.evaluations)
      .about("bounds of sets of designs that were computed")
      .field("bounds", result.bounds)
      .about("compared by time; depends on the machine")
      .maybe("processor_s", result.seconds)
      .about("null: no design")
      .field("value", result.value, orNull)
      .about("no design of the space has a smaller value; 0: not known")
      .field("bound", result.bound, orNull)
      .computed("gap", [&] { return finite(result.gap()); })
      .about("what the bound follows from")
      .field("proof", result.proof)
      .about("no design has a smaller value as designs are evaluated; the bound may be below, for another schedule")
      .field("is_optimal", result.isOptimal)
      .about("whenever incumbent or bound changed")
      .field("convergence", result.convergence, [&](JsonFields &g, ConvergencePoint &moment) {
        g.field("evaluations", moment.evaluations)
            .field("bounds", moment.bounds)
            .about("compared by time: since the search began; depends on the machine")
            .maybeIf(timed, "processor_s", moment.seconds)
            .field("incumbent", moment.incumbent, orNull)
            .field("bound", moment.bound, orNull);
      });
}

Words scheduleWords() {
  Words all;
  for (const ScheduleModel *one : scheduleModels())
    all.words.push_back(one->name);
  return all;
}

void describePlacement(JsonFields &f, MinedPlacement &placement) {
  f.field("devices", placement.devices, kPositive)
      .field("tensor_parallel", placement.tensor, kPositive)
      .field("sequence_parallel", placement.sequence)
      .about("device groups in a row")
      .field("pipeline_parallel", placement.pipeline, kPositive)
      .field("data_parallel", placement.data, kPositive)
      .field("zero", placement.zero, IntegerRange{0, 3})
      .field("schedule", placement.schedule, scheduleWords())
      .about("virtual pipeline stages of a device")
      .field("virtual_stages", placement.virtualStages, kPositive)
      .field("microbatch", placement.microbatch, kPositive)
      .field("microbatches", placement.microbatches, kPositive)
      .about("layers by policy")
      .field("recompute", placement.recomputePolicies);
}

void describeStep(JsonFields &f, MinedStep &step) {
  f.field("job", step.job)
      .about("micro-batch and recomputation, and degrees on a cluster")
      .field("alternative", step.alternative)
      .field("batch", step.batch, kPositive)
      .field("step_time_s", step.step)
      .about("samples a second")
      .computed("throughput", [&] { return step.batch / step.step; })
      .field("energy_J", step.joules)
      .field("memory_bytes", step.bytes)
      .about("of the metric")
      .field("value", step.value, orNull)
      .about("value of the job's own best design")
      .maybe("individual_best", step.ownBest)
      .about("what it counts in the sum, where that is not 1")
      .maybeIf(step.weight != 1, "weight", step.weight, NumberRange{.open = true})
      .about("on a cluster: degrees, micro-batches, and layers by what is computed again")
      .maybe("placement", step.placement, describePlacement)
      .about("layers whose weights have zeros: n of every m along the reduction are kept")
      .maybe("sparsity", step.zeros, [](JsonFields &g, MinedZeros &zeros) {
        g.field("layer", zeros.layer)
            .field("n", zeros.kept, kPositive)
            .field("m", zeros.of, kPositive)
            .about("along the outputs, too")
            .maybe("transposable", zeros.transposable);
      });
}

/// The area that is printed as so many mm2.
SquareMetres areaOf(double squareMillimetres) {
  SquareMetres area{squareMillimetres * 1e-6};
  while (area.squareMillimetres() < squareMillimetres)
    area.value = std::nextafter(area.value, INFINITY);
  while (area.squareMillimetres() > squareMillimetres)
    area.value = std::nextafter(area.value, 0);
  return area;
}

auto designOf(const MiningPlan &plan) {
  return [&plan](JsonFields &f, MinedDesign &design) {
    Machine &machine = design.machine;
    double area = machine.area.squareMillimetres();
    f.about("common, the job that it is for, the strategy that found it, or its number on the front")
        .field("name", design.name)
        .about("value by parameter, as written")
        .field("chosen", design.chosen, chosenOf(plan))
        .maybeIf(area > 0, "area_mm2", area)
        .maybeIf(machine.tdp.value > 0, "tdp_W", machine.tdp)
        .field("steps", design.steps, describeStep);
    if (f.reads())
      machine.area = areaOf(area);
  };
}

void describeStages(JsonFields &f, MinedStages &stages, const MiningPlan &plan) {
  f.about("of the metric; area_time with the mean area of the devices")
      .field("value", stages.value)
      .about("the same of the best common design: not less")
      .field("common", stages.common)
      .about("no stages on any designs of the space have a smaller value; 0: not known")
      .field("bound", stages.bound)
      .computed("gap", [&] { return stages.bound > 0 ? std::optional(stages.gap()) : std::nullopt; })
      .about("what the bound follows from")
      .field("proof", stages.proof)
      .about("designs for stages, of each tensor degree and micro-batch")
      .field("candidates", stages.candidates)
      .about("designs evaluated for classes and mixes of layers")
      .field("evaluations", stages.evaluations)
      .about("bounds of sets of designs that were computed for them")
      .field("bounds", stages.bounds)
      .field("step", stages.step, describeStep)
      .field("designs", stages.designs, designOf(plan))
      .about("of best.accel, where it describes these designs")
      .maybe("best_accel_sha256", stages.sha256)
      .field("stages", stages.stages, [&](JsonFields &g, MinedStage &stage) {
        std::string design = g.writes() ? stages.designs[stage.design].name : "";
        g.about("name of one of the designs").field("design", design);
        if (g.reads())
          stage.design =
              llvm::find_if(stages.designs, [&](auto &one) { return one.name == design; }) - stages.designs.begin();
        g.check("design", !g.reads() || stage.design < stages.designs.size(), "no such design")
            .field("first_layer", stage.first)
            .field("last_layer", stage.last)
            .field("layers", stage.layers, kPositive)
            .field("devices", stage.devices, kPositive)
            .about("of a micro-batch")
            .field("forward_s", stage.forward)
            .about("with gradients of weights and what is computed again")
            .field("backward_s", stage.backward)
            .about("after the last micro-batch: exchange of gradients, update")
            .field("step_tail_s", stage.finish)
            .field("memory_bytes", stage.bytes);
      });
}

void describeLimits(JsonFields &f, JobLimits &limits) {
  f.field("job", limits.job)
      .field("fractions", limits.shares,
             [](JsonFields &g, LimitShare &one) {
               g.about("a core, the bandwidth of a memory, the launch of kernels or the host, by its name")
                   .field("resource", one.resource)
                   .field("fraction", one.share, NumberRange{0, 1.000001});
             })
      .about("cores that keep operations waiting which have no slack where cores are unlimited")
      .maybe("delays", limits.delays, [](JsonFields &g, CoreDelay &delay) {
        g.field("core", delay.core)
            .about("each counted once, however often it runs")
            .field("operations", delay.operations, kPositive)
            .about("that they begin later for it, in a step")
            .field("seconds", delay.seconds);
      });
}

void describeRequirement(JsonFields &f, RequirementSensitivity &one, const MiningPlan &plan) {
  f.field("requirement", one.text)
      .about("share of the limit; not there: it is none")
      .maybeIf(one.used > 0, "utilization", one.used)
      .about("the numbers of used, with their units")
      .maybeIf(one.used > 0, "usage", one.figures)
      .about("what is limited, where that is one of these alone")
      .maybeIf(!one.figure.empty(), "figure", one.figure, Words{{"area", "tdp"}})
      .about("in mm2 of an area, in W of a tdp")
      .maybeIf(!one.figure.empty(), "limit", one.limit)
      .about("false: it is a minimum")
      .maybeIf(!one.figure.empty(), "is_maximum", one.atMost)
      .about("the best design with this limit times factor, searched for with twice the effort of the search")
      .maybe("relaxed", one.relaxed, [&](JsonFields &g, MiningResult &relaxed) {
        g.computed("factor", [] { return kRelaxationFactor; })
            .field("value", relaxed.value, orNull)
            .about("no design has a smaller value then, by any schedule")
            .field("bound", relaxed.bound, orNull)
            .about("value is the minimum as designs are evaluated")
            .field("is_optimal", relaxed.isOptimal)
            .field("chosen", one.chosen, chosenOf(plan));
      });
}

/// Of one parameter.
void describeChoices(JsonFields &f, std::vector<ChoiceSensitivity> &choices, MiningPlan &plan) {
  bool isOne = f.reads() || f.writes();
  size_t p = isOne ? &choices - plan.findings.parameters.data() : 0;
  std::vector<double> &gains = plan.findings.bottleneckGains;
  double gain = p < gains.size() ? gains[p] : 0;
  static const std::vector<std::string> none;
  const std::vector<std::string> &labels = isOne && p < plan.parameters.size() ? plan.parameters[p].labels : none;
  const auto &best = plan.best.result.best;
  f.computed("parameter", [&] { return plan.parameters[p].name; })
      .about("by what share a better choice of this alone shortens the step at most")
      .maybeIf(p < gains.size(), "bottleneck_gain", gain, kShare);
  if (f.reads() && f.has("bottleneck_gain"))
    gains.resize(p + 1), gains[p] = gain;
  f.field("choices", choices, [&](JsonFields &g, ChoiceSensitivity &one) {
    std::string label = g.writes() ? labels[one.choice] : "";
    g.field("choice", label);
    if (g.reads())
      one.choice = llvm::find(labels, label) - labels.begin(), one.searched = g.has("best");
    g.check("choice", !g.reads() || one.choice < labels.size(), "no such choice")
        .computedIf(
            best && (*best)[p] == one.choice, "chosen", [] { return true; },
            [](JsonVisitor &v, bool &chosen) { v.flag(chosen), v.notEmpty(); })
        .about("of the design that differs in this alone; null: it may not be")
        .field("value", one.value, orNull)
        .about("it may not be")
        .maybe("reason", one.reason)
        .about("minimum value that was found of all designs with this choice")
        .maybeIf(one.searched, "best", one.best, orNull)
        .about("no design with this choice has a smaller value, by any schedule; null: none may be")
        .maybeIf(one.searched, "bound", one.bound, orNull)
        .about("best is the minimum as designs are evaluated")
        .maybeIf(one.searched, "is_optimal", one.isOptimal);
  });
}

/// What is not known of a space takes no field.
void describeEvaluatedDesign(JsonFields &f, EvaluatedDesign &design, EvaluatedDesigns &all, const MiningPlan &plan) {
  std::vector<std::string> chosen;
  if (f.writes())
    chosen = labelsOf(plan.parameters, design.design);
  f.about("value by parameter, as written").field("chosen", chosen, chosenOf(plan));
  if (f.reads())
    for (const auto &[parameter, label] : zip(plan.parameters, chosen))
      design.design.push_back(find(parameter.labels, label) - parameter.labels.begin());
  f.check("chosen", !f.reads() || isValidDesign(design.design, plan.parameters),
          "expected one choice of each parameter")
      .field("value", design.value);
  auto cost = [&](StringRef name, StringLiteral key, auto toDocumentUnit, auto fromDocumentUnit) {
    auto at = find(all.costs, name);
    double number = f.writes() && at != all.costs.end() ? toDocumentUnit(design.costs[at - all.costs.begin()]) : 0;
    f.maybeIf(at != all.costs.end(), key, number);
    if (f.reads() && f.has(key)) {
      if (at == all.costs.end())
        all.costs.push_back(name.str());
      design.costs.push_back(fromDocumentUnit(number));
    }
  };
  cost(
      "area", "area_mm2", [](double area) { return SquareMetres{area}.squareMillimetres(); },
      [](double area) { return areaOf(area).value; });
  cost("tdp", "tdp_W", [](double watts) { return watts; }, [](double watts) { return watts; });
  f.about("no other evaluated design is as good in value, area and tdp")
      .field("non_dominated", design.nonDominated)
      .about("by job, in the order of the best design's")
      .maybe("steps", design.steps, [](JsonFields &g, EvaluatedStep &step) {
        g.field("step_time_s", step.seconds).maybeIf(step.joules > 0, "energy_J", step.joules);
      });
}

void describeEvaluated(JsonFields &f, EvaluatedDesigns &evaluated, const MiningPlan &plan) {
  f.about("evaluated designs that satisfy the requirements and have room for the jobs")
      .field("count", evaluated.count)
      .about("of these, designs that no other one of them is as good as in value, area and tdp; of the designs that "
             "were not evaluated nothing is said")
      .field("non_dominated", evaluated.nonDominated)
      .about("there were more of them at a time than the search keeps")
      .field("is_truncated", evaluated.truncated)
      .about("by value: non-dominated ones, the best with each choice of each parameter, and others drawn evenly")
      .field("designs", evaluated.designs,
             [&](JsonFields &g, EvaluatedDesign &design) { describeEvaluatedDesign(g, design, evaluated, plan); })
      .check("designs",
             !f.reads() ||
                 all_of(evaluated.designs,
                        [&](const EvaluatedDesign &one) { return one.costs.size() == evaluated.costs.size(); }),
             "expected area and tdp of all designs alike");
}

void describeFront(JsonFields &f, MinedParetoFront &mined, const MiningPlan &plan) {
  ParetoFront &front = mined.front;
  std::vector<std::string> objectives{"value"};
  objectives.insert(objectives.end(), front.costs.begin(), front.costs.end());
  f.about("value, area, tdp")
      .field("objectives", objectives, Words{{"value", "area", "tdp"}})
      .check("objectives", !objectives.empty(), "expected value");
  if (f.reads() && !objectives.empty())
    front.costs.assign(objectives.begin() + 1, objectives.end());
  f.about("every design of the space is in everything within this share of one of them, as designs are evaluated; 0: "
          "the whole front; null: not known")
      .field("epsilon", front.within, orNull)
      .about("the same whatever schedules there are of the designs that are not listed")
      .field("epsilon_upper_bound", front.possibly, orNull)
      .field("evaluations", front.evaluations)
      .field("bounds", front.bounds)
      .field("proof", front.proof)
      .about("by value")
      .field("designs", mined.designs, [&](JsonFields &g, MinedDesign &design) {
        size_t at = g.reads() || g.writes() ? &design - mined.designs.data() : 0;
        if (!g.writes())
          front.points.resize(std::max(front.points.size(), at + 1));
        designOf(plan)(g, design);
        g.field("value", front.points[at].value, orNull);
      });
}

void describeMining(JsonFields &f, MiningPlan &plan) {
  int64_t schema = 2;
  bool ratio = plan.aggregation == "minimax_regret";
  MiningResult &result = plan.best.result;
  MiningFindings &findings = plan.findings;
  auto unit = [&] {
    return ratio                        ? ""
           : plan.metric == "tdp_time"  ? "W s"
           : plan.metric == "energy"    ? "J"
           : plan.metric == "area_time" ? "m2 s"
           : plan.metric != "step_time" ? plan.unit
                                        : "s";
  };
  auto describeAnswer = [&](JsonFields &g, MinedAnswer &answer) {
    g.about("how a design was searched for")
        .field("search", answer.result, describeSearch)
        .about("one design and what the jobs take on it")
        .maybe("design", answer.design, designOf(plan));
  };
  f.field("schema", schema, IntegerRange{2, 2})
      .constant("command", "mine", "expected mine")
      .about("version of accord that wrote this")
      .field("version", plan.version)
      .about("unknown: the search ended before it found a design or proved that there is none")
      .computed("status", [&] { return statusOf(plan); })
      .field("objective", result,
             [&](JsonFields &g, MiningResult &of) {
               std::string metric = (ratio ? kRatio : "") + plan.metric, printed = unit();
               g.about("step_time, tdp_time, energy, area_time, an expression that is minimized, or minimax_regret of "
                       "one of them")
                   .field("name", metric)
                   .about("null: no design")
                   .field("value", of.value, orNull)
                   .field("unit", printed);
               if (g.reads()) {
                 llvm::StringRef rest = metric;
                 plan.aggregation = rest.consume_front(kRatio) ? "minimax_regret" : "";
                 plan.metric = rest, plan.unit = printed;
               }
             })
      .field("bound", result,
             [&](JsonFields &g, MiningResult &of) {
               g.field("value", of.bound, orNull).computed("unit", unit).field("proof", of.proof);
             })
      .about("distance to the bound as a share; null: no bound is known")
      .computed("gap", [&] { return result.bound > 0 ? finite(result.gap()) : std::nullopt; })
      .field("space", plan, [](JsonFields &g, MiningPlan &of) {
        g.field("name", of.space)
            .about("their number, exact")
            .field("designs", of.size)
            .field("parameters", of.parameters)
            .field("requirements", of.requirements);
      });
  describeAnswer(f, plan.best);
  f.about("a requirement that no design keeps")
      .maybe("conflict", plan.conflicts,
             [](JsonFields &g, Conflict &conflict) {
               g.field("constraint", conflict.constraint).field("file", conflict.file).field("line", conflict.line);
             })
      .about("several jobs: the best design of each alone")
      .maybe("individual", plan.own, describeAnswer)
      .about("with zeros to choose from: the best design where nothing is zero, by the same search")
      .maybe("dense", plan.dense, describeAnswer)
      .about("other strategies on the same problem")
      .maybe("compared", plan.compared, describeAnswer)
      .about("what the compared strategies had as much of as the chosen one")
      .maybeIf(!plan.compared.empty(), "compared_by", plan.comparedByTime,
               [](JsonVisitor &v, bool &time) {
                 oneOfTwo(v, time, {"evaluations", "time"}, "expected evaluations or time");
               })
      .about("a design for each stage of the pipeline (--stages)")
      .maybe("stages", plan.stages, [&](JsonFields &g, MinedStages &stages) { describeStages(g, stages, plan); })
      .about("of the design, by job: shares of the step, by what binds the operations of its longest path")
      .maybe("limits", findings.limits, describeLimits)
      .about("what the design takes of each requirement's limit")
      .maybe("requirements", findings.requirements,
             [&](JsonFields &g, RequirementSensitivity &one) { describeRequirement(g, one, plan); })
      .about("by parameter: the value of each choice")
      .maybe("sensitivity", findings.parameters,
             [&](JsonFields &g, std::vector<ChoiceSensitivity> &choices) { describeChoices(g, choices, plan); })
      .about("designs that the search evaluated, as many as a page can show")
      .maybeIf(result.evaluated.count > 0, "evaluated", result.evaluated,
               [&](JsonFields &g, EvaluatedDesigns &evaluated) { describeEvaluated(g, evaluated, plan); })
      .about("designs of which none is better in everything")
      .maybe("pareto_front", plan.front, [&](JsonFields &g, MinedParetoFront &front) { describeFront(g, front, plan); })
      .about("a machine that the best design is compared with")
      .maybe("reference", findings.reference, designOf(plan))
      .field("assumptions", plan.assumptions)
      .about("what proves the answer: certificate, and the plans by which its designs are evaluated")
      .maybe("certificate", plan.certificate,
             [](JsonFields &g, CertificateFile &file) { g.field("name", file.name).field("sha256", file.sha256); });
}

} // namespace

SearchStatus statusOf(const MiningPlan &plan) {
  const MiningResult &result = plan.best.result;
  bool found = plan.best.design.has_value();
  return statusOf(found, found && result.bound > 0 ? result.gap() : 1, std::isinf(result.bound));
}

Expected<MiningPlan> miningFromJson(StringRef text, StringRef path) {
  auto read =
      readJsonDocument<MiningPlan>(text, path, "mine", [](const json::Value &value, MiningPlan &plan, json::Path at) {
        return readDocument(value, plan, at, describeMining);
      });
  if (!read)
    return read;
  auto designIn = [&](const MinedDesign &mined) {
    Design design;
    for (const auto &[parameter, label] : zip(read->parameters, mined.chosen))
      design.push_back(find(parameter.labels, label) - parameter.labels.begin());
    return isValidDesign(design, read->parameters) ? std::optional(std::move(design)) : std::nullopt;
  };
  auto setBest = [&](MinedAnswer &answer) {
    if (answer.design)
      answer.result.best = designIn(*answer.design);
  };
  setBest(read->best);
  for_each(read->own, setBest);
  if (read->dense)
    setBest(*read->dense);
  for_each(read->compared, setBest);
  if (read->front)
    for (auto [point, design] : zip(read->front->front.points, read->front->designs))
      point.design = designIn(design).value_or(Design());
  return read;
}

json::Value toJson(const MiningPlan &plan) { return toDocument(plan, describeMining); }
json::Value mineSchema() { return schemaOf<MiningPlan>(describeMining); }

} // namespace accord
