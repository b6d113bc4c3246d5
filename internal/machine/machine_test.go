package machine

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// plain is a machine of eight cores and 16 GiB, of which half is in use, without
// control groups.
var plain = map[string]string{
	"proc/self/status": "Name:\theadrace\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0\n",
	"proc/meminfo":     "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n",
}

const gib = 1 << 30

// tree is plain with some files more, or others.
func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for _, some := range []map[string]string{plain, files} {
		for name, text := range some {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return root
}

const (
	mountV2     = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountV1CPU  = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	mountV1Mem  = "34 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	otherMounts = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n22 " +
		"1 254:1 / / rw - ext4 /dev/sda1 rw\n25 22 0:23 / /proc rw\n\n"
)

func TestMachines(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  Machine
	}{
		"no control groups": {
			nil,
			Machine{8, "affinity", 8 * gib, "/proc/meminfo"},
		},
		"affinity with gaps": {
			map[string]string{"proc/self/status": "Cpus_allowed_list:\t0-1,5,64-66\n"},
			Machine{6, "affinity", 8 * gib, "/proc/meminfo"},
		},
		"v2, no limits": {
			map[string]string{
				"proc/self/mountinfo":                  otherMounts + mountV2,
				"proc/self/cgroup":                     "0::/user.slice\n",
				"sys/fs/cgroup/user.slice/cpu.max":     "max 100000\n",
				"sys/fs/cgroup/user.slice/memory.max":  "max\n",
				"sys/fs/cgroup/user.slice/memory.high": "max\n",
			},
			Machine{8, "affinity", 8 * gib, "/proc/meminfo"},
		},
		"v2, a container that sees its group as the root": {
			map[string]string{
				"proc/self/mountinfo":          mountV2,
				"proc/self/cgroup":             "0::/\n",
				"sys/fs/cgroup/cpu.max":        "250000 100000\n",
				"sys/fs/cgroup/memory.max":     "4294967296\n",
				"sys/fs/cgroup/memory.current": "3221225472\n",
				"sys/fs/cgroup/memory.stat": "anon 1073741824\nfile 2147483648\nshmem " +
					"0\ninactive_file 1073741824\nactive_file 1073741824\n",
			},
			Machine{3, "/sys/fs/cgroup/cpu.max", 3 * gib, "/sys/fs/cgroup/memory.max"},
		},
		"v2, nested: the tightest of each counts": {
			map[string]string{
				"proc/self/mountinfo":               mountV2,
				"proc/self/cgroup":                  "0::/a/b/c\n",
				"sys/fs/cgroup/a/cpu.max":           "200000 100000\n",
				"sys/fs/cgroup/a/b/cpu.max":         "max 100000\n",
				"sys/fs/cgroup/a/b/c/cpu.max":       "600000 100000\n",
				"sys/fs/cgroup/a/memory.max":        "8589934592\n",
				"sys/fs/cgroup/a/memory.current":    "7516192768\n",
				"sys/fs/cgroup/a/b/c/memory.max":    "4294967296\n",
				"sys/fs/cgroup/a/b/c/memory.high":   "max\n",
				"sys/fs/cgroup/a/b/memory.current":  "1\n",
				"sys/fs/cgroup/a/b/c/memory.curren": "1\n",
			},
			Machine{2, "/sys/fs/cgroup/a/cpu.max", 1 * gib, "/sys/fs/cgroup/a/memory.max"},
		},
		"v2, slowed down before it is refused": {
			map[string]string{
				"proc/self/mountinfo":            mountV2,
				"proc/self/cgroup":               "0::/a\n",
				"sys/fs/cgroup/a/memory.max":     "4294967296\n",
				"sys/fs/cgroup/a/memory.high":    "2147483648\n",
				"sys/fs/cgroup/a/memory.current": "1073741824\n",
			},
			Machine{8, "affinity", 1 * gib, "/sys/fs/cgroup/a/memory.high"},
		},
		"v2, more in use than allowed": {
			map[string]string{
				"proc/self/mountinfo":          mountV2,
				"proc/self/cgroup":             "0::/\n",
				"sys/fs/cgroup/memory.max":     "1000\n",
				"sys/fs/cgroup/memory.current": "2000\n",
			},
			Machine{8, "affinity", 0, "/sys/fs/cgroup/memory.max"},
		},
		"v1": {
			map[string]string{
				"proc/self/mountinfo":                             otherMounts + mountV1CPU + mountV1Mem,
				"proc/self/cgroup":                                "9:name=systemd:/job\n5:cpu,cpuacct:/job\n4:memory:/job/step\n0::/\n",
				"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":  "50000\n",
				"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":      "-1\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":     "100000\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":      "9223372036854771712\n",
				"sys/fs/cgroup/memory/memory.usage_in_bytes":      "8589934592\n",
				"sys/fs/cgroup/memory/job/memory.limit_in_bytes":  "6442450944\n",
				"sys/fs/cgroup/memory/job/memory.usage_in_bytes":  "5368709120\n",
				"sys/fs/cgroup/memory/job/memory.stat": "cache 1\ninactive_file " +
					"1\nactive_file 1\ntotal_inactive_file 1073741824\ntotal_active_file 0\n",
				"sys/fs/cgroup/memory/job/step/memory.limit_in_bytes": "9223372036854771712\n",
				"sys/fs/cgroup/memory/job/step/memory.usage_in_bytes": "1073741824\n",
			},
			Machine{1, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", 2 * gib, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes"},
		},
		"v1, a container whose mount shows only its own group": {
			map[string]string{
				"proc/self/mountinfo": "9 1 0:3 /docker/abc " +
					"/sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
				"proc/self/cgroup":                               "4:memory:/docker/abc/inner\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":     "3221225472\n",
				"sys/fs/cgroup/memory/memory.usage_in_bytes":     "0\n",
				"sys/fs/cgroup/memory/inner/memory.usage_in_byt": "0\n",
			},
			Machine{8, "affinity", 3 * gib, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		},
		"v1, a group that the mount does not show": {
			map[string]string{
				"proc/self/mountinfo":                        "9 1 0:3 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
				"proc/self/cgroup":                           "4:memory:/docker/abcdef\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "3221225472\n",
				"sys/fs/cgroup/memory/memory.usage_in_bytes": "0\n",
			},
			Machine{8, "affinity", 3 * gib, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		},
		"v2, a group outside the namespace": {
			map[string]string{
				"proc/self/mountinfo":   mountV2,
				"proc/self/cgroup":      "0::/../../other\n",
				"sys/fs/cgroup/cpu.max": "100000 100000\n",
			},
			Machine{1, "/sys/fs/cgroup/cpu.max", 8 * gib, "/proc/meminfo"},
		},
		"both versions: the controllers are in the first": {
			map[string]string{
				"proc/self/mountinfo": mountV1Mem +
					"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
				"proc/self/cgroup": "4:memory:/x\n0::/x\n",
				"sys/fs/cgroup/memory/x/memory.limit_in_bytes":     "2147483648\n",
				"sys/fs/cgroup/memory/x/memory.usage_in_bytes":     "1073741824\n",
				"sys/fs/cgroup/unified/x/cgroup.controllers":       "",
				"sys/fs/cgroup/unified/x/memory.pressure_disabled": "",
			},
			Machine{8, "affinity", 1 * gib, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes"},
		},
		"a mount with a space in its name": {
			map[string]string{
				"proc/self/mountinfo": `30 23 0:27 / /odd\040place rw - cgroup2 cgroup2 rw` + "\n",
				"proc/self/cgroup":    "0::/\n",
				"odd place/cpu.max":   "400000 100000",
			},
			Machine{4, "/odd place/cpu.max", 8 * gib, "/proc/meminfo"},
		},
		"nonsense": {
			map[string]string{
				"proc/self/mountinfo":          mountV2,
				"proc/self/cgroup":             "0::/\nnonsense\n",
				"sys/fs/cgroup/cpu.max":        "many few",
				"sys/fs/cgroup/memory.max":     "-5",
				"sys/fs/cgroup/memory.current": "x",
				"sys/fs/cgroup/memory.stat":    "\n inactive_file\n",
			},
			Machine{8, "affinity", 8 * gib, "/proc/meminfo"},
		},
		"a period of zero": {
			map[string]string{
				"proc/self/mountinfo":   mountV2,
				"proc/self/cgroup":      "0::/\n",
				"sys/fs/cgroup/cpu.max": "100000 0",
			},
			Machine{8, "affinity", 8 * gib, "/proc/meminfo"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Read(tree(c.files)); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// Where the system says nothing there is an answer still, and it is named a guess.
func TestNothingToRead(t *testing.T) {
	for _, root := range []fstest.MapFS{
		{},
		{"proc/self/status": {Data: []byte("Cpus_allowed_list:\t\n")}, "proc/meminfo": {Data: []byte("MemAvailable: lots\n")}},
	} {
		m := Read(root)
		if m.Cores != runtime.NumCPU() || m.CoresFrom != "the Go runtime" || m.Memory != 1*gib || !strings.Contains(m.MemoryFrom, "guess") {
			t.Errorf("%+v", m)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		cores   int
		memory  int64
		ranks   int
		workers int
		budget  int64
		hold    int64
	}{
		{8, 16 * gib, 1, 8, 2 * gib, 8 * gib},
		{8, 16 * gib, 0, 8, 2 * gib, 8 * gib},
		{8, 4 * gib, 1, 8, 1 * gib, 2 * gib},
		{8, 64 * gib, 8, 1, gib / 4, 4 * gib},
		{6, 1 * gib, 4, 1, gib / 16, gib / 8},
		{2, 0, 8, 1, 0, 1},
		{96, 1024 * gib, 8, 12, gib / 4, 64 * gib},
	} {
		m := Machine{Cores: c.cores, Memory: c.memory}
		if w, b, h := m.Workers(c.ranks), m.Budget(c.ranks), m.HoldLimit(c.ranks); w != c.workers || b != c.budget || h != c.hold {
			t.Errorf("%d cores, %d bytes, %d ranks: %d workers, budget %d, hold limit %d, want %d, %d, %d",
				c.cores, c.memory, c.ranks, w, b, h, c.workers, c.budget, c.hold)
		}
	}
}

// This machine, whatever it is: the Go runtime asked the scheduler itself, and its
// kernel knows how much memory there is.
func TestThisMachine(t *testing.T) {
	m := Here()
	if m.Cores < 1 || m.Cores > runtime.NumCPU() || m.CoresFrom == "affinity" && m.Cores != runtime.NumCPU() {
		t.Errorf("%d cores from %s, the runtime knows %d", m.Cores, m.CoresFrom, runtime.NumCPU())
	}
	if CPUs() != m.Cores {
		t.Errorf("%d CPUs, %d cores", CPUs(), m.Cores)
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text))
	total, err := strconv.ParseInt(fields[slices.Index(fields, "MemTotal:")+1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if m.Memory < 0 || m.Memory > total*1024 {
		t.Errorf("%d bytes from %s, of %d", m.Memory, m.MemoryFrom, total*1024)
	}
	t.Logf("%+v", m)
}

// Whatever the files say, the answer is one that a program can work with.
func FuzzRead(f *testing.F) {
	for _, files := range []map[string]string{plain, {
		"proc/self/mountinfo": mountV1CPU + mountV1Mem + mountV2, "proc/self/cgroup": "5:cpu,cpuacct:/job\n4:memory:/a\n0::/a/b",
	}} {
		for _, text := range slices.Sorted(maps.Values(files)) {
			f.Add(text, text, text, text, text)
		}
	}
	f.Add("0-7", "MemAvailable: 18446744073709551615 kB", mountV2, "0::/../..", "9223372036854775807 1")
	f.Add("Cpus_allowed_list: 0-1048575,0-1048575", "MemAvailable: 1", mountV2, "0::/a//b/./",
		"inactive_file 9223372036854775807\nactive_file 9223372036854775807")
	f.Fuzz(func(t *testing.T, status, meminfo, mountinfo, cgroup, limit string) {
		files := map[string]string{"proc/self/status": status, "proc/meminfo": meminfo, "proc/self/mountinfo": mountinfo,
			"proc/self/cgroup": cgroup}
		for _, folder := range []string{"", "a/", "a/b/"} {
			for _, file := range []string{"cpu.max", "memory.max", "memory.high", "memory.current", "memory.stat", "memory.limit_in_bytes", "memory.usage_in_bytes"} {
				files["sys/fs/cgroup/"+folder+file] = limit
			}
		}
		m := Read(tree(files))
		if m.Cores < 1 || m.Memory < 0 || m.CoresFrom == "" || m.MemoryFrom == "" {
			t.Fatalf("%+v", m)
		}
		if m.Workers(3) < 1 || m.Budget(3) < 0 || m.HoldLimit(3) < 0 {
			t.Fatalf("%+v: %d workers, budget %d, hold limit %d", m, m.Workers(3), m.Budget(3), m.HoldLimit(3))
		}
	})
}

func FuzzParseCPUList(f *testing.F) {
	for _, text := range []string{"", "0", "0-3", "0-3,8", "3-0", "0-", ",", "-", "0-99999999999", "0,,1", "18446744073709551616"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseCPUList(text)
		if !ok {
			return
		}
		// Counted one by one.
		want := 0
		for part := range strings.SplitSeq(text, ",") {
			from, to, _ := strings.Cut(part, "-")
			first, _ := strconv.Atoi(strings.TrimSpace(from))
			last := first
			if strings.Contains(part, "-") {
				last, _ = strconv.Atoi(strings.TrimSpace(to))
			}
			for range last - first + 1 {
				want++
			}
		}
		if n != want || n < 1 {
			t.Fatalf("%q: %d CPUs, want %d", text, n, want)
		}
	})
}

func TestOnline(t *testing.T) {
	for list, want := range map[string]int{"0-3,8\n": 5, "0\n": 1, "": 0, "3-1": 0, "0-99999999999999999999": 0} {
		if n, ok := Online(tree(map[string]string{"sys/devices/system/cpu/online": list})); n != want || ok != (want > 0) {
			t.Errorf("%q: %d %v", list, n, ok)
		}
	}
}

func TestMemoryKills(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		n     int64
		file  string
	}{
		"nobody counts": {nil, 0, ""},
		"the machine":   {map[string]string{"proc/vmstat": "nr_free_pages 5\noom_kill 3\n"}, 3, "/proc/vmstat"},
		"version 2": {map[string]string{"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.events": "low 0\noom 9\noom_kill 4\n", "proc/vmstat": "oom_kill 7\n"},
			4, "/sys/fs/cgroup/a/memory.events"},
		"version 1": {map[string]string{"proc/self/mountinfo": mountV1Mem, "proc/self/cgroup": "4:memory:/b\n",
			"sys/fs/cgroup/memory/b/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"},
			5, "/sys/fs/cgroup/memory/b/memory.oom_control"},
	} {
		if n, file := memoryKills(tree(c.files)); n != c.n || file != c.file {
			t.Errorf("%s: %d in %q, want %d in %q", name, n, file, c.n, c.file)
		}
	}
}
