#!/usr/bin/env python3
"""Makes the topologies of this folder: nodes as their documents describe them, in hwloc's XML. None was
recorded on such a node; each says so in its first info. No comments: hwloc's own small parser knows none. Run it in this folder to make them again."""
from xml.sax.saxutils import quoteattr

GIB = 1 << 30
NETWORK, OPENFABRICS, GPU, COPROC = 2, 3, 1, 5


def bits(numbers):
    """hwloc's bitmap: 32-bit words, the highest first."""
    value = sum(1 << n for n in set(numbers))
    words = []
    while value or not words:
        words.append(f"0x{value & 0xffffffff:08x}")
        value >>= 32
    return ",".join(reversed(words))


class Node:
    def __init__(self):
        self.lines, self.serial, self.depth = [], 0, 0

    def open(self, kind, **attributes):
        self.serial += 1
        text = "".join(f" {k}={quoteattr(str(v))}" for k, v in attributes.items())
        self.lines.append(f"{' ' * self.depth}<object type=\"{kind}\"{text} gp_index=\"{self.serial}\">")
        self.depth += 1

    def close(self):
        self.depth -= 1
        self.lines.append(f"{' ' * self.depth}</object>")

    def info(self, name, value):
        self.lines.append(f"{' ' * self.depth}<info name={quoteattr(name)} value={quoteattr(value)}/>")

    def sets(self, pus, memories):
        return {"cpuset": bits(pus), "complete_cpuset": bits(pus),
                "nodeset": bits(memories), "complete_nodeset": bits(memories)}

    def device(self, bus, pci_type, names):
        """names: (name, type of device) or (name, type, its parts)."""
        self.open("PCIDev", pci_busid=f"0000:{bus:02x}:00.0", pci_type=pci_type, pci_link_speed="0.0")
        for name, kind, *parts in names:
            self.open("OSDev", name=name, osdev_type=kind)
            for part in (parts[0] if parts else []):
                self.open("OSDev", name=part, osdev_type=kind)
                self.close()
            self.close()
        self.close()

    def bridge(self, first, devices):
        if not devices:
            return
        last = first + len(devices) - 1
        self.open("Bridge", bridge_type="0-1", depth=0, bridge_pci=f"0000:[{first:02x}-{last:02x}]")
        for i, (pci_type, names) in enumerate(devices):
            self.device(first + i, pci_type, names)
        self.close()

    def write(self, name):
        with open(name, "w", encoding="utf-8") as f:
            f.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
                    '<topology version="2.0">\n'
                    + "\n".join(self.lines) + "\n</topology>\n")


def make(name, what, cpu, packages, cores, memories, devices, far=(), forbidden=()):
    """Two threads a core: i and i + packages * cores. memories: GiB, those of a package side by side.
    devices: of each package; far: those whose place the firmware does not tell. forbidden: threads that
    a cgroup keeps from us."""
    node, half = Node(), packages * cores
    pus, nodes = range(2 * half), range(packages * len(memories))
    node.open("Machine", os_index=0, **node.sets(pus, nodes),
              allowed_cpuset=bits(set(pus) - set(forbidden)), allowed_nodeset=bits(nodes))
    node.info("MadeNotRecorded", what)
    node.info("Architecture", "x86_64")
    for p in range(packages):
        own = [p + packages * m for m in range(len(memories))]
        mine = [i + h for i in range(p * cores, (p + 1) * cores) for h in (0, half)]
        node.open("Package", os_index=p, **node.sets(mine, own))
        node.info("CPUModel", cpu)
        for memory, gib in zip(own, memories):
            node.open("NUMANode", os_index=memory, **node.sets(mine, [memory]), local_memory=gib * GIB)
            node.close()
        for c in range(cores):
            first = p * cores + c
            node.open("Core", os_index=c, **node.sets([first, first + half], own))
            for pu in (first, first + half):
                node.open("PU", os_index=pu, **node.sets([pu], own))
                node.close()
            node.close()
        node.bridge(16 + 64 * p, devices[p])
        node.close()
    node.bridge(16, far)
    node.close()
    node.write(name)


def pvc(i):
    return "0380 [8086:0bd5] [8086:0000] 2f", [(f"ze{i}", COPROC, [f"ze{i}.0", f"ze{i}.1"])]


def hsn(i):
    return "0200 [17db:0501] [17db:0000] 00", [(f"hsn{i}", NETWORK)]


def connectx(i):
    return "0207 [15b3:1021] [15b3:0000] 00", [(f"ib{i}", NETWORK), (f"mlx5_{i}", OPENFABRICS)]


def hopper(i):
    return "0302 [10de:2330] [10de:0000] a1", [(f"cuda{i}", COPROC), (f"nvml{i}", GPU)]


ETHERNET = "0200 [8086:1563] [8086:0000] 01", [("eno1", NETWORK)]
CONSOLE = "0300 [1a03:2000] [1a03:0000] 52", [("card0", GPU)]
MAX = "Intel(R) Xeon(R) CPU Max 9470C"
XEON = "Intel(R) Xeon(R) Platinum 8462Y+"

aurora = [[pvc(i) for i in range(3)] + [hsn(i) for i in range(4)],
          [pvc(i) for i in range(3, 6)] + [hsn(i) for i in range(4, 8)]]
make("aurora.xml", "an Aurora node after ALCF's user guides", MAX, 2, 52, (512, 64), aurora)
make("aurora_hidden.xml", "an Aurora node whose devices' places are not told", MAX, 2, 52, (512, 64), [[], []],
     [("0380 [8086:0bd5] [8086:0000] 2f", [(f"card{i}", GPU)]) for i in range(6)] + aurora[0][3:] + aurora[1][3:])
make("aurora_cgroup.xml", "an Aurora node, its system's cores kept by a cgroup", MAX, 2, 52, (512, 64), aurora,
     forbidden=(0, 104, 52, 156))

dual = [[ETHERNET, CONSOLE] + [connectx(i) for i in (0, 1)] + [hopper(i) for i in range(4)],
        [connectx(i) for i in (2, 3)] + [hopper(i) for i in range(4, 8)]]
make("dual.xml", "two sockets with 4 InfiniBand NICs and 8 GPUs", XEON, 2, 32, (512,), dual)
make("dual_cgroup.xml", "the same, 8 cores of each socket given by a cgroup", XEON, 2, 32, (512,), dual,
     forbidden=[i + h for i in range(64) for h in (0, 64) if not (8 <= i < 16 or 40 <= i < 48)])
