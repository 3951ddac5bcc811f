#include "lib/language/requests/RequestKeys.h"
#include "lib/language/requests/TrainSettings.h"
#include "lib/placement/problem/PipelineSchedule.h"
#include <map>

namespace accord {
namespace {

using Keys = std::vector<RequestKey>;

Keys train() {
  return {{"batch", "samples of a step"},
          {"precision", "type of numbers in products and of weights", {"fp32", "tf32", "bf16", "fp16", "mixed(bf16)"}},
          {"optimizer", "rule that changes the weights", {"sgd", "momentum", "adam", "adamw"}},
          {"samples", "all samples of the training, or those of an epoch"},
          {"tokens", "all tokens of the training, or those of an epoch"},
          {"steps", "all steps of the training"},
          {"epochs", "passes over the samples or tokens that are stated"},
          {"checkpoint", "when and how the state is written", {}, true},
          {"data", "how input is loaded", {}, true},
          {"search", "what the planner may choose", {}, true}};
}

Keys infer() {
  return {{"batch", "samples that are answered together"},
          {"precision", "type of numbers in products and of weights", {"fp32", "tf32", "bf16", "fp16", "fp8", "int8"}},
          {"weights", "type in which the weights of products are stored, where it is narrower", {"int8", "int4"}},
          {"group", "weights that share a scale"},
          {"cache", "type in which keys and values are kept, where it is narrower", {"fp8", "int8"}},
          {"phase",
           "a whole sample, the prompt of a text whose last position is answered, or one token more",
           {"forward", "prefill", "decode"}},
          {"engine",
           "whether an engine joins operations and replays them as one graph, or a framework runs one after the other",
           {"compiled", "eager"}},
          {"context", "tokens that attention sees when one is decoded, that one among them"},
          {"data", "how input is loaded", {}, true},
          {"search", "what the planner may choose", {}, true}};
}

Keys search() {
  std::vector<std::string> schedules;
  for (const ScheduleModel *one : scheduleModels())
    schedules.push_back(one->name);
  Keys keys{{"microbatch", "micro-batch size of a replica"},
            {"tensor_parallel", "devices that share each operation"},
            {"pipeline_parallel", "device groups in a row"},
            {"data_parallel", "replicas; the batch is a multiple of it"},
            {"sequence_parallel", "1, or equal to tensor_parallel: what lies between the layers is divided along the "
                                  "sequence"},
            {"context_parallel", "devices that have equal parts of every sequence"},
            {"expert_parallel", "devices that divide the experts of a layer"},
            {"zero",
             "stage of ZeRO: replicas divide states of the optimizer (1), gradients too (2), weights too (3)",
             {"0", "1", "2", "3"}},
            {"recompute", "activations that the backward pass computes again", {"none", "selective", "full"}},
            {"schedule", "order of the passes of a pipeline", schedules}};
  static const std::map<std::string, std::string> about{
      {"offload", "what is kept in the memory of the server's host"},
      {"context_exchange", "how keys and values of other parts of a sequence reach a device"},
      {"tensor_overlap", "whether products are cut into pieces, one communicated while the next is computed"},
      {"rank_order", "which devices are neighbours after those that share operations"},
      {"transfers", "whether receiving from another stage stops the passes of a stage"},
      {"table_parallel", "how replicas divide embedding tables"},
      {"recompute_granularity", "whether recompute is chosen for each layer, or for all on a device type alike"},
      {"regather_sequence", "whether what sequence_parallel has gathered is gathered again for the backward pass"},
      {"stages", "whether each stage has equally many iterations of the longest repeat"}};
  for (const PlacementWords &choices : placementWords()) {
    auto found = about.find(choices.key);
    keys.push_back({choices.key, found == about.end() ? "" : found->second, choices.known});
  }
  keys.push_back({"max_stages", "device groups in a row at most, one number"});
  return keys;
}

Keys job() {
  return {{"tenant", "whose job it is"},
          {"samples", "its work, unless stated that of its training"},
          {"tokens", "its work in tokens"},
          {"epochs", "passes over the samples or tokens"},
          {"arrives", "time before which it does not begin"},
          {"deadline", "time at which it must be complete"},
          {"due", "time after which its completion costs late_price"},
          {"late_price", "cost per time after due"},
          {"priority", "its weight in sums over jobs"},
          {"devices", "how many, one number or a range"},
          {"elastic", "whether its devices may change", {"rigid", "moldable", "malleable"}},
          {"restart", "time without progress at each start and change"},
          {"on", "types of devices that it may use"},
          {"after", "jobs that are complete before it begins"},
          {"optional", "whether the schedule may leave it out", {"true", "false"}},
          {"quality", "the minimum quality of its configurations, 0 to 1"},
          {"phases", "factors of its speed, each from a share of its work on"},
          {"noise", "its gradient noise scale in samples"},
          {"batches", "batches that it may run at"},
          {"choice", "another training that may be run instead", {}, true},
          {"learning_rate", "how it follows the batch", {"linear", "sqrt", "adascale", "legw"}},
          {"configuration", "a measured speed for a number of devices", {}, true},
          {"continues", "whether work may be left at the end of the horizon", {"true", "false"}},
          {"max_restarts", "starts of its runs at most, in each phase"}};
}

const std::map<std::string, Keys> &table() {
  static const std::map<std::string, Keys> all{
      {"train", train()},
      {"infer", infer()},
      {"search", search()},
      {"checkpoint",
       {{"every", "time between checkpoints"},
        {"every_steps", "steps between checkpoints"},
        {"bytes", "size of a checkpoint, unless stated that of the state"},
        {"asynchronous", "whether steps go on while it is written", {"true", "false"}}}},
      {"data",
       {{"loader", "bytes of input that all workers together deliver per second"},
        {"worker", "bytes of input that one worker delivers per second"},
        {"workers", "workers that load", {"auto"}},
        {"max_workers", "workers at most, where they are chosen"},
        {"prefetch", "batches loaded ahead", {"auto"}},
        {"variation", "standard deviation over mean of the time to load a batch"},
        {"memory", "of the host, for batches that wait"}}},
      {"sparsity",
       {{"weights", "patterns that weights may have"},
        {"activations", "patterns that activations have"},
        {"gradients", "patterns that gradients have"},
        {"accuracy", "measured accuracies, from a file"},
        {"margin", "allowance of the accuracy"},
        {"sensitivity", "losses of single layers, from a file"},
        {"confidence", "of what is measured"},
        {"format", "how kept elements are stored"},
        {"phases", "patterns from a share of the training on"},
        {"recipe", "whether masks of weights are found again in the training", {"static", "dynamic"}},
        {"dense_layers", "which ends of the network have no zeros in their weights", {"none", "first", "last"}},
        {"distribution", "how a density is divided among layers", {"uniform", "erk"}},
        {"kernels", "measured products, from a file"}}},
      {"tuning",
       {{"search", "the hyper-parameters that may be chosen", {}, true},
        {"scale", "how a hyper-parameter follows the batch or the width: rules, each with its base", {}, true},
        {"units", "units of training (epochs, or so many steps) before a trial may be stopped, and of a complete one"},
        {"reduction", "of so many trials that reach a rung one goes on"},
        {"probes", "so many trials tell whether the lowest rung says anything; 0: all rungs count"},
        {"stops", "when trials are stopped", {"halving", "curves", "both"}},
        {"stop_below", "with curves: how improbable it is that a trial that is stopped becomes the best"},
        {"population",
         "members that all run to the end, the worst of which are replaced by children of the best",
         {},
         true},
        {"from", "behind which unit hyper-parameters begin to act; trials that are the same before share their "
                 "training up to it"},
        {"branches", "so many trials go on behind such a unit from one state"},
        {"trials", "trials at most"},
        {"target", "the value of the objective that ends the tuning"},
        {"training", "a `train` block whose network the cost model prices; hyper-parameters with the names of its "
                     "model's parameters, batch, optimizer and precision change it"},
        {"inference", "an `infer` block of the same model, whose requirements each configuration keeps"},
        {"devices", "on how many devices a trial may run, as fast as the cost model says"},
        {"unit", "time that a unit takes on one device"},
        {"restart", "time without progress at each start of a trial and each change of its devices"},
        {"speed", "how many times as fast a trial is on more devices than one"},
        {"shared", "how fast each of so many trials is that share a device"}}},
      {"population",
       {{"members", "trainings that run side by side, or in turns where devices are few"},
        {"every", "units behind which the worst members are replaced"},
        {"replaced", "share of the members that are replaced, rounded up"},
        {"redrawn", "how probable it is that a hyper-parameter of a child is drawn anew from its range"},
        {"factors", "by one of these a number that is not drawn anew is multiplied"},
        {"fixed", "hyper-parameters that a child takes as they are, since its state depends on them"}}},
      {"server_tuning",
       {{"server", "parameters of the server that may be chosen while a training runs", {}, true},
        {"baseline", "the setting that runs before, which is known to be safe", {}, true},
        {"floor", "share of the baseline's progress below which no interval is to be"},
        {"confidence", "with which no interval is below the floor, under the model"},
        {"interval", "time for which a setting is measured"},
        {"settle", "time behind each change that is not measured"},
        {"silence", "time without a report behind which a training has failed"},
        {"intervals", "intervals in all"}}},
      {"ensemble",
       {{"member", "a model that may vote", {}, true},
        {"joint_error", "errors that members make together", {}, true},
        {"votes", "what members say, from a file", {}, true},
        {"independent", "whether members err independently", {"true", "false"}},
        {"size", "members that vote"},
        {"voting", "how votes are counted"},
        {"device_failures", "devices that may fail"},
        {"devices", "devices that members run on"},
        {"answer", "what becomes of votes on their way", {}, true}}},
      {"answer",
       {{"undelivered", "share of answers for which no vote of a device arrives in time, by machine"},
        {"corrupted", "share of votes that are wrong on their way, by machine"},
        {"weights", "what a vote counts, by member"},
        {"quorum", "weight of votes without which there is no answer"},
        {"timeout", "time from a question on after which votes are late"},
        {"latency", "how long a member takes, by member or machine: quantiles such as {p50: 8 ms, p99: 20 ms}"},
        {"network", "how long votes of a machine are on their way: quantiles"},
        {"energy", "of a member for one input, by member or machine"},
        {"memory", "that a member takes, by member or machine"},
        {"members_per_device", "members that may take turns on a device"},
        {"voltage", "voltages a machine may run at, each with its energy and bit errors"},
        {"bit_errors", "errors of members by their bit error rate, from a file", {}, true}}},
      {"jobs",
       {{"period", "length of a period, in whole seconds"},
        {"horizon", "end of the schedule"},
        {"tail", "share of jobs that tail_completion leaves out"},
        {"carbon_intensity", "greenhouse gases of electricity, from each time on"},
        {"tenant", "a tenant with its weight and quota", {}, true},
        {"capacity", "devices of a type or power that there are, from each time on", {}, true},
        {"maintenance", "devices or servers on which nothing runs for a time", {}, true},
        {"job", "a training to run", {}, true}}},
      {"job", job()},
      {"configuration",
       {{"rate", "samples per second of all its devices"},
        {"power", "that its devices draw"},
        {"price", "of its devices per time"},
        {"quality", "of what it trains, 0 to 1"}}},
      {"choice", {{"quality", "that it reaches, 0 to 1"}, {"samples", "its work"}}}};
  return all;
}

} // namespace

const std::vector<RequestKey> &requestKeysOf(llvm::StringRef block) {
  static const Keys none;
  auto found = table().find(block.str());
  return found == table().end() ? none : found->second;
}

const std::vector<std::string> &requestKeyNames(llvm::StringRef block) {
  static const std::map<std::string, std::vector<std::string>> names = [] {
    std::map<std::string, std::vector<std::string>> all;
    for (const auto &[name, keys] : table())
      for (const RequestKey &key : keys)
        all[name].push_back(key.name);
    return all;
  }();
  static const std::vector<std::string> none;
  auto found = names.find(block.str());
  return found == names.end() ? none : found->second;
}

} // namespace accord
