"""A class for each document that a command prints. Made by scripts/python_package.py; do not edit."""

from .actor import Actor as Actor
from .calibrate import Calibrate as Calibrate
from .choose import Choose as Choose
from .compare import Compare as Compare
from .compare_cluster import CompareCluster as CompareCluster
from .diff import Diff as Diff
from .emit import Emit as Emit
from .estimate import Estimate as Estimate
from .explain import Explain as Explain
from .job_schedule import JobSchedule as JobSchedule
from .jobs import Jobs as Jobs
from .latency import Latency as Latency
from .layer_plan import LayerPlan as LayerPlan
from .list import ListAnswer as ListAnswer
from .mine import Mine as Mine
from .operations import Operations as Operations
from .partition import Partition as Partition
from .placement import Placement as Placement
from .plan import Plan as Plan
from .prune import Prune as Prune
from .schedule import Schedule as Schedule
from .time import Time as Time
from .unknown import Unknown as Unknown
from .verify import Verify as Verify
from .vote import Vote as Vote
from .vote_answers import VoteAnswers as VoteAnswers
