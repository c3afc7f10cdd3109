"""A cluster of Ray with three nodes on this machine, one processor each. Run by the Python that has Ray: says
the address; each line on standard input removes a node as a loss of power would; ends with standard input."""

import os
import pathlib
import shutil
import sys
import tempfile

from ray.cluster_utils import Cluster

OBJECT_STORE_BYTES = 80 << 20

if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="ray")
    # Ray notes the newest cluster in the folder "ray" of this one, which it does not make.
    os.environ["RAY_TMPDIR"] = folder
    pathlib.Path(folder, "ray").mkdir()
    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "temp_dir": folder})
    others = [cluster.add_node(**node) for _ in range(2)]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(others.pop(), allow_graceful=False)
        print("removed", flush=True)
    cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
