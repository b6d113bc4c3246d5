package report

import (
	"os"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/stats"
)

// process is what /proc says of one.
func process(root fstest.MapFS, pid, began, ticks, read int, told bool) {
	dir := "proc/" + strconv.Itoa(pid) + "/"
	n := strconv.Itoa
	root[dir+"stat"] = &fstest.MapFile{Data: []byte(n(pid) + " (a) b) S 1 1 1 0 -1 0 0 0 0 0 " +
		n(ticks) + " 10 0 0 20 0 4 0 " + n(began) + " 0 0\n")}
	if told {
		root[dir+"status"] = &fstest.MapFile{Data: []byte("VmHWM: 30 kB\nVmRSS: 20 kB\nRssShmem: 4 kB\nVmSwap: 0 kB\n")}
		root[dir+"schedstat"] = &fstest.MapFile{Data: []byte("7 " + n(3*ticks) + " 9\n")}
		root[dir+"io"] = &fstest.MapFile{Data: []byte("rchar: " + n(read) + "\nwchar: 5\nread_bytes: 6\nwrite_bytes: 7\n")}
	}
}

// What was used before the loader was opened is not counted, but of processes that began
// later all is; those that have gone, or that nobody may see, are left out.
func TestUsage(t *testing.T) {
	root := fstest.MapFS{}
	process(root, 11, 100, 1000, 500, true)
	process(root, 12, 200, 50, 0, true)
	process(root, 13, 300, 1, 1, true)
	process(root, 14, 300, 1, 1, false)
	dev := "proc/" + strconv.Itoa(os.Getpid()) + "/net/dev"
	line := func(received string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("eth0: " + received + " 0 0 0 0 0 0 0 20 0 0 0 0 0 0 0\n")}
	}
	root[dev] = line("100")
	root["proc/stat"] = &fstest.MapFile{Data: []byte("cpu  100 10 20 500 5 1 2 3 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")}
	all := []Process{{"trainer", 11}, {"engine", 12}, {"one", 13}, {"two", 14}, {"late", 15}, {"none", 16}}
	u := OpenUsage(root, 8, all)

	process(root, 11, 100, 1250, 700, true)
	process(root, 12, 999, 40, 33, true) // another one, of the same number
	delete(root, "proc/13/stat")
	process(root, 14, 300, 3, 1, false)
	process(root, 15, 400, 5, 9, true)
	root[dev] = line("99") // an interface has gone

	root["proc/stat"] = &fstest.MapFile{Data: []byte("cpu  200 30 50 540 7 2 4 6 90 0\n")}

	got := u.Read(u.opened.Add(time.Minute), all)
	const tick = 10 * time.Millisecond
	used := func(name string, pid int, user, system time.Duration, read int64, other int64) stats.Process {
		return stats.Process{
			Name: name, PID: pid, User: user, System: system, Threads: 4, Delayed: new(int64(user / tick * 3)),
			Resident: new(int64(20 << 10)), Shared: new(int64(4 << 10)), Peak: new(int64(30 << 10)), Swapped: new(int64(0)),
			Read: new(read), ReadDisk: new(6 * other), Written: new(5 * other), WrittenDisk: new(7 * other),
		}
	}
	want := stats.Resources{Elapsed: time.Minute, Cores: 8, Network: &stats.Network{},
		Machine: &stats.Machine{Busy: 156 * tick, Idle: 42 * tick}, Processes: []stats.Process{
			used("trainer", 11, 250*tick, 0, 200, 0),
			used("engine", 12, 40*tick, 10*tick, 33, 1),
			{Name: "two", PID: 14, User: 2 * tick, Threads: 4},
			used("late", 15, 5*tick, 10*tick, 9, 1),
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	delete(root, dev)
	root["proc/stat"] = &fstest.MapFile{Data: []byte("cpu none\n")}
	if got := u.Read(time.Now(), nil); got.Network != nil || got.Processes != nil || got.Machine != nil {
		t.Errorf("%+v", got)
	}
}
