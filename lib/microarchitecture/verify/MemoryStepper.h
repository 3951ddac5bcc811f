// Memories and caches, cycle by cycle: requests move their beats when ports and banks are free. What hits, what is
// replaced and which row a bank has follow program order, so they are known as soon as an instruction is fetched.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include "lib/microarchitecture/verify/CacheContents.h"
#include <deque>

namespace accord::microarchitecture {

inline constexpr Cycles kUnknown = -1;
inline constexpr Cycles kNever = INT64_MAX;

/// The cycle that is stepped, the next one in which something can happen, and a log of what was taken in each cycle.
struct StepClock {
  struct Taken {
    enum Kind : int64_t {
      EnterStage,
      LeaveStage,
      LeaveBuffer,
      EnterInstance,
      FreeInstance,
      Retire,
      ReadPort,
      WritePort,
      Port,
      Bank
    };
    int64_t kind = 0, which = 0, inside = 0;
    Cycles at = 0;
    auto operator<=>(const Taken &) const = default;
  };
  Cycles now = 0, wake = kNever;
  bool logs = false;
  std::vector<Taken> log;

  void wakeAt(Cycles at) {
    if (at > now && at < wake)
      wake = at;
  }
  void note(Taken::Kind kind, int64_t which, int64_t inside, Cycles at) {
    if (logs)
      log.push_back({kind, which, inside, at});
  }
};

/// What was taken of something in the present cycle.
struct TakenNow {
  Cycles at = kUnknown;
  int32_t count = 0;
  int32_t in(Cycles now) const { return at == now ? count : 0; }
  void take(Cycles now, int32_t more = 1) { count = in(now) + more, at = now; }
};

/// Times by number, of which the old ones are forgotten: those are past.
struct NumberedTimes {
  int64_t base = 0;
  std::deque<Cycles> times;
  int64_t add() { return times.push_back(kUnknown), base + int64_t(times.size()) - 1; }
  void set(int64_t number, Cycles at) { times[size_t(number - base)] = at; }
  /// 0 if it is forgotten or there was none.
  Cycles get(int64_t number) const { return number < base ? 0 : times[size_t(number - base)]; }
  int64_t size() const { return base + int64_t(times.size()); }
  void forget(Cycles now) {
    while (!times.empty() && times.front() != kUnknown && times.front() <= now)
      times.pop_front(), ++base;
  }
};

/// Whether an address's row of a bank changes times.
inline bool hasRows(const Storage &is) { return is.rows.bytes > 0 && is.rows.miss > 0; }
/// Whether it matters in which bank a beat is: not if only one beat a cycle passes the port anyway.
inline bool hasBanks(const Storage &is) { return is.banks > 1 && (is.ports > 1 || hasRows(is)); }

struct MemoryRequest {
  Index storage = kNone;
  bool store = false;
  int64_t number = 0; ///< among those of a storage without cache
  int64_t firstPiece = 0, piece = 0, lastPiece = 0;
  Cycles begin = kUnknown, firstBeat = kUnknown, lastBeat = kUnknown, firstData = kUnknown, done = kUnknown;
  bool finished = false;          ///< also what nobody waits for
  Cycles rowLeft = kUnknown;      ///< cycles of the bank that the next beat still needs; unknown: not looked at
  std::vector<int64_t> rowBefore; ///< row of the bank of each of the first pieces
  struct Line {
    bool hit = false, fills = false;
    int64_t lastPiece = 0, fill = -1;
    int32_t fillRequest = -1, writeBack = -1, through = -1; ///< requests to what is behind
    Cycles at = kUnknown, filled = kUnknown, data = kUnknown;
  };
  std::vector<Line> lines;
  size_t linesReached = 0, linesFinished = 0;
};

class MemoryStepper {
public:
  explicit MemoryStepper(const Microarchitecture &machine);

  /// Adds a request and all that follow from it, in program order; returns which it is in `to`.
  int32_t expand(std::vector<MemoryRequest> &to, Index storage, bool store, int64_t address, int64_t bytes,
                 Touch touch);
  /// Moves a request as far as it comes in the present cycle. It is done not before `floor`, which may be unknown.
  void advance(std::vector<MemoryRequest> &all, int32_t which, Cycles floor, StepClock &clock);
  void forget(Cycles now);

  struct Row {
    int64_t address = -1; ///< of the last piece; -1: none
    Touch touch;
  };
  struct State {
    TakenNow ports;
    std::vector<TakenNow> banks;
    std::map<int64_t, Row> rows; ///< by bank
    NumberedTimes times;         ///< done of requests; of a cache: of fills
    std::optional<CacheContents> contents;
    InstructionTiming::StorageUse use;
  };
  std::vector<State> states; ///< by storage

private:
  void beats(MemoryRequest &request, StepClock &clock);
  void line(std::vector<MemoryRequest> &all, int32_t which, size_t line, StepClock &clock);
  Cycles doneOf(const MemoryRequest &request, Cycles floor) const;
  void child(std::vector<MemoryRequest> &all, int32_t which, Cycles begin, StepClock &clock);

  const Microarchitecture *machine;
};

} // namespace accord::microarchitecture
