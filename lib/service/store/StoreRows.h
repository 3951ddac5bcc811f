// Jobs, runs and the rest of the state as rows of tables.
#pragma once
#include "lib/service/store/ServiceStore.h"

namespace accord::service {

/// Columns in the order of their rows.
constexpr const char *kJobColumns = "id, tenant, name, submission_key, phase, reason, submitted, started, ended, "
                                    "samples, runs, failures, submitter, submission, progress";
constexpr const char *kRunColumns = "job, number, state, outcome, task, engine_id, device_type, devices, "
                                    "devices_per_node, configuration, plan, nodes, planned, planned_end, intended, "
                                    "started, stopping, ended, samples_at_start, samples_at_end, reason, exit_code";
/// Behind those of a run, the name and the tenant of its job.
constexpr const char *kRunNames = "(select name from jobs where id = job), (select tenant from jobs where id = job)";
constexpr const char *kEventColumns = "number, time, kind, job, tenant, who, text";
constexpr const char *kDrainColumns = "node, reason, who, since";
constexpr const char *kTuningColumns = "id, tenant, name, submitter, time, document";
constexpr const char *kTokenColumns = "hash, name, tenant, role, created, expires, is_revoked";

/// "insert into jobs (…) values (?, …) on conflict (id) do update set tenant = excluded.tenant, …".
std::string upsertText(const std::string &table, const std::string &columns, const std::string &keys);
/// "insert into events (…) values (?, …)".
std::string insertText(const std::string &table, const std::string &columns);

/// A text of a submission, stored once for all jobs that have it.
struct StoredFile {
  std::string path, hash, content; ///< hash: SHA-256 of the content, in hexadecimal
};
std::string contentHash(const std::string &content);
std::vector<StoredFile> filesOf(const Submission &submission);

/// Rows refuse numbers that are not finite (A1204). The row of a job has its submission without the texts of its files,
/// as they are taken out for that moment.
Result<Row> rowOf(ServedJob &job);
Result<Row> rowOf(const JobRunRecord &run);
Result<Row> rowOf(const ServiceEvent &event);
Result<Row> rowOf(const DrainRecord &drain);
Result<Row> rowOf(const TokenRecord &token);

/// What cannot be read is damaged (A1204).
Result<ServedJob> jobOf(const Row &row);
Result<JobRunRecord> runOf(const Row &row);
Result<NamedRun> namedRunOf(const Row &row);
Result<ServiceEvent> eventOf(const Row &row);
Result<DrainRecord> drainOf(const Row &row);
Result<TokenRecord> tokenOf(const Row &row);
Result<TuningRecord> tuningOf(const Row &row);

} // namespace accord::service
