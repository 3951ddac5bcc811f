#include "lib/driver/jobs/RatePredictions.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/jobs/FileErrors.h"
#include "lib/import/jobs/GavelThroughputs.h"
#include "lib/import/jobs/PolluxProfiles.h"
#include "lib/jobs/solve/RatePredictor.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Number.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {
namespace {
using namespace jobs;
using prediction::describeHeldOutTable;
using prediction::HeldOutTable;
using prediction::HeldOutValue;

struct RateAtPlace {
  RatePlace place;
  bool isKnown = false;
  PredictedRate rate; ///< three times the same where it is known
};
struct RatesDocument {
  std::vector<HeldOutTable> tables;
  std::vector<RateAtPlace> rates;
};

void describeRate(JsonFields &f, RateAtPlace &one) {
  f.field("type", one.place.type).field("devices", one.place.devices);
  f.about("measured").field("known", one.isKnown);
  f.about("work a second: the measured rate, or the median").field("rate", one.rate.median);
  f.about("95 of 100 such rates are not below").field("low", one.rate.low);
  f.about("95 of 100 such rates are not above").field("high", one.rate.high);
}
void describeDocument(JsonFields &f, RatesDocument &document) {
  f.head("calibrate").about("without an application").field("tables", document.tables, describeHeldOutTable);
  f.about("of the application").field("rates", document.rates, describeRate);
}
llvm::json::Value ratesSchema() {
  RatesDocument document;
  return describeJson([&](JsonVisitor &v) { visitValue(v, document, describeDocument); }, JsonRule::Open);
}
const DocumentEntry kDocument("rates", "accord calibrate --rates --json",
                              "How far rates of jobs on devices where they never ran are from measured ones, or the "
                              "rates of one application. Errors are shares: 0.05 is 5 %.",
                              ratesSchema);

class Task {
public:
  explicit Task(const RatePredictionOptions &options) : options(options), diags(sources) {}

  int run() {
    auto measured = llvm::sys::fs::is_directory(options.table) ? readProfiles() : readTable();
    if (!measured || !keep(*measured))
      return finish();
    RatesDocument document;
    if (options.application.empty() && !options.known.empty())
      diags.error(Code::BadCommandLine, {}, "--known is of an application: --application names none");
    else if (options.application.empty())
      document.tables = scores(*measured);
    else if (auto rates = ratesOf(*measured))
      document.rates = std::move(*rates);
    if (!diags.hasErrors()) {
      if (options.json)
        standardOutput() << jsonText(toDocument(document, describeDocument)) << "\n";
      else
        print(document);
    }
    return finish();
  }

private:
  using Rates = std::vector<MeasuredRate>;

  std::optional<Rates> readTable() {
    auto file = readFile(diags, options.table);
    if (!file)
      return std::nullopt;
    auto table = readGavelThroughputs(sources.text(*file), options.table);
    if (!table)
      return add(table.error()), std::nullopt;
    return checked(measuredRates(*table));
  }

  /// --where type=v100: only such rates; values of one column are alternatives.
  bool keep(Rates &measured) {
    std::map<std::string, std::set<std::string>> wanted;
    const std::vector<std::string> columns = {"application", "devices", "family", "type"};
    for (const std::string &text : options.where) {
      const auto [column, value] = llvm::StringRef(text).split('=');
      if (!llvm::is_contained(columns, column)) {
        diags.error(Code::BadCommandLine, {}, fmt::format("--where: no column '{}'", column.str()))
            .suggest(nearest(column, columns));
        return false;
      }
      wanted[column.str()].insert(value.str());
    }
    std::erase_if(measured, [&](const MeasuredRate &rate) {
      const std::map<std::string, std::string> cells = {{"application", rate.application},
                                                        {"devices", std::to_string(rate.place.devices)},
                                                        {"family", rate.family},
                                                        {"type", rate.place.type}};
      return llvm::any_of(wanted, [&](const auto &one) { return !one.second.count(cells.at(one.first)); });
    });
    if (measured.empty())
      diags.error(Code::NothingFitted, {}, fmt::format("no rate of '{}' is left", options.table));
    return !measured.empty();
  }

  /// Samples a second of profiled applications, each local batch an application of its own, on 1, 2, 4, ... devices of
  /// the fewest servers that were measured.
  std::optional<Rates> readProfiles() {
    std::set<std::string> names;
    std::error_code problem;
    for (llvm::sys::fs::directory_iterator entry(options.table, problem), end; !problem && entry != end;
         entry.increment(problem))
      if (llvm::sys::fs::is_directory(entry->path()))
        names.insert(llvm::sys::path::filename(entry->path()).str());
    Rates measured;
    for (const std::string &name : names) {
      llvm::SmallString<128> folder(options.table);
      llvm::sys::path::append(folder, name);
      auto profile = readPolluxProfile(folder.str().str(), polluxLimits(name));
      if (!profile)
        return add(profile.error()), std::nullopt;
      std::map<std::pair<unsigned, int64_t>, std::pair<size_t, double>> best; // fewest servers, and the rate on them
      for (const PlacementTime &one : profile->placements) {
        unsigned devices = 0;
        for (const unsigned onServer : one.placement)
          devices += onServer;
        const double rate = static_cast<double>(devices * one.localBatch) / one.time.step;
        auto [found, isNew] = best.try_emplace({devices, one.localBatch}, one.placement.size(), rate);
        if (!isNew && one.placement.size() < found->second.first)
          found->second = {one.placement.size(), rate};
      }
      for (const auto &[key, servers] : best)
        if (std::has_single_bit(key.first))
          measured.push_back({familyOf(name),
                              fmt::format("{} (batch size {})", name, key.second),
                              {"gpu", key.first},
                              servers.second});
    }
    return checked(std::move(measured));
  }

  std::optional<Rates> checked(Rates measured) {
    if (!measured.empty())
      return measured;
    diags.error(Code::WrongJobsFile, {}, fmt::format("'{}' has no rate above 0", options.table));
    return std::nullopt;
  }

  static HeldOutTable scored(const std::string &title, const std::vector<LeftOutRate> &rates) {
    std::vector<HeldOutValue> byFamily, byPlaces;
    for (const LeftOutRate &one : rates) {
      byFamily.push_back(one.value);
      byPlaces.push_back(one.value);
      byPlaces.back().group = one.from.type == one.to.type ? fmt::format("{}, {} devices", one.to.type, one.to.devices)
                                                           : fmt::format("{} to {}", one.from.type, one.to.type);
    }
    HeldOutTable table = prediction::heldOutTable(title, byFamily);
    for (auto &[name, score] : prediction::scoresByGroup(byPlaces))
      table.groups.push_back({name, score});
    return table;
  }

  static std::vector<HeldOutTable> scores(const Rates &measured) {
    static constexpr const char *kWhat[kKnownRates] = {"known: the rate on as many devices of another type",
                                                       "known: the rate on one device of the same type",
                                                       "known: the rate on one device of another type"};
    std::vector<HeldOutTable> tables;
    for (const bool sameModel : {false, true}) {
      std::vector<std::vector<LeftOutRate>> by(kKnownRates);
      for (LeftOutRate &one : leaveRatesOut(measured, sameModel))
        by[static_cast<size_t>(one.known)].push_back(std::move(one));
      for (size_t known = 0; known < kKnownRates; ++known)
        if (!by[known].empty())
          tables.push_back(scored(
              fmt::format("{} left out; {}",
                          sameModel ? "an application of a model that ran with other batches" : "a family of models",
                          kWhat[known]),
              by[known]));
    }
    return tables;
  }

  /// "v100x1=4.4".
  std::optional<std::pair<RatePlace, double>> readKnown(const std::string &text) {
    const auto [place, number] = llvm::StringRef(text).rsplit('=');
    const auto [type, count] = place.rsplit('x');
    RatePlace read{type.trim().str(), 0};
    double rate = 0;
    if (!type.trim().empty() && !count.trim().getAsInteger(10, read.devices) && read.devices > 0 &&
        !number.trim().getAsDouble(rate) && rate > 0 && std::isfinite(rate))
      return std::pair(read, rate);
    diags.error(
        Code::BadCommandLine, {},
        fmt::format("--known: expected TYPExDEVICES=RATE with a rate above 0, as in v100x1=4.4, found '{}'", text));
    return std::nullopt;
  }

  std::optional<std::vector<RateAtPlace>> ratesOf(const Rates &measured) {
    if (options.known.empty()) {
      diags.error(Code::BadCommandLine, {}, "--application: --known has to say one of its rates, as in v100x1=4.4");
      return std::nullopt;
    }
    std::vector<RatePlace> places;
    Rates others;
    std::vector<std::string> types;
    for (const MeasuredRate &one : measured) {
      if (!llvm::is_contained(places, one.place))
        places.push_back(one.place);
      if (!llvm::is_contained(types, one.place.type))
        types.push_back(one.place.type);
      if (one.application != options.application)
        others.push_back(one);
    }
    std::ranges::sort(places, {}, [](const RatePlace &place) { return std::pair(place.type, place.devices); });
    std::vector<size_t> known;
    std::vector<double> logRates;
    for (const std::string &text : options.known) {
      const auto read = readKnown(text);
      if (!read)
        return std::nullopt;
      const auto &[place, rate] = *read;
      if (!llvm::is_contained(types, place.type)) {
        diags
            .error(Code::BadCommandLine, {},
                   fmt::format("--known: '{}' has no rates on a type '{}'", options.table, place.type))
            .suggest(nearest(place.type, types));
        return std::nullopt;
      }
      const size_t at = static_cast<size_t>(std::ranges::find(places, place) - places.begin());
      if (at == places.size())
        places.push_back(place);
      if (llvm::is_contained(known, at)) {
        diags.error(Code::BadCommandLine, {}, fmt::format("--known: {}x{} is stated twice", place.type, place.devices));
        return std::nullopt;
      }
      known.push_back(at);
      logRates.push_back(std::log(rate));
    }
    const RatePredictor predictor(std::move(others));
    const prediction::Normal normal = prediction::condition(
        predictor.logRates(familyOf(options.application), options.application, places), known, logRates);
    std::vector<RateAtPlace> rates;
    for (size_t i = 0; i < places.size(); ++i)
      rates.push_back({places[i], llvm::is_contained(known, i), predictedRate(normal.mean[i], normal.variance(i))});
    return rates;
  }

  static void print(const RatesDocument &document) {
    const TextStyle style = TextStyle::of(standardOutput());
    for (const HeldOutTable &table : document.tables)
      standardOutput() << prediction::heldOutText(table, style);
    if (document.rates.empty())
      return;
    TextTable text("lrrrr", {"type", "devices", "rate", "90 % from", "to"});
    for (const RateAtPlace &one : document.rates)
      text.row({one.place.type, std::to_string(one.place.devices), fmt::format("{:.4g}", one.rate.median),
                one.isKnown ? "known" : fmt::format("{:.4g}", one.rate.low),
                one.isKnown ? "" : fmt::format("{:.4g}", one.rate.high)});
    standardOutput() << text.text(style);
  }

  void add(const Error &error) { reportOfFile(diags, sources, error); }
  int finish() { return accord::finish(diags, kDone, options.json, "calibrate"); }

  const RatePredictionOptions &options;
  SourceManager sources;
  Diagnostics diags;
};

} // namespace

int predictRates(const RatePredictionOptions &options) { return Task(options).run(); }

} // namespace accord
