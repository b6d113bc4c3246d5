package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
)

const benched = `headrace: 1
steps:
  - files: {pattern: "class*/*.jpg", label: parent}
  - shuffle
  - decode_image
  - center_crop: {size: 16}
  - batch: {size: 4}
loader: {memory: 200000000, on_error: skip}
`

// result is what bench --json says, read by somebody else.
type result struct {
	Recipe      map[string]any
	Cores       int
	Seconds     float64
	Rounds      int
	Interrupted bool
	Rows        int
	SampleBytes float64 `json:"sample_bytes"`
	Feed        struct {
		Rate  float64 `json:"samples_per_second"`
		Cores int
	}
	Columns []struct {
		Workers   int
		Rate      float64 `json:"samples_per_second"`
		Slowest   float64
		Fastest   float64
		Speedup   float64
		Batches   float64 `json:"batches_per_second"`
		Read      float64 `json:"read_bytes_per_second"`
		Written   float64 `json:"written_bytes_per_second"`
		CoresUsed float64 `json:"cores_used"`
		CPU       float64 `json:"cpu_seconds_per_1000"`
		PeakRSS   int64   `json:"peak_rss"`
		Peak      int64   `json:"peak_budget"`
		Budget    int64
		Lost      int64
		Verdict   string
		Stages    []struct {
			Name                          string
			Workers                       int
			In, Out                       int64
			Starved, Busy, Blocked, Gated float64
		}
		Slices []struct {
			Seconds    float64
			Batches    int64
			Samples    int64
			CPUSeconds float64 `json:"cpu_seconds"`
			ReadBytes  int64   `json:"read_bytes"`
			DiskBytes  *int64  `json:"disk_bytes"`
		}
	}
}

// No number can be foretold, but how they hang together can.
func TestBench(t *testing.T) {
	root := phototest.Folder(t, 22)
	phototest.Spoil(t, root, "005.jpg")
	recipeIn(t, root, benched)
	got := invoke(t, root, "bench", "r.yaml", "--seconds", "0.6", "--rounds", "3", "--workers", "3,1", "--feed", "8x2500", "--json")
	if got.code != 0 {
		t.Fatal(got.stderr)
	}
	var turns []string
	for _, turn := range regexp.MustCompile(`(?m)^round (\d) of 3, (\d) workers?: [0-9.,]+ samples/s$`).FindAllStringSubmatch(got.stderr, -1) {
		turns = append(turns, turn[1]+":"+turn[2])
	}
	if want := "1:3 1:1 2:1 2:3 3:3 3:1"; strings.Join(turns, " ") != want || strings.Count(got.stderr, "\n") != 6 {
		t.Errorf("the turns are %v, want %s:\n%s", turns, want, got.stderr)
	}
	var r result
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v:\n%s", err, got.stdout)
	}
	if r.Seconds != 0.6 || r.Rounds != 3 || r.Interrupted || r.Rows != 4 || r.SampleBytes != 16*16*3+8 || r.Cores < 1 || len(r.Columns) != 2 || len(r.Recipe["steps"].([]any)) != 5 {
		t.Fatalf("%+v", r)
	}
	if want := int(math.Ceil(20 * r.Columns[1].CPU)); r.Feed.Rate != 20000 || r.Feed.Cores != want {
		t.Errorf("%+v feed 20,000 samples a second, want %d cores", r.Feed, want)
	}
	var files int64
	for _, path := range glob(t, root) {
		if info, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else {
			files += info.Size()
		}
	}
	for i, c := range r.Columns {
		if want := []int{3, 1}[i]; c.Workers != want || len(c.Slices) != 3 {
			t.Fatalf("column %d: %d workers, %d slices", i, c.Workers, len(c.Slices))
		}
		var seconds, cpu float64
		var batches, samples, read int64
		for _, s := range c.Slices {
			rate := float64(s.Samples) / s.Seconds
			if s.Seconds < 0.2 || s.Batches < 1 || s.Samples < s.Batches || s.Samples > 4*s.Batches || rate < c.Slowest*0.999999 || rate > c.Fastest*1.000001 {
				t.Errorf("%d workers: a slice of %+v, between %v and %v", c.Workers, s, c.Slowest, c.Fastest)
			}
			seconds, cpu, batches, samples, read = seconds+s.Seconds, cpu+s.CPUSeconds, batches+s.Batches, samples+s.Samples, read+s.ReadBytes
		}
		n := float64(samples)
		for name, pair := range map[string][2]float64{
			"samples": {c.Rate, n / seconds}, "batches": {c.Batches, float64(batches) / seconds}, "read": {c.Read, float64(read) / seconds},
			"written": {c.Written, n * r.SampleBytes / seconds}, "cores": {c.CoresUsed, cpu / seconds}, "cpu": {c.CPU, 1000 * cpu / n},
			"speed-up": {c.Speedup, c.Rate / r.Columns[0].Rate},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9*pair[1] {
				t.Errorf("%d workers: %s is %v, and the slices say %v", c.Workers, name, pair[0], pair[1])
			}
		}
		if c.Rate < c.Slowest || c.Rate > c.Fastest || c.Verdict == "" || c.PeakRSS < 1<<20 || c.Peak < 1 || c.Peak > c.Budget || c.Budget != 200000000 {
			t.Errorf("%+v", c)
		}
		// Every sample that came out was read; what is on its way at the ends of slices
		// is little.
		if mean := float64(files) / 22; float64(read) < 0.5*mean*n || float64(read) > 2*mean*(n+100) {
			t.Errorf("%d workers: %d bytes read for %d samples of %v bytes", c.Workers, read, samples, mean)
		}
		// One sample of an epoch is bad.
		if epochs := n / 21; float64(c.Lost) < epochs-6 || float64(c.Lost) > epochs+6 {
			t.Errorf("%d workers: %d lost in %v epochs", c.Workers, c.Lost, epochs)
		}
		if len(c.Stages) != 3 || c.Stages[2].Name != "decode_image+center_crop+batch" || c.Stages[2].Workers != c.Workers {
			t.Errorf("%d workers: the stages are %+v", c.Workers, c.Stages)
		}
		for _, s := range c.Stages {
			if sum := s.Starved + s.Busy + s.Blocked + s.Gated; math.Abs(sum-1) > 1e-9 {
				t.Errorf("%d workers: the shares of %s add up to %v", c.Workers, s.Name, sum)
			}
		}
	}
}

func glob(t *testing.T, root string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "class*", "*.jpg"))
	if err != nil || paths == nil {
		t.Fatal(err)
	}
	return paths
}

func TestBenchTable(t *testing.T) {
	root := phototest.Folder(t, 20)
	recipeIn(t, root, benched)
	got := invoke(t, root, "bench", "r.yaml", "--seconds", "0.2", "--rounds", "2", "--workers", "1,2", "--feed", "8 × 4,200")
	if got.code != 0 {
		t.Fatal(got.stderr)
	}
	rest := got.stdout
	for _, want := range []string{
		`^r\.yaml: 0\.2 s for each number of workers, in 2 rounds; \d+ cores?\n\n`, `workers +1 +2\n`, `samples/s +[0-9.,]+ +[0-9.,]+\n`,
		`  slowest–fastest slice +\S+–\S+ +\S+–\S+\n`, `speed-up +1\.00 +\d+\.\d\d\n`, `batches/s +.*\n`, `read +.*\n`, `(  of it from disk .*\n)?`,
		`written to batches +.*\n`, `cores used +.*\n`, `(  and waited for .*\n)?`, `CPU s per 1,000 samples +.*\n`, `peak memory, RSS +.*\n`, `peak of the byte budget +.*\n\n`,
		`time of the stages' workers: .*\n`, `files +\d+·\d+·\d+·\d+ +\d+·\d+·\d+·\d+\n`, `read +.*\n`, `decode_image\+…\+batch +.*\n\n`,
		`what limits\n`, `  1 worker: [A-Z].*\n`, `(?s:.*)  2 workers: [A-Z].*\n`, `(?s:.*)\n(Files|The system) (?s:.*)\.\n` +
			`To feed 8 × 4,200 samples/s: [0-9,]+ cores like these, by (?s:.*) on top\.\n$`,
	} {
		at := regexp.MustCompile("^" + strings.TrimPrefix(want, "^")).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("%s does not follow:\n%s\nin\n%s", want, rest, got.stdout)
		}
		rest = rest[at[1]:]
	}
	for line := range strings.Lines(got.stdout) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

func TestBenchRefuses(t *testing.T) {
	root := phototest.Folder(t, 3)
	if err := os.MkdirAll(filepath.Join(root, "bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bad", "a.jpg"), []byte("no picture"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit, to string
		args     []string
		code     int
		words    string
	}{
		{"", "", []string{"--workers", "0"}, 2, `^headrace: workers is 0: must be from 1 to 256, or null for the default\n$`},
		{"", "", []string{"--workers", "2,1,2"}, 2, `^headrace: --workers names a number twice\n$`},
		{"", "", []string{"--workers", "257"}, 2, `workers is 257`},
		{"", "", []string{"--workers", "two"}, 2, `^headrace: invalid argument "two"`},
		{"", "", []string{"--seconds", "0"}, 2, `^headrace: --seconds is 0: must be a number of seconds up to a day\n$`},
		{"", "", []string{"--seconds", "nan"}, 2, `^headrace: --seconds is NaN: must be`},
		{"", "", []string{"--feed", "0x5"}, 2, `^headrace: invalid argument "0x5" for "--feed" flag: must be samples per second, such as 4200`},
		{"", "", []string{"--feed", "8x"}, 2, `must be samples per second`},
		{"", "", []string{"--rounds", "0"}, 2, `^headrace: --rounds is 0: must be at least 1\n$`},
		{"", "", []string{"--epochs", "2"}, 2, `^headrace: unknown flag: --epochs\n`},
		{"", "", []string{"--memory", "2KB"}, 2, `memory is 2000 bytes, and one batch`},
		{"center_crop", "centre_crop", nil, 2, `^r.yaml:6:5: step "centre_crop" \(#4\): there is no operation`},
		{"class*/*.jpg", "none/*.jpg", nil, 1, `^headrace: source: store: no files: `},
		{"batch: {size: 4}", "batch: {size: 4, drop_last: true}", nil, 2, `^headrace: .*an epoch of 3 samples has no batch of 4: use a smaller batch, or drop_last=false\n$`},
		{"class*/*.jpg", "bad/*.jpg", nil, 1, `^headrace: a whole epoch gave no batch: all its samples were lost\n$`},
		{"class*/*.jpg", "bad/*.jpg", []string{"--on-error", "raise"}, 1, `^headrace: .*bad/a\.jpg`},
	} {
		recipeIn(t, root, strings.Replace(benched, c.edit, c.to, 1))
		got := invoke(t, root, append([]string{"bench", "r.yaml", "--seconds", "0.1", "--rounds", "1", "--workers", "1"}, c.args...)...)
		if got.code != c.code || got.stdout != "" || !regexp.MustCompile(c.words).MatchString(got.stderr) {
			t.Errorf("%q for %q, %v: exit code %d, %q, %s", c.to, c.edit, c.args, got.code, got.stderr, got.stdout)
		}
	}
}

// began starts a bench that takes for ever, in a process group of its own as a shell
// does it, and waits until something was measured.
func began(t *testing.T, args ...string) (c *exec.Cmd, stdout *strings.Builder, rest func() string) {
	t.Helper()
	root := phototest.Folder(t, 20)
	recipeIn(t, root, benched)
	c = exec.Command(program(t), append([]string{"bench", "r.yaml", "--seconds", "1000", "--rounds", "10000", "--workers", "1,2"}, args...)...)
	stdout = new(strings.Builder)
	c.Dir, c.Stdout, c.SysProcAttr = root, stdout, &syscall.SysProcAttr{Setpgid: true}
	words, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(-c.Process.Pid, unix.SIGKILL) })
	r := bufio.NewReader(words)
	for range 3 {
		if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "round ") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	return c, stdout, func() string {
		all, _ := io.ReadAll(r)
		return regexp.MustCompile(`(?m)^round .*\n`).ReplaceAllString(string(all), "")
	}
}

// groupEnded waits until no process of a group is left.
func groupEnded(t *testing.T, group int) {
	t.Helper()
	for deadline := time.Now().Add(patience); unix.Kill(-group, 0) != unix.ESRCH; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("processes that were measured are left behind")
		}
	}
}

// Ctrl-C goes to all processes of a terminal.
func TestBenchIsInterrupted(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		var args []string
		if form == "json" {
			args = []string{"--json"}
		}
		c, stdout, rest := began(t, args...)
		unix.Kill(-c.Process.Pid, unix.SIGINT)
		words := rest()
		c.Wait()
		groupEnded(t, c.Process.Pid)
		if code := c.ProcessState.ExitCode(); code != exitInterrupted || words != "headrace: interrupted\n" {
			t.Errorf("%s: exit code %d, %q", form, code, words)
		}
		var r result
		switch {
		case form == "text" && !strings.Contains(stdout.String(), "what limits"):
			t.Errorf("it printed\n%s", stdout)
		case form == "json" && (json.Unmarshal([]byte(stdout.String()), &r) != nil || !r.Interrupted || len(r.Columns) != 2):
			t.Errorf("it printed\n%s", stdout)
		}
	}
}

// The processes that are measured end with the one that asks them to, also where it has
// no time to say so.
func TestBenchIsKilled(t *testing.T) {
	c, _, rest := began(t)
	c.Process.Kill()
	rest()
	c.Wait()
	groupEnded(t, c.Process.Pid)
}

// One that ends, for memory perhaps, is not waited for.
func TestBenchLosesAProcess(t *testing.T) {
	c, stdout, rest := began(t)
	children := childrenOf(t, c.Process.Pid)
	if len(children) != 2 {
		t.Fatalf("it has %d processes", len(children))
	}
	unix.Kill(children[0], unix.SIGKILL)
	words := rest()
	c.Wait()
	groupEnded(t, c.Process.Pid)
	if code := c.ProcessState.ExitCode(); code != exitFailed || !regexp.MustCompile(`^headrace: a process that was measured ended: signal: killed`).MatchString(words) {
		t.Errorf("exit code %d, %q", code, words)
	}
	if !strings.Contains(stdout.String(), "samples/s") {
		t.Errorf("what was measured is lost:\n%s", stdout)
	}
}

// childrenOf lists the processes that a process has started.
func childrenOf(t *testing.T, parent int) (all []int) {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
	}
	return all
}

func TestBenchWorkerRefuses(t *testing.T) {
	for input, words := range map[string]string{
		"":                     `"error":"headrace: no measurement was requested`,
		"{\n":                  `"error":"headrace: no measurement was requested`,
		`{"recipe":{}}` + "\n": `"error":"recipe: `,
		`{"recipe":{"headrace":1,"steps":["shuffle"]}}` + "\n": `"usage":true`,
	} {
		c := exec.Command(program(t), "bench-worker")
		c.Stdin = strings.NewReader(input)
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), words) {
			t.Errorf("%q: %v, %s", input, err, out)
		}
	}
	c := exec.Command(program(t), "bench-worker", "--help")
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "measures") {
		t.Errorf("%v, %s", err, out)
	}
}

// The sentences below the table say what numbers alone do not.
func TestBenchSaysWhatDisturbed(t *testing.T) {
	slice := func(disk *int64, delayed *float64) benchSlice {
		return benchSlice{Seconds: 3, CPUSeconds: 4, DiskBytes: disk, Delayed: delayed, Stats: pipe.Stats{Stages: []pipe.StageStats{{Bytes: 1000}}}}
	}
	cold, warm := slice(new(int64(900)), new(0.5)), slice(new(int64(9)), nil)
	for _, c := range []struct {
		totals []benchSlice
		words  string
	}{
		{[]benchSlice{cold, cold}, "have the disk in them"},
		{[]benchSlice{cold, warm}, "compare the columns of a second run"},
		{[]benchSlice{warm, warm}, "came from the page cache"},
		{[]benchSlice{warm, slice(nil, nil)}, "does not say"},
	} {
		if got := pageCache(c.totals); !strings.Contains(got, c.words) {
			t.Errorf("%q, want %q", got, c.words)
		}
		if got := disturbed(c.totals, 2); got != "" {
			t.Errorf("%q", got)
		}
	}
	if got := disturbed([]benchSlice{slice(nil, new(1.5))}, 1); got != "" {
		t.Errorf("threads wait for each other: %q", got)
	}
	if got := disturbed([]benchSlice{warm, slice(nil, new(1.5))}, 2); !strings.Contains(got, "something else uses the cores") {
		t.Errorf("%q", got)
	}
	if got := addKnown(new(int64(1)), nil); got != nil {
		t.Errorf("something and what nobody knows are %v", *got)
	}
}

func TestUsualWorkers(t *testing.T) {
	for cores, want := range map[int]string{1: "[1]", 2: "[1 2]", 3: "[1 3]", 4: "[1 2 4]", 8: "[1 2 4 8]", 16: "[1 2 4 8 16]", 96: "[1 12 24 48 96]"} {
		if got := fmt.Sprint(usualWorkers(cores)); got != want {
			t.Errorf("%d cores: %s, want %s", cores, got, want)
		}
	}
}
