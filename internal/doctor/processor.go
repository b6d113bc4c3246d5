package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/headrace/headrace/internal/machine"
)

const processor = "CPU"

func (e *examiner) processor() {
	info := e.read("proc/cpuinfo")
	model, _ := machine.Field(info, "model name")
	if model == "" { // ARM has numbers
		implementer, _ := machine.Field(info, "CPU implementer")
		part, _ := machine.Field(info, "CPU part")
		model = strings.TrimSpace(strings.Join([]string{"implementer", implementer, "part", part}, " "))
	}
	if model == "implementer  part" {
		model = "unknown"
	}
	e.add(Finding{Topic: processor, Name: "model", Fact: model + ", " + runtime.GOARCH + instructions(), Value: model})
}

// instructions are the sets that matter for pixels.
func instructions() string {
	var has []string
	for _, s := range []struct {
		name string
		has  bool
	}{
		{"SSE4.1", cpu.X86.HasSSE41}, {"AVX2", cpu.X86.HasAVX2}, {"AVX-512", cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL},
		{"VBMI", cpu.X86.HasAVX512VBMI}, {"NEON", cpu.ARM64.HasASIMD}, {"SVE", cpu.ARM64.HasSVE},
	} {
		if s.has {
			has = append(has, s.name)
		}
	}
	if len(has) == 0 {
		return ""
	}
	return " with " + strings.Join(has, ", ")
}

// Where cores are limited, what could lift that.
const (
	byAffinity = "the affinity mask says so: taskset -c, or the batch system's --cpus-per-task, gives more"
	byQuota    = "the container says so: docker run --cpus, or limits.cpu of a pod, gives more"
)

func (e *examiner) cores() {
	here := machine.Read(e.Root)
	f := Finding{Topic: processor, Name: "cores", Fact: fmt.Sprintf("%d usable", here.Cores), Value: here.Cores}
	if all, ok := machine.Online(e.Root); ok && all > here.Cores {
		f.Fact += fmt.Sprintf(" of %d, limited by %s", all, here.CoresFrom)
		f.Status, f.Advice = Low, "loading is as fast as there are cores; "+byQuota
		if here.CoresFrom == "affinity" {
			f.Advice = "loading is as fast as there are cores; " + byAffinity
		}
	}
	if given := os.Getenv("GOMAXPROCS"); given != "" {
		n := runtime.GOMAXPROCS(0)
		f.Fact += fmt.Sprintf("; GOMAXPROCS=%s is in the environment", given)
		if n < here.Cores {
			f.Status, f.Advice = Low, fmt.Sprintf("of the cores %d are used: unset GOMAXPROCS", n)
		}
	}
	e.add(f)
}

var node = regexp.MustCompile(`^node[0-9]+$`)

// nodes looks for memory that is nearer to some cores than to others.
func (e *examiner) nodes() {
	entries, _ := fs.ReadDir(e.Root, "sys/devices/system/node")
	n := 0
	for _, entry := range entries {
		if node.MatchString(entry.Name()) {
			n++
		}
	}
	if n < 2 {
		return // as on most machines
	}
	e.add(Finding{Topic: processor, Name: "NUMA", Fact: fmt.Sprintf("%d nodes", n), Value: n,
		Advice: "memory of another node is slower: with several training processes, pin each to one node: " +
			"numactl --cpunodebind=0 --membind=0"})
}

// kernels says with which instructions pixels are computed.
func (e *examiner) kernels() {
	used, limit := e.report.Build.Features.Kernels, os.Getenv("HEADRACE_SIMD")
	f := Finding{Topic: processor, Name: "kernels", Fact: used, Value: used}
	switch {
	case used == "":
		f.Fact, f.Status = "plain Go", Low
		f.Advice = "this program was built without C, and is several times slower on images: use the wheel, or build with cgo (make build)"
	case limit != "":
		f.Status, f.Advice = Low, fmt.Sprintf("HEADRACE_SIMD=%s is in the environment, for tests: unset it", limit)
	case used == "plain":
		f.Fact = "plain C"
		f.Advice = "this CPU has none of the instructions that the kernels use"
	}
	e.add(f)
}
