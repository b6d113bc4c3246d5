package machine

import (
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
)

// affinity is the number of CPUs that the process may be scheduled on.
func affinity(root fs.FS) (int, bool) {
	list, ok := Field(readText(root, "proc/self/status"), "Cpus_allowed_list")
	if !ok {
		return 0, false
	}
	return parseCPUList(list)
}

// Online is the number of CPUs that the machine has, whoever may use them; not ok where
// it does not say.
func Online(root fs.FS) (n int, ok bool) {
	return parseCPUList(strings.TrimSpace(readText(root, "sys/devices/system/cpu/online")))
}

// memAvailable is the kernel's estimate of what is available without swapping.
func memAvailable(root fs.FS) (int64, bool) {
	text, ok := Field(readText(root, "proc/meminfo"), "MemAvailable")
	if !ok {
		return 0, false
	}
	n, ok := parseNumber(strings.TrimSuffix(text, " kB"))
	return min(n, math.MaxInt64/1024) * 1024, ok
}

// Field finds "Name : value" in the text of a file of /proc that consists of such lines.
func Field(text, name string) (string, bool) {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// parseCPUList counts the CPUs of a list such as "0-3,8".
func parseCPUList(list string) (n int, ok bool) {
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, ok1 := parseNumber(from)
		last, ok2 := parseNumber(to)
		// The kernel knows 8,192 CPUs at most; far beyond that it is no list of CPUs.
		if !ok1 || !ok2 || first > last || last >= 1<<20 {
			return 0, false
		}
		n += int(last - first + 1)
	}
	return n, n <= 1<<20
}

// parseNumber reads a number from 0 on. Larger ones than an int64 holds become the
// largest that it does: "no limit" is written so.
func parseNumber(text string) (int64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, false
	}
	return int64(min(n, math.MaxInt64)), true
}

// readText is the file's content; empty where it cannot be read.
func readText(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(b)
}

// MemoryKills is how many processes the kernel has ended for lack of memory, and the
// file that counts them: those of this process's control group, else those of the
// machine. The file is empty where nobody counts.
func MemoryKills() (n int64, file string) { return memoryKills(os.DirFS("/")) }

func memoryKills(root fs.FS) (n int64, file string) {
	groups := readControlGroups(root)
	var files []string
	if len(groups.memory1) > 0 {
		files = append(files, groups.memory1[0]+"/memory.oom_control")
	}
	if len(groups.unified) > 0 {
		files = append(files, groups.unified[0]+"/memory.events")
	}
	for _, file := range append(files, "proc/vmstat") {
		for line := range strings.Lines(readText(root, file)) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" {
				if n, ok := parseNumber(value); ok {
					return n, "/" + file
				}
			}
		}
	}
	return 0, ""
}
