package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/machine"
)

const memory = "memory"

// little is a budget with which a loader works, but cannot keep many cores at work: a
// few images and batches.
const little = 64 << 20

func (e *examiner) memory() {
	here := machine.Read(e.Root)
	f := Finding{Topic: memory, Name: "available", Fact: bytesize.Text(here.Memory), Value: here.Memory}
	if all := e.meminfo("MemTotal"); all > 0 {
		f.Fact += " of " + bytesize.Text(all)
	}
	f.Fact += ", as " + here.MemoryFrom + " says"
	e.add(f)
	budget, hold := here.Budget(1), here.HoldLimit(1)
	f = Finding{Topic: memory, Name: "budget", Value: budget,
		Fact: fmt.Sprintf("%s for a loader's work, and a consumer may hold %s of batches: "+
			"the defaults of memory and hold_limit", bytesize.Text(budget), bytesize.Text(hold))}
	if budget < little {
		f.Status = Low
		f.Advice = "few images can be processed at once: give the container more memory (docker run --memory, " +
			"limits.memory of a pod), end what else uses it, or set memory for the loader"
	}
	e.add(f)
}

// pageCache says how much of the files on disks is in memory.
func (e *examiner) pageCache() {
	cached := e.meminfo("Cached") - e.meminfo("Shmem")
	if cached < 0 || e.meminfo("Cached") < 0 {
		return
	}
	e.add(Finding{Topic: memory, Name: "file cache", Value: cached,
		Fact: bytesize.Text(cached) + " of files are in memory: a data set that fits is read from the disk only in its first epoch"})
}

// meminfo is a line of /proc/meminfo in bytes; negative where there is none.
func (e *examiner) meminfo(name string) int64 {
	text, _ := machine.Field(e.read("proc/meminfo"), name)
	n, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	if err != nil || n < 0 || n > 1<<50 {
		return -1
	}
	return n * 1024
}
