"""What controllers of Kubernetes do, as far as tests of manifests and tasks see it: Jobs, JobSets, TrainJobs, admission by Kueue,
scheduling, nodes that do not answer, garbage. Each step looks at all objects of a `Store` and changes what is due."""
import copy
import time

from kubernetes_kubelet import moment, seconds_of

QUEUE = "kueue.x-k8s.io/queue-name"


def condition(target, kind, status, reason, message=""):
    conditions = target.setdefault("status", {}).setdefault("conditions", [])
    for one in conditions:
        if one["type"] == kind:
            if (one["status"], one["reason"], one["message"]) == (status, reason, message):
                return
            conditions.remove(one)
            break
    conditions.append({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": moment()})


def holds(target, *kinds):
    return any(c["type"] in kinds and c["status"] == "True" for c in target.get("status", {}).get("conditions", []))


def finished(pod):
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


class Controllers:
    def __init__(self, store, resource, scale):
        self.store, self.resource, self.scale = store, resource, scale
        self.counted = {}  # uid of a Job: pods that ended, by uid, and whether well
        self.unready = {}

    def step(self):
        with self.store.lock:
            self.kueue()
            self.train_jobs()
            self.job_sets()
            for job in self.store.all("jobs"):
                self.job(job)
            self.schedule()
            self.nodes()
            self.garbage()

    def make(self, kind, owner, metadata, spec, resource, api):
        made = {"apiVersion": api, "kind": kind, "spec": spec,
                "metadata": {**metadata, "namespace": owner["metadata"]["namespace"],
                             "ownerReferences": [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True,
                                                  "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]}}
        return self.store.create(resource, made)

    def owned(self, resource, owner):
        uid = owner["metadata"]["uid"]
        return [one for one in self.store.all(resource)
                if any(o["uid"] == uid for o in one["metadata"].get("ownerReferences", []))]

    # Admission by quota: first come, first served, in each queue.
    def kueue(self):
        work = self.store.all("workloads")
        by_owner = {w["metadata"]["ownerReferences"][0]["uid"]: w for w in work}
        for resource in ("jobs", "jobsets", "trainjobs"):
            for one in self.store.all(resource):
                if QUEUE not in one["metadata"].get("labels", {}) or one["metadata"]["uid"] in by_owner:
                    continue
                by_owner[one["metadata"]["uid"]] = self.make(
                    "Workload", one, {"name": f"{one['kind'].lower()}-{one['metadata']['name']}"},
                    {"active": True, "queueName": one["metadata"]["labels"][QUEUE]}, "workloads", "kueue.x-k8s.io/v1beta2")
        used = {}
        jobs = [one for r in ("jobs", "jobsets", "trainjobs") for one in self.store.all(r) if one["metadata"]["uid"] in by_owner]
        jobs.sort(key=lambda one: int(one["metadata"]["resourceVersion0"]))
        for one in jobs:
            load = by_owner[one["metadata"]["uid"]]
            namespace, name = one["metadata"]["namespace"], load["spec"]["queueName"]
            queue = self.store.get("localqueues", namespace, name)
            cluster = queue and self.store.get("clusterqueues", "", queue["spec"]["clusterQueue"])
            if holds(one, "Complete", "Completed", "Failed"):
                condition(load, "Finished", "True", "JobFinished")
            elif not load["spec"].get("active", True):
                condition(load, "Evicted", "True", "Deactivated", "The workload is deactivated")
                condition(load, "Admitted", "False", "NoReservation")
                one["spec"]["suspend"] = True
            elif not cluster:
                condition(load, "QuotaReserved", "False", "Inadmissible", f"LocalQueue {name} doesn't exist")
            else:
                quota = sum(int(r["nominalQuota"]) for g in cluster["spec"]["resourceGroups"] for f in g["flavors"]
                            for r in f["resources"] if r["name"] == self.resource)
                needs = self.devices(one)
                if holds(load, "Admitted") or used.get(id(cluster), 0) + needs <= quota:
                    used[id(cluster)] = used.get(id(cluster), 0) + needs
                    condition(load, "QuotaReserved", "True", "QuotaReserved")
                    condition(load, "Admitted", "True", "Admitted")
                    one["spec"]["suspend"] = False
                else:
                    condition(load, "QuotaReserved", "False", "Pending", f"insufficient unused quota for {self.resource}, {needs} more")

    def devices(self, one):
        if one["kind"] == "TrainJob":
            return one["spec"]["trainer"]["numNodes"] * one["spec"]["trainer"]["numProcPerNode"]
        jobs = [one["spec"]] if one["kind"] == "Job" else [r["template"]["spec"] for r in one["spec"]["replicatedJobs"]]
        return sum(j["completions"] * self.need(j["template"]["spec"]) for j in jobs)

    def need(self, spec):
        return sum(int(c.get("resources", {}).get("limits", {}).get(self.resource, 0)) for c in spec["containers"])

    # A JobSet with one replicated job "node", of which the patches of the TrainJob change the pods.
    def train_jobs(self):
        for train in self.store.all("trainjobs"):
            sets = self.owned("jobsets", train)
            if not sets and not holds(train, "Complete", "Failed"):
                trainer, name = train["spec"]["trainer"], train["metadata"]["name"]
                container = {"name": "node", "image": trainer["image"], "env": trainer.get("env", []),
                             "resources": trainer.get("resourcesPerNode", {})}
                for key in ("command", "args"):
                    if key in trainer:
                        container[key] = trainer[key]
                container["env"] = [*container["env"], {"name": "NODE_RANK", "valueFrom": {"fieldRef": {
                    "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}]
                pod = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}
                for patch in train["spec"].get("runtimePatches", []):
                    for job in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]:
                        changes = job["template"]["spec"]["template"]
                        pod["metadata"].update(changes.get("metadata", {}))
                        pod["spec"].update({k: v for k, v in changes["spec"].items() if k != "containers"})
                count = trainer["numNodes"]
                spec = {"replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": {
                    "completionMode": "Indexed", "completions": count, "parallelism": count, "backoffLimit": 0, "template": pod}}}],
                        "suspend": train["spec"].get("suspend", False)}
                sets = [self.make("JobSet", train, {"name": name}, spec, "jobsets", "jobset.x-k8s.io/v1alpha2")]
            for one in sets:
                one["spec"]["suspend"] = train["spec"].get("suspend", False)
                for mine, theirs in (("Complete", "Completed"), ("Failed", "Failed")):
                    if holds(one, theirs):
                        condition(train, mine, "True", "Jobs" + theirs, "jobs of the JobSet ended")

    def job_sets(self):
        for one in self.store.all("jobsets"):
            jobs = self.owned("jobs", one)
            if holds(one, "Completed", "Failed"):
                for job in jobs:
                    if not holds(job, "Complete", "Failed"):
                        self.store.delete(("jobs", job))
                continue
            for part in one["spec"]["replicatedJobs"]:
                name = f"{one['metadata']['name']}-{part['name']}-0"
                if not any(job["metadata"]["name"] == name for job in jobs) and not one["spec"].get("suspend"):
                    spec = copy.deepcopy(part["template"]["spec"])
                    spec["template"]["spec"].setdefault("subdomain", one["metadata"]["name"])
                    jobs.append(self.make("Job", one, {"name": name}, spec, "jobs", "batch/v1"))
            for job in jobs:
                job["spec"]["suspend"] = one["spec"].get("suspend", False)
            if any(holds(job, "Failed") for job in jobs):
                condition(one, "Failed", "True", "FailedJobs", "jobset failed due to one or more job failures")
                one["status"]["terminalState"] = "Failed"
            elif len(jobs) == len(one["spec"]["replicatedJobs"]) and all(holds(job, "Complete") for job in jobs):
                condition(one, "Completed", "True", "AllJobsCompleted", "jobset completed successfully")
                one["status"]["terminalState"] = "Completed"
            condition(one, "Suspended", str(one["spec"].get("suspend", False)), "SuspendedJobs", "")

    def job(self, job):
        spec, uid = job["spec"], job["metadata"]["uid"]
        counted = self.counted.setdefault(uid, {})
        pods = self.owned("pods", job)
        for pod in pods:
            if finished(pod):
                counted.setdefault(pod["metadata"]["uid"], pod["status"]["phase"] == "Succeeded")
            elif pod["metadata"].get("deletionTimestamp") and not spec.get("suspend"):
                counted.setdefault(pod["metadata"]["uid"], False)
        if holds(job, "Complete", "Failed"):
            for pod in pods:
                if not finished(pod):
                    self.store.delete(("pods", pod))
            return
        active = [pod for pod in pods if not finished(pod)]
        status = job.setdefault("status", {})
        limit = spec.get("activeDeadlineSeconds")
        if spec.get("suspend"):
            condition(job, "Suspended", "True", "JobSuspended", "Job suspended")
            for pod in active:
                self.store.delete(("pods", pod))
            return
        if holds(job, "Suspended"):
            condition(job, "Suspended", "False", "JobResumed", "Job resumed")
        status.setdefault("startTime", moment())
        good = sum(counted.values())
        status.update(succeeded=good, failed=len(counted) - good, active=len(active))
        late = limit is not None and time.time() - seconds_of(status["startTime"]) > limit * self.scale
        if late or len(counted) - good > spec.get("backoffLimit", 6):
            for pod in active:
                self.store.delete(("pods", pod))
            if not active or late:
                condition(job, "Failed", "True", "DeadlineExceeded" if late else "BackoffLimitExceeded",
                          "Job was active longer than specified deadline" if late else "Job has reached the specified backoff limit")
        elif good >= spec["completions"]:
            condition(job, "Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods")
            status["completionTime"] = moment()
        else:
            there = {pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in pods}
            for index in range(spec["completions"]):
                if str(index) not in there:
                    template = copy.deepcopy(spec["template"])
                    metadata = template.get("metadata", {})
                    metadata.setdefault("annotations", {})["batch.kubernetes.io/job-completion-index"] = str(index)
                    metadata.setdefault("labels", {})["batch.kubernetes.io/job-completion-index"] = str(index)
                    metadata["name"] = f"{job['metadata']['name']}-{index}-{self.store.suffix()}"
                    pod = self.make("Pod", job, metadata, template["spec"], "pods", "v1")
                    pod["status"] = {"phase": "Pending", "conditions": []}

    def schedule(self):
        nodes, pods = self.store.all("nodes"), self.store.all("pods")
        for pod in sorted(pods, key=lambda one: int(one["metadata"]["resourceVersion0"])):
            if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
                continue
            why = {}
            for node in nodes:
                reason = self.refusal(pod, node, pods)
                if not reason:
                    pod["spec"]["nodeName"] = node["metadata"]["name"]
                    condition(pod, "PodScheduled", "True", "")
                    break
                why[reason] = why.get(reason, 0) + 1
            else:
                text = ", ".join(f"{count} {reason}" for reason, count in sorted(why.items()))
                condition(pod, "PodScheduled", "False", "Unschedulable", f"0/{len(nodes)} nodes are available: {text}.")

    def refusal(self, pod, node, pods):
        spec, name = pod["spec"], node["metadata"]["name"]
        labels = {"kubernetes.io/hostname": name, **node["metadata"].get("labels", {})}
        affinity = spec.get("affinity", {})
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        terms = affinity.get("nodeAffinity", {}).get(required, {}).get("nodeSelectorTerms")
        if terms and not any(name in field["values"] for term in terms for field in term["matchFields"]):
            return "node(s) didn't match Pod's node affinity/selector"
        if any(labels.get(k) != v for k, v in spec.get("nodeSelector", {}).items()):
            return "node(s) didn't match Pod's node affinity/selector"
        if not holds(node, "Ready"):
            return "node(s) had untolerated taint {node.kubernetes.io/unreachable: }"
        if node.get("spec", {}).get("unschedulable"):
            return "node(s) were unschedulable"
        here = [p for p in pods if p["spec"].get("nodeName") == name and not finished(p)]
        for rule in affinity.get("podAntiAffinity", {}).get(required, []):
            wanted = rule["labelSelector"]["matchLabels"].items()
            if any(wanted <= p["metadata"].get("labels", {}).items() for p in here):
                return "node(s) didn't match pod anti-affinity rules"
        free = int(node["status"]["allocatable"].get(self.resource, 0)) - sum(self.need(p["spec"]) for p in here)
        return "" if self.need(spec) <= free else f"Insufficient {self.resource}"

    def nodes(self):
        """Pods of nodes that do not answer are told to go when they do not tolerate it any more."""
        for node in self.store.all("nodes"):
            name = node["metadata"]["name"]
            if holds(node, "Ready"):
                self.unready.pop(name, None)
                continue
            since = self.unready.setdefault(name, time.time())
            for pod in self.store.all("pods"):
                if pod["spec"].get("nodeName") == name and not finished(pod) and not pod["metadata"].get("deletionTimestamp"):
                    tolerated = min((t.get("tolerationSeconds", 300) for t in pod["spec"].get("tolerations", [])
                                     if t.get("key") == "node.kubernetes.io/unreachable"), default=300)
                    if time.time() - since > tolerated * self.scale:
                        condition(pod, "DisruptionTarget", "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
                        self.store.delete(("pods", pod))

    def garbage(self):
        uids = {one["metadata"]["uid"] for one in self.store.everything()}
        for resource in ("workloads", "jobsets", "jobs", "pods", "services"):
            for one in self.store.all(resource):
                owners = one["metadata"].get("ownerReferences", [])
                if owners and not any(owner["uid"] in uids for owner in owners):
                    self.store.delete((resource, one))
        for resource in ("jobs", "jobsets"):
            for one in self.store.all(resource):
                keep, ends = one["spec"].get("ttlSecondsAfterFinished"), one.get("status", {}).get("conditions", [])
                for end in ends:
                    if keep is not None and end["type"] in ("Complete", "Completed", "Failed") and end["status"] == "True":
                        if time.time() - seconds_of(end["lastTransitionTime"]) > keep:
                            self.store.delete((resource, one))
