#include "lib/language/requests/JobEntries.h"
#include "lib/language/requests/Jobs.h"
#include "lib/language/requests/RequestKeys.h"
#include <fmt/format.h>

namespace accord {
namespace {

using jobs::JobsRequest;
using Profiled = JobsRequest::Profiled;

const Rational kMaxSamples(int64_t(1) << 53), kMaxPriority(1'000'000);

class JobReader {
public:
  JobReader(const ast::File &file, Diagnostics &diags, const Lookup &lookup)
      : file(file), diags(diags), lookup(lookup), values(diags, lookup, "a job") {}
  JobEntry out;

  void read(const ast::Node &node, const ast::Entry &entry) {
    job.name = node.name.text;
    out.at = node.name.range;
    job.location = values.reader.place(out.at);
    if (!values.hasForm(node, entry,
                        {.count = true, .value = true, .block = true, .example = "job a = gpt3 { deadline = 8 h }"}))
      return;
    if (node.count)
      out.members = values.count(*node.count, fmt::format("array '{}' has", job.name), "jobs", kMaxArray).value_or(0);
    if (node.value)
      train(*node.value);
    size_t before = diags.errors();
    for (const ast::Entry &inner : node.entries)
      readEntry(inner);
    if (node.value && !configurations.empty())
      diags
          .error(Code::WrongJobsBlock, configurations.front(),
                 fmt::format("job '{}' runs a training, and has a configuration of its own", job.name))
          .note(node.value->range, "the training")
          .help("a training is planned, a configuration was profiled: leave one of them out");
    else if (!node.value && configurations.empty() && diags.errors() == before)
      diags
          .error(Code::WrongJobsBlock, out.at,
                 fmt::format("job '{}' has neither a training nor a configuration", job.name))
          .help(fmt::format("job {0} = gpt3 {{ … }}, or job {0} {{ configuration h100[8] {{ rate = 120 }} … }}",
                            job.name));
    if (diags.errors() != before)
      return;
    settleWork();
    settleTimes();
    settleDevices();
    settleBatches();
    settleChoices();
  }

private:
  void train(const ast::Expr &value) {
    auto *reference = value.as<ast::Reference>();
    job.trainAt = values.reader.place(value.range);
    if (!reference) {
      diags.error(Code::WrongJobsBlock, value.range, fmt::format("job '{}' names no training", job.name))
          .help("for example: train gpt3 = gpt(layers = 96) { … }, job a = gpt3 { … }");
      return;
    }
    job.train = reference->name;
    checkTraining(job.train, value.range);
  }

  /// Reports a name that is no training of the file.
  void checkTraining(const std::string &name, SourceRange at) {
    std::vector<std::string> trainings;
    const ast::Declaration *other = nullptr;
    for (const ast::Declaration &declaration : file.declarations) {
      if (declaration.kind == ast::DeclarationKind::Train)
        trainings.push_back(declaration.name.text);
      if (declaration.name.text == name && (!other || declaration.kind == ast::DeclarationKind::Train))
        other = &declaration;
    }
    if (other && other->kind == ast::DeclarationKind::Train)
      return;
    std::string meant = nearestShown(diags, name, trainings);
    auto error = diags.error(other ? Code::WrongNameKind : Code::UnknownName, at,
                             other ? fmt::format("'{}' is {}, not a training", name, ast::withArticle(other->kind))
                                   : fmt::format("no training '{}' in this file", name));
    error.suggest(meant);
    if (other)
      error.note(other->name.range, "declared here");
    if (meant.empty())
      error.help(trainings.empty() ? "declare one: train gpt3 = gpt(layers = 96) { … }"
                                   : fmt::format("trainings of this file: {}", fmt::join(trainings, ", ")));
    for (const ast::Declaration &declaration : file.declarations)
      if (declaration.kind == ast::DeclarationKind::Train && declaration.name.text == meant)
        error.note(declaration.name.range, "declared here");
  }

  void readEntry(const ast::Entry &entry) {
    const std::vector<std::string> &keys = requestKeyNames("job");
    auto *pair = entry.as<ast::KeyValue>();
    auto *node = entry.as<ast::Node>();
    if (node && node->kind.text == "configuration")
      configuration(*node, entry);
    else if (node && node->kind.text == "choice")
      choice(*node, entry);
    else if (pair && (pair->key.text == "tenant" || pair->key.text == "on" || pair->key.text == "after"))
      names(*pair, entry);
    else if (pair && keyReaders().count(pair->key.text))
      values.reader.read(*pair, entry, keyReaders());
    else if (pair || node)
      values.reader.unknown(pair ? pair->key : node->kind, keys, pair != nullptr);
    else if (entry.as<ast::Rule>())
      diags.error(Code::UnknownEntryKind, entry.range, "a job has no requirement and no objective of its own")
          .help("they stand in the 'jobs' block, beside its jobs");
    else
      diags.error(Code::UnknownEntryKind, entry.range, "a job has no paths");
  }

  /// Those whose value is computed; they also note where it is.
  const BlockReader::KeyReaders &keyReaders() {
    if (!readers.empty())
      return readers;
    auto add = [&](const std::string &key, const auto &read) {
      readers[key] = [this, key, read](const Constant &value) {
        valueAt[key] = value.range;
        read(value);
      };
    };
    auto quantity = [&](const std::string &key, double &into, const JobUnit &unit) {
      add(key, [this, key, &into, &unit](const Constant &value) {
        into = values.quantity(value, key, unit).value_or(into);
      });
    };
    auto number = [&](const std::string &key, double &into, const Rational &min, const Rational &max, bool open) {
      add(key, [this, key, &into, min, max, open](const Constant &value) {
        if (auto read = values.reader.number(value, key, min, max, open))
          into = read->toDouble();
      });
    };
    quantity("arrives", job.arrival, job_units::kTime);
    quantity("deadline", job.deadline, job_units::kTime);
    quantity("due", job.due, job_units::kTime);
    quantity("restart", job.restart, job_units::kTime);
    quantity("late_price", job.latePrice, job_units::kPrice);
    number("samples", job.samples, 1, kMaxSamples, false);
    number("tokens", job.tokens, 1, kMaxSamples, false);
    number("epochs", epochs, 1, kMaxSamples, false);
    number("priority", job.priority, 0, kMaxPriority, true);
    number("quality", job.minQuality, 0, 1, false);
    add("devices", [this](const Constant &value) { devices(value); });
    add("elastic", [this](const Constant &value) { elastic(value); });
    add("continues",
        [this](const Constant &value) { job.continues = values.truth(value, "continues").value_or(false); });
    add("max_restarts", [this](const Constant &value) {
      job.maxRestarts = values.reader.integer(value, "max_restarts", 0, jobs::kMaxSlots).value_or(-1);
    });
    add("optional", [this](const Constant &value) { job.optional = values.truth(value, "optional").value_or(false); });
    add("phases",
        [this](const Constant &value) { job.phases = values.phases(value, "phases").value_or(jobs::Steps()); });
    add("noise", [this](const Constant &value) {
      const auto *word = value.as<Word>();
      if (!word || word->text != "predicted") // then it is not stated
        job.batches.noise = values.noise(value, "noise").value_or(jobs::Steps());
    });
    add("batches", [this](const Constant &value) {
      job.batches.location = values.reader.place(value.range);
      values.batches(value, "batches", job.batches);
    });
    add("learning_rate", [this](const Constant &value) {
      job.batches.at = values.reader.place(value.range);
      job.batches.learningRate = values.reader.word(value, "learning_rate", {"linear", "sqrt", "adascale", "legw"});
    });
    return readers;
  }

  /// `tenant = nlp`, `on = {h100, a100_80g}`, `after = {pretrain, sweep[0]}`: names as they are written.
  void names(const ast::KeyValue &pair, const ast::Entry &entry) {
    values.reader.clauses(entry, kNoClause);
    if (!values.reader.once(pair.key))
      return;
    valueAt[pair.key.text] = pair.value->range;
    if (pair.key.text == "tenant")
      out.tenant = values.name(*pair.value, "tenant", "tenant = nlp");
    else if (pair.key.text == "after")
      out.after = values.names(*pair.value, "after", true, "after = {pretrain, sweep[0]}").value_or(out.after);
    else if (auto types = values.names(*pair.value, "on", false, "on = {h100, a100_80g}"))
      for (const JobName &type : *types)
        job.deviceTypes.push_back(type.text);
  }

  void devices(const Constant &value) {
    auto *choice = value.as<Choice>();
    if (choice && (choice->kind != Choice::Kind::Range || !(choice->step == Quantity::number(1)))) {
      diags.error(Code::ChoiceNotAllowed, value.range, "'devices' is one number or a range without a step")
          .help("for example: devices = 1..16");
      return;
    }
    auto min = values.reader.integer(choice ? Constant{value.range, choice->low} : value, "devices", 1, kMaxJobDevices);
    auto max = choice ? values.reader.integer({value.range, choice->high}, "devices", 1, kMaxJobDevices) : min;
    if (min && max)
      job.minDevices = *min, job.maxDevices = *max;
  }

  void elastic(const Constant &value) {
    std::string word = values.reader.word(value, "elastic", {"rigid", "moldable", "malleable"});
    job.rigid = word == "rigid";
    job.elasticity = job.rigid || word == "moldable" ? jobs::Elasticity::Moldable : jobs::Elasticity::Malleable;
  }

  /// configuration h100[8] { rate = 120, power = 5 kW, price = 20 USD/h, quality = 0.8 }
  void configuration(const ast::Node &node, const ast::Entry &entry) {
    JobValues inner(diags, lookup, "a configuration");
    const char *form = "configuration h100[8] { rate = 120, power = 5 kW }";
    configurations.push_back(node.kind.range);
    Profiled made;
    made.deviceType = node.name.text;
    made.location = inner.reader.place(node.name.range);
    if (!inner.hasForm(node, entry, {.count = true, .block = true, .blockNeeded = true, .example = form}))
      return;
    if (node.count)
      made.devices =
          inner.count(*node.count, fmt::format("configuration '{}' has", made.deviceType), "devices", kMaxJobDevices)
              .value_or(1);
    const std::vector<std::string> &keys = requestKeyNames("configuration");
    const BlockReader::KeyReaders read{
        {"rate", [&](const Constant &value) { made.rate = rate(value, inner); }},
        {"power",
         [&](const Constant &value) { made.power = inner.quantity(value, "power", job_units::kPower).value_or(0); }},
        {"price",
         [&](const Constant &value) { made.price = inner.quantity(value, "price", job_units::kPrice).value_or(0); }},
        {"quality", [&](const Constant &value) {
           if (auto share = inner.reader.number(value, "quality", 0, 1))
             made.quality = share->toDouble();
         }}};
    size_t before = diags.errors();
    inner.entries(node, keys, read, form);
    if (!inner.reader.given("rate") && diags.errors() == before)
      diags
          .error(Code::MissingKey, node.name.range,
                 fmt::format("configuration '{}[{}]' does not say its rate", made.deviceType, made.devices))
          .help("add 'rate = 120', the samples per second of all its devices together");
    for (size_t i = 0; i < job.profiled.size(); ++i)
      if (job.profiled[i].deviceType == made.deviceType && job.profiled[i].devices == made.devices)
        diags
            .error(Code::DuplicateName, node.name.range,
                   fmt::format("there is a configuration '{}[{}]' already", made.deviceType, made.devices))
            .note(profiledAt[i], "the earlier one");
    job.profiled.push_back(std::move(made));
    profiledAt.push_back(node.name.range);
  }

  /// choice small { quality = 0.752, samples = 2e6 }
  void choice(const ast::Node &node, const ast::Entry &entry) {
    JobValues inner(diags, lookup, "a choice");
    const char *form = "choice small { quality = 0.752, samples = 2e6 }";
    if (!inner.hasForm(node, entry, {.block = true, .example = form}))
      return;
    JobsRequest::Choice made;
    made.train = node.name.text;
    made.location = inner.reader.place(node.name.range);
    checkTraining(made.train, node.name.range);
    const std::vector<std::string> &keys = requestKeyNames("choice");
    const BlockReader::KeyReaders read{{"quality",
                                        [&](const Constant &value) {
                                          if (auto share = inner.reader.number(value, "quality", 0, 1))
                                            made.quality = share->toDouble();
                                        }},
                                       {"samples", [&](const Constant &value) {
                                          if (auto samples = inner.reader.number(value, "samples", 1, kMaxSamples))
                                            made.samples = samples->toDouble();
                                        }}};
    inner.entries(node, keys, read, form);
    auto [earlier, isNew] = choiceAt.try_emplace(made.train, node.name.range);
    if (isNew)
      job.choices.push_back(std::move(made));
    else
      diags.error(Code::DuplicateName, node.name.range, fmt::format("there is a choice '{}' already", made.train))
          .note(earlier->second, "the earlier one");
  }

  /// Samples a second: a plain number, or with its unit. 0 after an error.
  static double rate(const Constant &value, JobValues &inner) {
    static const JobUnit kRate{"a number of samples per second", {}, "120 samples/s", 1'000'000'000'000, "1e12"};
    auto *number = value.as<Quantity>();
    Constant plain = value;
    if (number && number->dimension == Dimension::of(Base::Second, -1))
      plain.content = Quantity(number->value);
    return inner.quantity(plain, "rate", kRate, JobBound::AboveZero).value_or(0);
  }

  // ---- What keys say together

  const SourceRange *given(const char *key) const { return values.reader.given(key); }
  std::string written(const char *key) { return diags.sources().text(valueAt[key]).str(); }

  /// Samples or tokens, of all epochs.
  void settleWork() {
    if (given("samples") && given("tokens"))
      diags.error(Code::DuplicateKey, *given("tokens"), "the work is stated twice: in samples and in tokens")
          .note(*given("samples"), "the first time");
    else if (given("epochs") && !given("samples") && !given("tokens"))
      diags.error(Code::MissingKey, *given("epochs"), "'epochs' does not say how long one is")
          .help("add 'samples = 1281167', those of one epoch");
    else if (!job.profiled.empty() && !given("samples"))
      diags
          .error(Code::MissingKey, given("tokens") ? *given("tokens") : out.at,
                 fmt::format("job '{}' has a configuration, and does not say how many samples it trains on", job.name))
          .help("add 'samples = 1e6': rates are samples per second");
    job.samples *= epochs, job.tokens *= epochs;
    if (std::max(job.samples, job.tokens) > kMaxSamples.toDouble())
      diags.error(Code::OutOfRange, *given("epochs"),
                  fmt::format("all epochs together are at most {} samples or tokens", kMaxSamples.print()));
  }

  void settleTimes() {
    if (job.deadline >= 0) {
      job.deadlineAt = values.reader.place(valueAt["deadline"]);
      if (job.deadline < job.arrival)
        diags
            .error(Code::WrongJobsBlock, valueAt["deadline"],
                   fmt::format("job '{}' arrives at {}, after its deadline of {}", job.name, written("arrives"),
                               written("deadline")))
            .note(valueAt["arrives"], "it arrives here")
            .help("both count from the start of the schedule");
    }
    if (job.continues && given("phases"))
      diags.error(Code::NotSupported, valueAt["continues"], "not supported yet: a job with 'phases' that continues")
          .note(*given("phases"), "its phases");
    if (given("late_price") && !given("due"))
      diags
          .error(Code::WrongJobsBlock, *given("late_price"),
                 fmt::format("'late_price' has no effect: job '{}' has no 'due'", job.name))
          .help("for example: due = 6 h");
  }

  /// A rigid job has one number of devices, which its configurations may say.
  void settleDevices() {
    if (job.rigid && given("devices") && job.minDevices != job.maxDevices) {
      diags
          .error(
              Code::WrongJobsBlock, valueAt["devices"],
              fmt::format("job '{}' is rigid: it runs on one number of devices, not {}", job.name, written("devices")))
          .note(valueAt["elastic"], "rigid here")
          .help("a moldable job starts on any of them and keeps it");
      return;
    }
    if (job.rigid && !given("devices") && job.profiled.empty()) {
      diags
          .error(Code::WrongJobsBlock, valueAt["elastic"],
                 fmt::format("job '{}' is rigid, and does not say on how many devices it runs", job.name))
          .help("for example: devices = 8, elastic = rigid");
      return;
    }
    if (job.rigid && !given("devices"))
      job.minDevices = job.maxDevices = job.profiled.front().devices;
    for (size_t i = 0; i < job.profiled.size(); ++i) {
      const Profiled &one = job.profiled[i];
      bool few = one.devices < job.minDevices, many = job.maxDevices > 0 && one.devices > job.maxDevices;
      auto wrong = [&](const std::string &why, SourceRange noted, const char *note) {
        diags
            .error(Code::WrongJobsBlock, profiledAt[i],
                   fmt::format("job '{}' never runs in configuration '{}[{}]': {}", job.name, one.deviceType,
                               one.devices, why))
            .note(noted, note);
      };
      if ((few || many) && given("devices"))
        wrong(fmt::format("it runs on {} devices", written("devices")), valueAt["devices"], "stated here");
      else if (few || many)
        wrong(fmt::format("it is rigid, and the first has {} devices", job.minDevices), profiledAt[0], "the first");
      else if (!job.deviceTypes.empty() && !llvm::is_contained(job.deviceTypes, one.deviceType))
        wrong(fmt::format("it runs on {} alone", fmt::join(job.deviceTypes, ", ")), valueAt["on"], "stated here");
    }
  }

  /// Batches need a training and its noise, and what says more of them needs them.
  void settleBatches() {
    auto wrong = [&](const char *key, const std::string &why, const char *help) {
      diags.error(Code::WrongJobsBlock, *given(key), fmt::format("'{}' has no effect: {}", key, why)).help(help);
    };
    for (const char *key : {"noise", "batches", "learning_rate"})
      if (given(key) && job.train.empty())
        return wrong(key, fmt::format("job '{}' runs no training", job.name),
                     "rates of configurations hold at the batch at which they were measured");
    for (const char *key : {"noise", "learning_rate"})
      if (given(key) && !given("batches"))
        return wrong(key, fmt::format("job '{}' has no 'batches'", job.name), "for example: batches = 128..4096");
    if (given("batches") && !given("noise"))
      diags
          .error(
              Code::MissingKey, *given("batches"),
              fmt::format("job '{}' does not say its gradient noise, so what a larger batch is good for is not known",
                          job.name))
          .help("for example: noise = 2400, or noise = {0: 800, 0.3: 2400}, or noise = predicted");
  }

  /// A job keeps its choice, and phases are jobs of their own.
  void settleChoices() {
    if (job.choices.empty())
      return;
    const SourceRange first = choiceAt.at(job.choices.front().train);
    if (job.train.empty())
      diags
          .error(Code::WrongJobsBlock, first,
                 fmt::format("job '{}' runs no training that could have another choice", job.name))
          .help("for example: job a = gpt3 { choice small { quality = 0.75 } }");
    for (const auto &[key, steps] : {std::pair("phases", &job.phases), std::pair("noise", &job.batches.noise)})
      if (steps->size() > 1)
        diags
            .error(Code::WrongJobsBlock, first,
                   fmt::format("job '{}' has choices and '{}' of several steps: each of them could take another choice",
                               job.name, key))
            .note(*given(key), "the steps");
    for (const JobsRequest::Choice &one : job.choices)
      if (job.minQuality >= 0 && one.quality < 0)
        diags
            .error(Code::MissingKey, choiceAt.at(one.train),
                   fmt::format("choice '{}' does not say its quality, and job '{}' requires one", one.train, job.name))
            .note(*given("quality"), "required here");
  }

  const ast::File &file;
  Diagnostics &diags;
  const Lookup &lookup;
  JobValues values;
  jobs::JobsRequest::Job &job = out.job;
  double epochs = 1;
  BlockReader::KeyReaders readers;
  std::map<std::string, SourceRange> valueAt;          ///< by key
  std::map<std::string, SourceRange> choiceAt;         ///< by training
  std::vector<SourceRange> configurations, profiledAt; ///< of all; of `job.profiled`
};

} // namespace

JobEntry readJob(const ast::Node &node, const ast::Entry &entry, const ast::File &file, Diagnostics &diags,
                 const Lookup &lookup) {
  JobReader reader(file, diags, lookup);
  reader.read(node, entry);
  return std::move(reader.out);
}

} // namespace accord
