package doctor

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/media"
	_ "github.com/headrace/headrace/media/stills"
)

// plain is a machine of eight cores and 16 GiB that lacks nothing.
var plain = map[string]string{
	"proc/self/status": "Name:\theadrace\nCpus_allowed_list:\t0-7\n",
	"proc/meminfo": "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\nCached: " +
		" 3145728 kB\nShmem:  1048576 kB\n",
	"proc/cpuinfo":                    "processor\t: 0\nmodel name\t: Example 9000\nflags\t\t: fpu\n",
	"proc/sys/kernel/osrelease":       "6.1.0-42-amd64\n",
	"sys/devices/system/cpu/online":   "0-7\n",
	"sys/devices/system/node/node0/x": "",
	"sys/devices/system/node/online":  "0\n",
}

// examine looks at plain with some files more, or others.
func examine(t *testing.T, files map[string]string) map[string]Finding {
	t.Helper()
	root := fstest.MapFS{}
	for _, some := range []map[string]string{plain, files} {
		for name, text := range some {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	found := map[string]Finding{}
	for _, f := range Examine(Machine{Root: root}).Findings {
		if _, twice := found[f.Name]; twice || f.Fact == "" || f.Status == "" {
			t.Errorf("%+v", f)
		}
		found[f.Name] = f
	}
	return found
}

func TestFabricatedMachines(t *testing.T) {
	leak.Check(t)
	type want struct {
		status       Status
		fact, advice string // parts
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]want
	}{
		"one that lacks nothing": {nil, map[string]want{
			"model":      {OK, "Example 9000, " + runtime.GOARCH, ""},
			"cores":      {OK, "8 usable", ""},
			"available":  {OK, "8 GiB of 16 GiB, as /proc/meminfo says", ""},
			"budget":     {OK, "2 GiB for a loader's work, and a consumer may hold 4 GiB", ""},
			"file cache": {OK, "2 GiB of files", ""},
			"Linux":      {OK, "6.1.0-42-amd64", ""},
		}},
		"some of the cores": {map[string]string{"proc/self/status": "Cpus_allowed_list:\t2,4\n"}, map[string]want{
			"cores": {Low, "2 usable of 8, limited by affinity", "taskset"},
		}},
		"a container": {map[string]string{
			"proc/self/mountinfo":          "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"proc/self/cgroup":             "0::/\n",
			"sys/fs/cgroup/cpu.max":        "150000 100000\n",
			"sys/fs/cgroup/memory.max":     "134217728\n",
			"sys/fs/cgroup/memory.current": "33554432\n",
		}, map[string]want{
			"cores":     {Low, "2 usable of 8, limited by /sys/fs/cgroup/cpu.max", "docker run --cpus"},
			"available": {OK, "96 MiB of 16 GiB, as /sys/fs/cgroup/memory.max says", ""},
			"budget":    {Low, "24 MiB for a loader's work", "give the container more memory"},
		}},
		"two nodes": {map[string]string{"sys/devices/system/node/node1/x": ""}, map[string]want{
			"NUMA": {OK, "2 nodes", "numactl"},
		}},
		"ARM": {map[string]string{"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"}, map[string]want{
			"model": {OK, "implementer 0x41 part 0xd0c", ""},
		}},
		"an old kernel": {map[string]string{"proc/sys/kernel/osrelease": "4.19.0-27-amd64\n"}, map[string]want{
			"Linux": {Low, "4.19.0-27-amd64", "5.3"},
		}},
		"one that says nothing": {map[string]string{"proc/self/status": "", "proc/meminfo": "", "proc/cpuinfo": "",
			"proc/sys/kernel/osrelease": "", "sys/devices/system/cpu/online": "x-y"}, map[string]want{
			"model":     {OK, "unknown, ", ""},
			"cores":     {OK, fmt.Sprint(runtime.NumCPU()) + " usable", ""},
			"available": {OK, "1 GiB, as a guess", ""},
			"Linux":     {OK, "unknown", ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			found := examine(t, c.files)
			for name, w := range c.want {
				f := found[name]
				if f.Status != w.status || !strings.Contains(f.Fact, w.fact) || !strings.Contains(f.Advice, w.advice) || f.Status == Low && f.Advice == "" {
					t.Errorf("%s: %+v, want %+v", name, f, w)
				}
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if f := examine(t, nil)["cores"]; f.Status != Low || !strings.Contains(f.Advice, "unset GOMAXPROCS") {
		t.Errorf("%+v", f)
	}
	e := examiner{Machine: Here()}
	e.report.Build.Features.Kernels = "plain"
	e.kernels()
	t.Setenv("HEADRACE_SIMD", "plain")
	e.kernels()
	e.report.Build.Features.Kernels = ""
	e.kernels()
	want := []string{"plain C: this CPU has none", "plain: HEADRACE_SIMD=plain is in the environment",
		"plain Go: this program was built without C"}
	for i, f := range e.report.Findings {
		if got := f.Fact + ": " + f.Advice; !strings.HasPrefix(got, want[i]) {
			t.Errorf("%q", got)
		}
	}
}

// What this test's program links decodes and writes; here that is plain Go, which is
// slower, and there is no AVIF.
func TestPictures(t *testing.T) {
	found := examine(t, nil)
	for _, format := range []string{media.JPEG, media.PNG, media.WebP} {
		if f := found[format]; f.Status != Low || f.Fact != "plain Go" || !strings.Contains(f.Advice, "faster") {
			t.Errorf("%+v", f)
		}
	}
	for _, format := range []string{media.GIF, media.BMP, media.TIFF} {
		if f := found[format]; f.Status != OK || f.Fact != "plain Go" {
			t.Errorf("%+v", f)
		}
	}
	if f := found[media.AVIF]; f.Status != Missing || f.Essential {
		t.Errorf("%+v", f)
	}
	if f := found["written are"]; f.Status != Low || f.Fact != "jpeg, png" || !strings.Contains(f.Advice, "WebP") {
		t.Errorf("%+v", f)
	}
}

func TestAVIF(t *testing.T) {
	var f Finding
	e := examiner{Machine: Machine{AVIF: func() (string, string, error) {
		return "", "",
			fmt.Errorf("%w: no such file", media.ErrUnsupported)
	}}}
	if e.avif(&f); f.Status != Missing || f.Fact != "no such file" || f.Advice != "AVIF images would be decoded" || f.Essential {
		t.Errorf("%+v", f)
	}
	f = Finding{}
	e.AVIF = func() (string, string, error) { return "1.2.3", "dav1d [dec]:1.0.0", nil }
	if e.avif(&f); f.Status != "" || f.Fact != "libavif-1.2.3, AV1 by dav1d [dec]:1.0.0" {
		t.Errorf("%+v", f)
	}
}

func TestTIFF(t *testing.T) {
	var f Finding
	e := examiner{Machine: Machine{TIFF: func() (string, error) { return "", fmt.Errorf("%w: no such file", media.ErrUnsupported) }}}
	if e.tiff(&f); f.Status != Missing || f.Fact != "no such file" || f.Advice != "TIFF images would be decoded" || f.Essential {
		t.Errorf("%+v", f)
	}
	f = Finding{}
	e.TIFF = func() (string, error) { return "4.5.0", nil }
	if e.tiff(&f); f.Status != "" || f.Fact != "libtiff-4.5.0" {
		t.Errorf("%+v", f)
	}
}

// wrong decodes everything to black; broken does not decode.
type wrong struct{ media.Decoder }

func (wrong) DecodeInto(dst []byte, _ int, _ []byte, _ *media.Info, _ *media.Plan) error {
	clear(dst)
	return nil
}

type broken struct{ media.Decoder }

func (broken) DecodeInto([]byte, int, []byte, *media.Info, *media.Plan) error {
	return media.ErrUnsupported
}

// A decoder that gives other pixels is worse than none.
func TestDecodersThatDoNotWork(t *testing.T) {
	for _, format := range []string{media.JPEG, media.GIF} {
		d, err := media.DecoderFor(format)
		if err != nil {
			t.Fatal(err)
		}
		defer media.Register(format, d)
		for _, c := range []struct {
			d    media.Decoder
			fact string
		}{{wrong{d}, "is decoded to [0 0 0]"}, {broken{d}, "unsupported image"}} {
			media.Register(format, c.d)
			report := Examine(Here())
			for _, f := range report.Findings {
				if f.Name == format && (report.Usable || f.Status != Missing || !strings.Contains(f.Fact, c.fact)) {
					t.Errorf("%v %+v", report.Usable, f)
				}
			}
		}
	}
}

func TestThisMachine(t *testing.T) {
	leak.Check(t)
	r := Examine(Here())
	if !r.Usable {
		t.Errorf("%+v", r.Findings)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil || len(back.Findings) != len(r.Findings) {
		t.Errorf("%v: %s", err, text)
	}
}
