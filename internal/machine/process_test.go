package machine

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

// statLine is a line as the kernel writes it, with a name.
func statLine(pid int, name string) string {
	return strconv.Itoa(pid) + " (" + name + ") S 1 4711 4711 0 -1 4194560 2310 99 3 4 " +
		"250 50 7 3 20 0 12 0 8123 1234567 890 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n"
}

const (
	statusText = "Name:\tpython3\nUmask:\t0022\nVmPeak:\t  900000 kB\nVmHWM:\t   70000 kB\nVmRSS:\t   " +
		"60000 kB\nRssAnon:\t   40000 kB\nRssFile:\t    9000 kB\nRssShmem:\t   11000 kB\nVmSwap:\t     100 kB\nThreads:\t12\n"
	ioText  = "rchar: 1000\nwchar: 200\nsyscr: 5\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"
	devText = "Inter-|   Receive                                                |  Transmit\n face |bytes " +
		"   packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n  eth0:1500 3 0 0 0 0 0 0 300 2 0 0 0 0 0 0\nwlan0: " +
		"20 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n"
)

func whole(pid int, name string) Process {
	return Process{
		PID: pid, Began: 8123, User: 2500 * time.Millisecond, System: 500 * time.Millisecond, Children: 100 * time.Millisecond, Threads: 12,
		Memory: &Memory{Resident: 60000 << 10, Shared: 11000 << 10, Peak: 70000 << 10, Swapped: 100 << 10},
		IO:     &IO{Read: 1000, ReadDisk: 4096, Written: 200, WrittenDisk: 8192},
	}
}

func processFiles(pid int, stat, status, io string) fstest.MapFS {
	dir := "proc/" + strconv.Itoa(pid) + "/"
	files := fstest.MapFS{}
	for name, text := range map[string]string{"stat": stat, "status": status, "io": io} {
		if text != "" {
			files[dir+name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return files
}

// Anything may be in a program's name.
func TestReadProcess(t *testing.T) {
	for _, name := range []string{"python3", "", "a b", "a) S 1 (b", ") ) R 9 9", "((", "tab\there", "1 (2) 3"} {
		got, err := ReadProcess(processFiles(4711, statLine(4711, name), statusText, ioText), 4711)
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if diff := cmp.Diff(whole(4711, name), got); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

// What is not told is nil; what was never there has no numbers.
func TestReadProcessWithoutFiles(t *testing.T) {
	p, err := ReadProcess(processFiles(1, statLine(1, "init"), "", ""), 1)
	if err != nil || p.Memory != nil || p.IO != nil || p.User != 2500*time.Millisecond {
		t.Errorf("%+v, %v", p, err)
	}
	ended, err := ReadProcess(processFiles(1, statLine(1, "ended"), "Name:\tended\nState:\tZ (zombie)\n", ""), 1)
	if err != nil || *ended.Memory != (Memory{}) {
		t.Errorf("one that nobody has waited for: %+v, %v", ended, err)
	}
	if _, err := ReadProcess(fstest.MapFS{}, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	for _, stat := range []string{"x", "1", "1 (a", "1 (a)", "1 (a) S 1 2 3", statLine(2, "another"), strings.Replace(statLine(1, "a"), "250", "-250", 1), strings.Replace(statLine(1, "a"), "1 (", "one (", 1)} {
		if p, err := ReadProcess(processFiles(1, stat, statusText, ioText), 1); err == nil {
			t.Errorf("%q: %+v", stat, p)
		}
	}
}

// How long the first thread waited for a CPU, where the kernel counts that.
func TestDelayed(t *testing.T) {
	for text, want := range map[string]*time.Duration{
		"91350 2607812 2\n": new(time.Duration(2607812)), "0 0 0\n": new(time.Duration), "": nil, "91350 2607812\n": nil,
		"a b c\n": nil, "1 -2 3\n": nil,
	} {
		files := processFiles(1, statLine(1, "init"), "", "")
		if text != "" {
			files["proc/1/schedstat"] = &fstest.MapFile{Data: []byte(text)}
		}
		p, err := ReadProcess(files, 1)
		if err != nil || !cmp.Equal(p.Delayed, want) {
			t.Errorf("%q: %v, %v", text, p.Delayed, err)
		}
	}
}

func TestReadNetwork(t *testing.T) {
	root := fstest.MapFS{"proc/7/net/dev": {Data: []byte(devText)}}
	if n, ok := ReadNetwork(root, 7); !ok || n != (Network{1520, 330}) {
		t.Errorf("%+v, %v", n, ok)
	}
	if n, ok := ReadNetwork(root, 8); ok || n != (Network{}) {
		t.Errorf("of another process: %+v, %v", n, ok)
	}
	alone := strings.Join(strings.SplitAfter(devText, "\n")[:3], "")
	if n, ok := ReadNetwork(fstest.MapFS{"proc/7/net/dev": {Data: []byte(alone)}}, 7); !ok || n != (Network{}) {
		t.Errorf("without a network: %+v, %v", n, ok)
	}
}

// This process, beside what the kernel answers to other questions.
func TestThisProcess(t *testing.T) {
	root := os.DirFS("/")
	before, err := ReadProcess(root, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var usage unix.Rusage
	for begun := time.Now(); usage.Utime.Nano() < before.User.Nanoseconds()+1e8 && time.Since(begun) < 20*time.Second; {
		if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.ReadFile("/proc/self/maps"); err != nil {
		t.Fatal(err)
	}
	after, err := ReadProcess(root, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond
	told := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if spent := after.User + after.System; spent < told-2*tick || spent > told+2*time.Second {
		t.Errorf("the process has used %v, rusage says %v", spent, told)
	}
	if after.Began != before.Began || after.Threads < 2 || after.IO == nil || after.IO.Read <= before.IO.Read {
		t.Errorf("%+v after %+v", after, before)
	}
	if m := after.Memory; m.Resident < 1<<20 || m.Peak < m.Resident || m.Shared > m.Resident || m.Peak > usage.Maxrss<<10+64<<20 {
		t.Errorf("memory is %+v, the peak is %d KiB", m, usage.Maxrss)
	}
}

// A child under a name that is hard to read, that ends: what it has used is its
// parent's then, and its number is nobody's.
func TestProcessThatVanishes(t *testing.T) {
	root := os.DirFS("/")
	c := exec.Command("sh", "-c",
		`printf '%s' 'a) R (b' > /proc/self/comm; echo; read line; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadProcess(root, c.Process.Pid); err != nil || p.Threads != 1 || p.Memory.Resident == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	before, err := ReadProcess(root, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	after, err := ReadProcess(root, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if d := after.Children - before.Children - used; d < -40*time.Millisecond || d > 40*time.Millisecond {
		t.Errorf("children have used %v more, this one %v", after.Children-before.Children, used)
	}
	if _, err := ReadProcess(root, c.Process.Pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
}

// Whatever the files say, numbers are numbers from 0 on.
func FuzzReadProcess(f *testing.F) {
	f.Add(statLine(1, "a) b"), statusText, ioText, devText)
	f.Add("1 () S "+strings.Repeat("18446744073709551615 ", 50), "VmRSS: 18446744073709551615 kB",
		"rchar: -1", "x: "+strings.Repeat("9223372036854775807 ", 16))
	f.Fuzz(func(t *testing.T, stat, status, io, dev string) {
		root := processFiles(1, stat, status, io)
		root["proc/1/net/dev"] = &fstest.MapFile{Data: []byte(dev)}
		root["proc/1/schedstat"] = &fstest.MapFile{Data: []byte(io)}
		p, err := ReadProcess(root, 1)
		if err == nil && (p.PID != 1 || p.User < 0 || p.System < 0 || p.Children < 0 || p.Threads < 0 || p.Began < 0) {
			t.Fatalf("%+v", p)
		}
		if p.Delayed != nil && *p.Delayed < 0 {
			t.Fatalf("%v", *p.Delayed)
		}
		if m := p.Memory; m != nil && min(m.Resident, m.Shared, m.Peak, m.Swapped) < 0 {
			t.Fatalf("%+v", m)
		}
		if io := p.IO; io != nil && min(io.Read, io.ReadDisk, io.Written, io.WrittenDisk) < 0 {
			t.Fatalf("%+v", io)
		}
		if n, _ := ReadNetwork(root, 1); n.Received < 0 || n.Sent < 0 {
			t.Fatalf("%+v", n)
		}
	})
}
