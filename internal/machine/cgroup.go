package machine

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
)

// controlGroups are the groups that the process is in, for the two controllers that
// matter, in either version of the interface. Both may be in use at once, each for
// other controllers.
type controlGroups struct {
	root                  fs.FS
	cpu, memory1, unified []string // folders from the process's group up to the mount, without the leading slash
}

func readControlGroups(root fs.FS) controlGroups {
	g := controlGroups{root: root}
	mounts := parseMounts(readText(root, "proc/self/mountinfo"))
	memberships := parseMemberships(readText(root, "proc/self/cgroup"))
	for _, m := range mounts {
		switch {
		case m.kind == "cgroup2":
			g.unified = m.foldersOf(memberships[""])
		case m.kind == "cgroup" && m.has("cpu"):
			g.cpu = m.foldersOf(memberships["cpu"])
		case m.kind == "cgroup" && m.has("memory"):
			g.memory1 = m.foldersOf(memberships["memory"])
		}
	}
	return g
}

// cores is the smallest CPU quota, rounded up: rounding down would leave part of it
// unused.
func (g controlGroups) cores() (n int, from string, ok bool) {
	least := math.MaxInt64
	consider := func(quota, period int64, file string) {
		if quota > 0 && period > 0 {
			if n := int((quota-1)/period + 1); n < least {
				least, from = n, "/"+file
			}
		}
	}
	for _, folder := range g.unified {
		file := folder + "/cpu.max"
		if quota, period, ok := strings.Cut(strings.TrimSpace(readText(g.root, file)), " "); ok {
			consider(g.parse(quota), g.parse(period), file)
		}
	}
	for _, folder := range g.cpu {
		file := folder + "/cpu.cfs_quota_us"
		consider(g.number(file), g.number(folder+"/cpu.cfs_period_us"), file)
	}
	return least, from, from != ""
}

// memory is the least that a group has left: its limit less its usage. Of the usage,
// the file cache does not count: a loader's own reading fills it, and the kernel drops
// it before it refuses memory. Shared memory is not on the kernel's lists of files, so
// it does count.
func (g controlGroups) memory() (left int64, from string, ok bool) {
	left = math.MaxInt64
	consider := func(folder, limitFile, usageFile, cachePrefix string) {
		limit, usage := g.number(folder+"/"+limitFile), g.number(folder+"/"+usageFile)
		if limit < 0 || usage < 0 {
			return
		}
		usage = max(0, usage-g.fileCache(folder+"/memory.stat", cachePrefix))
		if n := max(0, limit-usage); n < left {
			left, from = n, "/"+folder+"/"+limitFile
		}
	}
	for _, folder := range g.unified {
		consider(folder, "memory.max", "memory.current", "")
		consider(folder, "memory.high", "memory.current", "") // beyond it processes are slowed down to a crawl
	}
	for _, folder := range g.memory1 {
		consider(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
	}
	return left, from, from != ""
}

// fileCache is the number of bytes of files that a group has in memory.
func (g controlGroups) fileCache(file, prefix string) (n int64) {
	for line := range strings.Lines(readText(g.root, file)) {
		name, value, _ := strings.Cut(line, " ")
		if name == prefix+"inactive_file" || name == prefix+"active_file" {
			n += max(0, min(g.parse(value), math.MaxInt64/4))
		}
	}
	return n
}

// number is the number in a file; negative where there is none, or it says that there
// is no limit: "max" in one version, -1 in the other.
func (g controlGroups) number(file string) int64 { return g.parse(readText(g.root, file)) }

func (g controlGroups) parse(text string) int64 {
	n, ok := parseNumber(text)
	if !ok {
		return -1
	}
	return n
}

// parseMemberships reads /proc/self/cgroup, "4:memory:/a/b", into the group by
// controller; the second version has the name "".
func parseMemberships(text string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			groups[controller] = parts[2]
		}
	}
	return groups
}

// mount is a line of /proc/self/mountinfo: root, a folder of the mounted file system,
// is seen at point.
type mount struct {
	kind, root, point string
	options           []string
}

func (m mount) has(controller string) bool { return slices.Contains(m.options, controller) }

// foldersOf lists where a group and those that contain it are seen, as far up as the
// mount shows.
func (m mount) foldersOf(group string) []string {
	if !strings.HasPrefix(group, "/") {
		return nil // not a member
	}
	below, ok := strings.CutPrefix(path.Clean(group), strings.TrimSuffix(m.root, "/"))
	if !ok || below != "" && below[0] != '/' || strings.HasPrefix(group, "/..") {
		// The mount shows another part of the tree than the one that the group is named
		// in: a namespace is between, as in a container that was given the host's
		// /proc. Its root is the nearest that can be seen.
		below = ""
	}
	var folders []string
	for at := path.Join(m.point, below); ; at = path.Dir(at) {
		folders = append(folders, strings.TrimPrefix(at, "/"))
		if at == m.point || at == "/" {
			return folders
		}
	}
}

// parseMounts reads /proc/self/mountinfo. Lines that it does not understand are none of
// control groups.
func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		place, what, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(place), strings.Fields(what)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		point := path.Clean(unescape(left[4]))
		if !strings.HasPrefix(point, "/") {
			continue
		}
		mounts = append(mounts, mount{kind: right[0], root: path.Clean(unescape(left[3])),
			point: point, options: strings.Split(right[2], ",")})
	}
	return mounts
}

// unescape undoes the octal escapes of mountinfo.
func unescape(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}
