// Clusters as targets: which one is meant, and how a step is shared among its devices.
#include "lib/language/program/ProgramData.h"
#include "lib/language/requests/Requirements.h"
#include "lib/machine/translate/FromCluster.h"

namespace accord {

accel::ClusterOp Program::Data::clusterOf(const ast::Declaration &declaration) {
  auto [slot, isNew] = clusters.try_emplace(&declaration, nullptr);
  if (isNew)
    slot->second = elaborateCluster(declaration, *module, diags, lookupIn(declaration), [&](llvm::StringRef name) {
      const ast::Declaration *found = sources.find(name, declaration, {});
      if (!found || found->kind != ast::DeclarationKind::Accelerator)
        return false;
      // An imported one has to stand in the module as well.
      auto [machine, firstTime] = machines.try_emplace(found, nullptr);
      if (firstTime)
        machine->second = elaborateAccelerator(*found, *module, diags, lookupIn(*found));
      return true;
    });
  return slot->second;
}

/// The accelerator of a cluster that may be the target; `place` is where it was asked for.
accel::AcceleratorOp Program::Data::clusterDevice(const ast::Declaration &cluster, SourceRange place) {
  accel::ClusterOp op = clusterOf(cluster);
  if (!op)
    return nullptr;
  using Accelerators = std::vector<accel::AcceleratorOp>;
  Result<Accelerators> device = Accelerators{};
  if (options.placement) {
    device = acceleratorsOf(op);
  } else {
    if (auto one = acceleratorOf(op))
      device = Accelerators{*one};
    else
      device = one.takeError();
  }
  if (!device) {
    auto file = diags.sources().find(device.error().location.file);
    auto error = diags.error(
        device.error().code,
        file ? diags.sources().at(*file, {device.error().location.line, device.error().location.column}) : place,
        device.error().message);
    for (auto &[at, message] : device.error().notes)
      if (auto other = diags.sources().find(at.file))
        error.note(diags.sources().at(*other, {at.line, at.column}), message);
    return nullptr;
  }
  targetMachines = *device;
  for (accel::AcceleratorOp accelerator : targetMachines)
    if (!rejectUnsupported(accelerator, diags))
      return nullptr;
  target = &cluster;
  return targetMachines.front();
}

accel::ClusterOp Program::cluster() { return data->target ? data->clusters[data->target] : accel::ClusterOp(); }

std::vector<PlacementLimit> Program::limitsOn(const TrainingJob &job, const Machine &machine) {
  std::vector<PlacementLimit> limits;
  for (auto &[condition, entry] : data->requirements)
    if (auto limit = placementLimit(condition, machine, job.batch, data->diags)) {
      auto *rule = entry->as<ast::Rule>();
      limit->text = rule->label.empty() ? data->diags.sources().text(rule->expr->range).str() : rule->label.text;
      limits.push_back(std::move(*limit));
    }
  return limits;
}

/// Where the values of a cluster's choices are written.
static void findChosen(const std::vector<ast::Entry> &entries, const std::string &owner,
                       const std::map<std::string, std::string> &chosen,
                       std::vector<std::pair<SourceRange, std::string>> &found) {
  auto add = [&](const std::string &name, const ast::ExprPtr &value) {
    if (auto one = chosen.find(name); one != chosen.end() && value)
      found.push_back({value->range, one->second});
  };
  for (const ast::Entry &entry : entries) {
    if (auto *pair = entry.as<ast::KeyValue>())
      add(pair->key.text == "price" ? "price" : owner + "." + pair->key.text, pair->value);
    if (auto *node = entry.as<ast::Node>()) {
      std::string name = node->name.empty() ? node->kind.text : node->name.text;
      add(name + ".count", node->count);
      findChosen(node->entries, name, chosen, found);
    }
  }
}

std::string Program::clusterText(const std::map<std::string, std::string> &chosen) {
  Data &d = *data;
  std::vector<const ast::Declaration *> written;
  if (d.target)
    written.push_back(d.target);
  std::string all;
  auto inWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t i = 0; i < written.size(); ++i) {
    llvm::StringRef text = d.diags.sources().text(written[i]->range);
    std::string closed = text.str();
    std::vector<std::pair<SourceRange, std::string>> values;
    if (i == 0)
      findChosen(written[i]->entries, "", chosen, values);
    std::sort(values.rbegin(), values.rend());
    for (const auto &[range, value] : values)
      closed.replace(range.begin - written[i]->range.begin, range.end - range.begin, value);
    all = closed + "\n" + (all.empty() ? "" : "\n") + all;
    for (llvm::StringRef rest = text.drop_until(inWord); !rest.empty();
         rest = rest.drop_while(inWord).drop_until(inWord))
      if (const ast::Declaration *named = d.sources.find(rest.take_while(inWord), *written[i], SourceRange{});
          named && named->kind == ast::DeclarationKind::Constant && !llvm::is_contained(written, named))
        written.push_back(named);
  }
  return all;
}

std::vector<accel::AcceleratorOp> Program::machines() { return data->targetMachines; }

/// Settings that one device cannot vary must allow the value that it has; on a cluster each is one
/// value so far, and pipelines are still to come.
bool Program::Data::settleDegrees(TrainingJob &job) {
  size_t before = diags.errors();
  if (options.placement && target)
    return true; // all of them may be chosen
  if (!job.schedules.empty())
    job.assumptions.push_back(target ? "schedule has no effect: there is no pipeline"
                                     : "schedule has no effect on one device");
  for (auto [key, stated] : {std::pair{"offload", &job.offloads},
                             {"tensor_overlap", &job.tensorOverlaps},
                             {"rank_order", &job.orders},
                             {"transfers", &job.transfers},
                             {"table_parallel", &job.tables},
                             {"recompute_granularity", &job.recomputeGranularity},
                             {"regather_sequence", &job.regatherSequence},
                             {"stages", &job.stages}})
    if (!stated->empty())
      job.assumptions.push_back(fmt::format("{} has no effect: accord compile chooses it on a cluster", key));
  if (!job.zero.empty() && job.zero.front() > 0)
    diags.error(Code::NotSupported, job.zeroAt, "not supported yet: zero above 0")
        .help(target ? "accord compile chooses it; let the choice start at 0"
                     : "one device has nothing to divide; let the choice start at 0");
  else if (job.zero.size() > 1)
    job.assumptions.push_back("zero = 0: there are no replicas to divide among");
  std::map<std::string, const DegreeChoice *> of;
  for (const DegreeChoice &choice : job.parallel) {
    if (choice.key == "max_stages") // of placements alone: here there is one stage
      continue;
    of[choice.key] = &choice;
    int64_t first = choice.values.front();
    if (!target) {
      if (first != 1)
        diags.error(Code::NotSupported, choice.at, fmt::format("not supported yet: {} above 1", choice.key))
            .help("one device has 1 of it; let the choice start at 1");
      else if (choice.values.size() > 1)
        job.assumptions.push_back(choice.key + " = 1: the plan is for one device");
    } else if (choice.key == "pipeline_parallel" && first != 1) {
      diags.error(Code::NotSupported, choice.at, "not supported yet: pipeline_parallel above 1")
          .help("share the step with tensor_parallel and data_parallel");
    } else if (choice.values.size() > 1) {
      diags.error(Code::NotSupported, choice.at, fmt::format("not supported yet: a choice of {}", choice.key))
          .help(fmt::format("state one value: {} = {}", choice.key, first));
    }
  }
  if (!target || diags.errors() != before)
    return diags.errors() == before;
  auto value = [&](const char *key) { return of.count(key) ? of[key]->values.front() : 1; };
  job.degrees.tensor = value("tensor_parallel");
  job.degrees.data = value("data_parallel");
  // What divides the same devices once more has their number, or is not done.
  auto follows = [&](const char *key, const char *leader, int64_t devices, bool &on) {
    int64_t own = value(key);
    on = own > 1;
    if (own > 1 && own != devices) {
      auto error = diags.error(Code::DegreesDoNotFit, of[key]->at,
                               fmt::format("{} is {}, but {} is {}", key, own, leader, devices));
      error.help(fmt::format("{} is 1 or as much as {}", key, leader));
      if (of.count(leader))
        error.note(of[leader]->at, fmt::format("{} is stated here", leader));
    }
  };
  follows("sequence_parallel", "tensor_parallel", job.degrees.tensor, job.degrees.sequence);
  follows("expert_parallel", "data_parallel", job.degrees.data, job.degrees.expert);
  if (job.batch % job.degrees.data != 0)
    diags
        .error(Code::BatchNotDivisible, of["data_parallel"]->at,
               fmt::format("the batch of {} cannot be divided among {} devices", job.batch, job.degrees.data))
        .help("data_parallel divides the batch");
  return diags.errors() == before;
}

} // namespace accord
