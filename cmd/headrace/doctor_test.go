package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/doctor"
	"github.com/headrace/headrace/internal/machine"
)

var builtWithC struct {
	once sync.Once
	file string
	err  error
}

// programWithC is the command as people have it, built once into the folder of the one
// without C.
func programWithC(t *testing.T) string {
	t.Helper()
	file := filepath.Join(filepath.Dir(program(t)), "headrace-with-c")
	builtWithC.once.Do(func() {
		c := exec.Command("go", "build", "-o", file, ".")
		c.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := c.CombinedOutput(); err != nil {
			builtWithC.err = errors.New(string(out))
		}
	})
	if builtWithC.err != nil {
		t.Fatal(builtWithC.err)
	}
	return file
}

// examined runs a shell command that ends in `exec "$0" doctor --json` and returns the
// report by names, and the exit code.
func examined(t *testing.T, engine, limits string, environment ...string) (map[string]doctor.Finding, doctor.Report, int) {
	t.Helper()
	c := exec.Command("sh", "-c", limits+` exec "$0" doctor --json`, engine)
	c.Env = append(os.Environ(), environment...)
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || len(exit.Stderr) > 0) {
		t.Fatalf("%v: %s", err, exit.Stderr)
	}
	var r doctor.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := map[string]doctor.Finding{}
	for _, f := range r.Findings {
		found[f.Name] = f
	}
	return found, r, c.ProcessState.ExitCode()
}

func TestDoctorUnderLimits(t *testing.T) {
	engine := programWithC(t)
	type want struct {
		status       doctor.Status
		fact, advice string // parts
	}
	ofOne := doctor.Low
	if n, _ := machine.Online(os.DirFS("/")); n == 1 {
		ofOne = doctor.OK
	}
	for name, c := range map[string]struct {
		limits string
		env    []string
		code   int
		want   map[string]want
	}{
		"none": {"", nil, exitDone, map[string]want{
			"shared memory": {doctor.OK, "sealed", ""}, "pidfd": {doctor.OK, "", ""}, "written are": {doctor.OK, "webp by libwebp", ""},
			"jpeg": {doctor.OK, "libjpeg-turbo-", ""}, "png": {doctor.OK, "libspng", ""}, "webp": {doctor.OK, "libwebp", ""}, "gif": {doctor.OK, "plain Go", ""},
			"avif": {doctor.OK, "dec]:", ""}, "tiff": {doctor.OK, "libtiff-4.", ""}, "flac": {doctor.OK, "libFLAC-1.", ""}, "/dev/shm": {doctor.OK, "not used", ""},
		}},
		"one core":                 {"taskset -pc $(taskset -pc $$ | sed 's/.*[ ,-]//') $$ >/dev/null;", nil, exitDone, map[string]want{"cores": {ofOne, "1 usable", ""}}},
		"few open files":           {"ulimit -n 20;", nil, exitDone, map[string]want{"open files": {doctor.Low, "20 at once", "ulimit -n 4096"}, "shared memory": {doctor.OK, "", ""}}},
		"too few open files":       {"ulimit -n 9;", nil, exitFailed, map[string]want{"shared memory": {doctor.Missing, "too many open files", "ulimit -n 4096"}}},
		"no files of any size":     {"ulimit -f 0;", nil, exitFailed, map[string]want{"file size": {doctor.Low, "limited to 0 B", "ulimit -f"}, "shared memory": {doctor.Missing, "memory", ""}}},
		"few addresses":            {"ulimit -v 16000000;", nil, exitDone, map[string]want{"addresses": {doctor.Low, "limited to 15.3 GiB", "ulimit -v"}}},
		"few processes":            {"prlimit --pid $$ --nproc=200;", nil, exitDone, map[string]want{"processes": {doctor.Low, "limited to 200", "ulimit -u"}}},
		"no libavif":               {"", []string{"HEADRACE_AVIF=/nowhere/libavif.so"}, exitDone, map[string]want{"avif": {doctor.Missing, "/nowhere/libavif.so: cannot open shared object file", "would be decoded"}}},
		"no libtiff":               {"", []string{"HEADRACE_TIFF=/nowhere/libtiff.so"}, exitDone, map[string]want{"tiff": {doctor.Missing, "/nowhere/libtiff.so: cannot open shared object file", "would be decoded"}}},
		"no FFmpeg":                {"", []string{"HEADRACE_FFMPEG=/nowhere"}, exitDone, map[string]want{"ffmpeg": {doctor.Missing, "/nowhere has no libavcodec.so.N", "would be decoded"}}},
		"a limit on instructions":  {"", []string{"HEADRACE_SIMD=plain"}, exitDone, map[string]want{"kernels": {doctor.Low, "plain", "unset"}}},
		"fewer threads than cores": {"", []string{"GOMAXPROCS=1"}, exitDone, map[string]want{"cores": {ofOne, "GOMAXPROCS=1", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			found, report, code := examined(t, engine, c.limits, c.env...)
			if code != c.code || report.Usable != (code == exitDone) {
				t.Errorf("exit code %d, usable: %v: %+v", code, report.Usable, report.Findings)
			}
			for name, w := range c.want {
				if f := found[name]; f.Status != w.status || !strings.Contains(f.Fact, w.fact) || !strings.Contains(f.Advice, w.advice) || f.Status == doctor.Missing && f.Advice == "" {
					t.Errorf("%s: %+v, want %+v", name, f, w)
				}
			}
		})
	}
}

func TestDoctorWithoutC(t *testing.T) {
	found, report, code := examined(t, program(t), "")
	if code != exitDone || report.Build.Features.Cgo {
		t.Errorf("exit code %d, %+v", code, report.Build)
	}
	for _, name := range []string{"kernels", "jpeg", "png", "webp"} {
		if f := found[name]; f.Status != doctor.Low || f.Fact != "plain Go" || !strings.Contains(f.Advice, "make build") {
			t.Errorf("%+v", f)
		}
	}
	for _, name := range []string{"avif", "ffmpeg"} {
		if f := found[name]; f.Status != doctor.Missing {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorForPeople(t *testing.T) {
	out, err := exec.Command(programWithC(t), "doctor").Output()
	text := string(out)
	if err != nil || strings.Contains(text, "\x1b") {
		t.Errorf("%v: %s", err, text)
	}
	for _, part := range []string{"\nCPU\n", "\nmemory\n", "\nsystem\n", "\nimages\n", "  ✓ shared memory  made", "libjpeg-turbo"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	c := exec.Command("sh", "-c", `ulimit -n 9; exec "$0" doctor`, programWithC(t))
	out, _ = c.CombinedOutput()
	if text := string(out); c.ProcessState.ExitCode() != exitFailed || !strings.HasSuffix(text, "\nNot usable here: see ✗ above.\n") || !strings.Contains(text, "\n  ✗ shared memory  ") {
		t.Errorf("exit code %d:\n%s", c.ProcessState.ExitCode(), text)
	}
	if out, err := exec.Command(program(t), "doctor").Output(); err != nil || !strings.Contains(string(out), "\nUsable. ") {
		t.Errorf("%v: %s", err, out)
	}
}

// Go would end with pages of registers.
func TestTooLittleToStart(t *testing.T) {
	for _, test := range []struct{ limit, what, remedy string }{
		{"-v 500000", "MiB of address space", "`ulimit -v unlimited`"},
		{"-v 1000000", "MiB of address space", "`ulimit -v unlimited`"},
		{"-v 1400000", "MiB of address space", "`ulimit -v unlimited`"},
		{"-v 2000000", "MiB of address space", "`ulimit -v unlimited`"},
		{"-d 60000", "58 MiB of data", "`ulimit -d unlimited`"},
		{"-d 130000", "126 MiB of data", "`ulimit -d unlimited`"},
	} {
		for _, command := range []string{"doctor", "version"} {
			c := exec.Command("sh", "-c", "ulimit "+test.limit+`; exec "$0" `+command, programWithC(t))
			out, _ := c.CombinedOutput()
			text := string(out)
			if c.ProcessState.ExitCode() != exitFailed || strings.Count(text, "\n") != 1 || !strings.Contains(text, test.what) || !strings.Contains(text, test.remedy) {
				t.Errorf("%s, %s: exit code %d:\n%s", test.limit, command, c.ProcessState.ExitCode(), text)
			}
		}
	}
}
