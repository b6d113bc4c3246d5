package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/phototest"
)

// images is a folder with a recipe of 20 images in batches of 8.
func photographs(t *testing.T, loader string) string {
	t.Helper()
	folder := phototest.Folder(t, 20)
	recipeIn(t, folder, `headrace: 1
vars: {size: 8}
steps:
  - files: {pattern: "class*/*.jpg", label: parent}
  - shuffle
  - decode_image
  - random_resized_crop: {size: "${size}"}
  - batch: {size: 8}
`+loader)
	return folder
}

func TestRun(t *testing.T) {
	for loader, epochs := range map[string]int{"": 1, "loader: {epochs: null}": 1, "loader: {epochs: 2}": 2} {
		got := invoke(t, photographs(t, loader), "run", "r.yaml")
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		// Three sentences: a busy machine is named in one of its own.
		want := fmt.Sprintf("%d batches; %d samples in ", 3*epochs, 20*epochs)
		if !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), want) || strings.Count(got.stdout, "\n") > 5 {
			t.Errorf("%s\n%s", want, got.stdout)
		}
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if len(lines) != epochs || !strings.HasPrefix(lines[epochs-1], fmt.Sprintf("epoch %d of %d: 20 samples in ", epochs, epochs)) {
			t.Errorf("%q", lines)
		}
	}
	got := invoke(t, photographs(t, "loader: {epochs: 2}"), "run", "r.yaml", "--epochs", "3", "--set", "size=4", "--workers=1", "--memory=100MB", "--stats")
	if got.code != 0 || !strings.Contains(got.stdout, "9 batches; 60 samples") || strings.Contains(got.stdout, "batch ×") || !strings.Contains(got.stdout, "of 95.4 MiB") {
		t.Errorf("flags take the places of what the recipe says: %+v", got)
	}
	if got := invoke(t, photographs(t, ""), "run", "r.yaml", "--quiet"); got != (outcome{}) {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, photographs(t, ""), "run", "r.yaml", "--epochs", "0"); got != (outcome{}) {
		t.Errorf("%+v", got)
	}
}

func TestRunFromStandardInput(t *testing.T) {
	folder := photographs(t, "")
	c := exec.Command("sh", "-c", `exec "$0" run - -q < r.yaml`, program(t))
	c.Dir = folder
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// happened are the events of a run.
func happened(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		all = append(all, event)
	}
	return all
}

func kinds(all []map[string]any) string {
	var words []string
	for _, event := range all {
		words = append(words, event["event"].(string))
	}
	return strings.Join(words, " ")
}

func TestRunTellsPrograms(t *testing.T) {
	folder := photographs(t, "")
	got := invoke(t, folder, "run", "r.yaml", "--epochs", "2", "--json")
	all := happened(t, got.stdout)
	if got.code != 0 || got.stderr != "" || kinds(all) != "start epoch epoch end" {
		t.Fatalf("%+v", got)
	}
	begin, second, end := all[0], all[2], all[3]
	if begin["recipe"] != "r.yaml" || begin["epochs"] != 2.0 || begin["samples"] != 20.0 || begin["batches_per_epoch"] != 3.0 || len(begin["fingerprint"].(string)) != 64 {
		t.Errorf("%v", begin)
	}
	if second["epoch"] != 1.0 || second["samples"] != 20.0 || second["batches"] != 3.0 || second["lost"] != 0.0 || second["epoch_seconds"].(float64) <= 0 {
		t.Errorf("%v", second)
	}
	statistics := end["statistics"].(map[string]any)
	if end["outcome"] != "done" || end["exit_code"] != 0.0 || end["samples"] != 40.0 || end["batches"] != 6.0 || end["samples_per_second"].(float64) <= 0 ||
		statistics["yielded"] != 6.0 || !strings.Contains(statistics["text"].(string), "40 samples") {
		t.Errorf("%v", end)
	}
}

func TestRunReplacesSamples(t *testing.T) {
	folder := photographs(t, "loader: {on_error: replace}")
	for i := range 3 {
		phototest.Spoil(t, folder, fmt.Sprintf("%03d.jpg", i))
	}
	got := invoke(t, folder, "run", "r.yaml")
	if got.code != exitLost || strings.Count(got.stderr, "replaced in decode_image+random_resized_crop+batch: sample \"class") != 3 || !strings.Contains(got.stderr, "20 samples") || !strings.Contains(got.stderr, ", 3 replaced\n") {
		t.Errorf("%+v", got)
	}
	got = invoke(t, folder, "run", "r.yaml", "--json")
	all := happened(t, got.stdout)
	if got.code != exitLost || kinds(all) != "start lost lost lost epoch end" {
		t.Fatalf("%+v", got)
	}
	for _, event := range all[1:4] {
		if event["replaced"] != true || event["source"] != "files" {
			t.Errorf("%v", event)
		}
	}
	for _, event := range all[4:] {
		if event["replaced"] != 3.0 || event["lost"] != 0.0 || event["samples"] != 20.0 {
			t.Errorf("%v", event)
		}
	}
	got = invoke(t, folder, "run", "r.yaml", "--out", "npy:x", "--epochs", "2")
	if got.code != exitLost || !strings.HasSuffix(got.stdout, "; 6 replaced\n") {
		t.Errorf("%+v", got)
	}
	if manifest, err := os.ReadFile(filepath.Join(folder, "x", "manifest.json")); err != nil || strings.Count(string(manifest), `"replaced": 3`) != 2 {
		t.Errorf("%s: %v", manifest, err)
	}
}

func TestRunLosesSamples(t *testing.T) {
	folder := photographs(t, "loader: {on_error: skip, max_errors: 12}")
	for i := range 11 {
		phototest.Spoil(t, folder, fmt.Sprintf("%03d.jpg", i))
	}
	got := invoke(t, folder, "run", "r.yaml")
	if got.code != exitLost || !strings.Contains(got.stdout, "Lost: 11 in decode_image") || !strings.Contains(got.stderr, ", 11 lost\n") {
		t.Errorf("%+v", got)
	}
	if n := strings.Count(got.stderr, "lost in decode_image+random_resized_crop+batch: sample \"class"); n != maxLosses || strings.Count(got.stderr, "--json names each") != 1 {
		t.Errorf("%d losses are told:\n%s", n, got.stderr)
	}

	got = invoke(t, folder, "run", "r.yaml", "--json")
	all := happened(t, got.stdout)
	if got.code != exitLost || kinds(all) != "start "+strings.Repeat("lost ", 11)+"epoch end" {
		t.Fatalf("%+v", got)
	}
	var keys []string
	for _, event := range all[1:12] {
		keys = append(keys, event["key"].(string))
		if !strings.Contains(event["error"].(string), event["key"].(string)) || event["epoch"] != 0.0 || event["stage"] == "" {
			t.Errorf("%v", event)
		}
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) != 11 {
		t.Errorf("%q", keys)
	}
	if end := all[len(all)-1]; end["outcome"] != "done" || end["exit_code"] != 3.0 || end["lost"] != 11.0 || end["samples"] != 9.0 {
		t.Errorf("%v", end)
	}
}

func TestRunFails(t *testing.T) {
	folder := photographs(t, "")
	phototest.Spoil(t, folder, "003.jpg")
	got := invoke(t, folder, "run", "r.yaml")
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "headrace: class1/003.jpg: truncated image: ") || !strings.Contains(got.stderr, "\n  in decode_image, epoch 0, position ") || !strings.HasSuffix(got.stderr, "\n  --on-error skip leaves such samples out\n") {
		t.Errorf("%+v", got)
	}
	got = invoke(t, folder, "run", "r.yaml", "--json")
	all := happened(t, got.stdout)
	if end := all[len(all)-1]; got.code != exitFailed || end["event"] != "end" || end["outcome"] != "failed" || end["exit_code"] != 1.0 || !strings.Contains(end["error"].(string), "class1/003.jpg") {
		t.Errorf("%+v", got)
	}
	got = invoke(t, folder, "run", "r.yaml", "--on-error", "skip", "--max-errors", "0.01", "-q")
	if got.code != exitFailed || !strings.Contains(got.stderr, "too many samples lost: class1/") ||
		strings.Contains(got.stderr, "leaves such samples out") ||
		!strings.HasSuffix(got.stderr, "\n  --max-errors allows more than 1 % of the samples, at least 10\n") {
		t.Errorf("%+v", got)
	}
	skipping := photographs(t, "loader: {on_error: skip, max_errors: 3}")
	phototest.Spoil(t, skipping, "003.jpg")
	got = invoke(t, skipping, "run", "r.yaml", "--on-error", "raise") // whatever the recipe says of skip
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "headrace: class1/003.jpg: ") {
		t.Errorf("%+v", got)
	}
	got = invoke(t, skipping, "run", "r.yaml", "--on-error", "raise", "--max-errors", "3")
	if got.code != exitUsage || !strings.Contains(got.stderr, "max_errors has no meaning") {
		t.Errorf("%+v", got)
	}
	if got = invoke(t, t.TempDir(), "run", filepath.Join(folder, "r.yaml")); got.code != exitFailed || !strings.Contains(got.stderr, "no files") {
		t.Errorf("%+v", got)
	}
}

// What cannot be reported has not succeeded.
func TestRunCannotTell(t *testing.T) {
	for _, flag := range []string{"--json", "--workers=1"} {
		c := exec.Command("sh", "-c", `exec "$0" run r.yaml `+flag+` > /dev/full`, program(t))
		c.Dir = photographs(t, "")
		out, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(string(out), "no space left on device") {
			t.Errorf("%s: exit code %d: %s", flag, code, out)
		}
	}
}

// endless is a run that goes on until it is stopped.
func endless(t *testing.T, args ...string) (c *exec.Cmd, stdout *bufio.Reader, stderr *bytes.Buffer) {
	t.Helper()
	c = exec.Command(program(t), append([]string{"run", "r.yaml", "--json", "--epochs", "1000000000"}, args...)...)
	c.Dir = photographs(t, "")
	stderr = new(bytes.Buffer)
	c.Stderr = stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, bufio.NewReader(out), stderr
}

func TestRunIsInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c, out, words := endless(t)
		for range 10 {
			if _, err := out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		c.Process.Signal(s)
		late := time.AfterFunc(patience, func() { c.Process.Kill() })
		var last map[string]any
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				break
			}
			last = happened(t, line)[0]
		}
		c.Wait()
		late.Stop()
		if code := c.ProcessState.ExitCode(); code != exitInterrupted || !strings.HasPrefix(words.String(), "headrace: interrupted in epoch ") || !strings.Contains(words.String(), " of 1000000000, after ") {
			t.Errorf("%v: exit code %d, %s", s, code, words)
		}
		if last["event"] != "end" || last["outcome"] != "interrupted" || last["exit_code"] != 130.0 || last["samples"].(float64) < 20 {
			t.Errorf("%v: the last event is %v", s, last)
		}
	}
}

// Nobody types the rest of the recipe: that wait ends too.
func TestRunIsInterruptedBeforeItHasARecipe(t *testing.T) {
	c := exec.Command(program(t), "run", "-")
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer theirs.Close()
	var words bytes.Buffer
	c.Stdin, c.Stderr = theirs, &words
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in.WriteString("headrace: 1\n")
	for left, deadline := 1, time.Now().Add(patience); left > 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) { // until it reads
		left, err = unix.IoctlGetInt(int(theirs.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
	}
	c.Process.Signal(os.Interrupt)
	late := time.AfterFunc(patience, func() { c.Process.Kill() })
	c.Wait()
	if !late.Stop() || c.ProcessState.ExitCode() != exitInterrupted || words.String() != "headrace: interrupted\n" {
		t.Errorf("%v: %s", c.ProcessState, words.String())
	}
}

// Lines come at a pace that a log can bear, whatever the run does meanwhile.
func TestLinesOfALongRun(t *testing.T) {
	var b bytes.Buffer
	d := newLines(&b)
	d.every = time.Millisecond
	d.start(start{now: progress{epochs: 2, perEpoch: 4000}})
	for deadline := time.Now().Add(patience); ; {
		d.batch(progress{epoch: 1, epochs: 2, samples: 1234, perEpoch: 4000, total: 5234, totalLost: 2})
		d.mu.Lock()
		said := b.String()
		d.mu.Unlock()
		if strings.Contains(said, "epoch 2 of 2: 30 %, 1,234 of 4,000 samples, 2 lost\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s", said)
		}
	}
	d.warn("decoder", "is another")
	d.end(ending{})
	if !strings.Contains(b.String(), "\nheadrace: warning: is another\n") {
		t.Errorf("%s", b.String())
	}
}

func TestWarningsOfAQuietRun(t *testing.T) {
	var b bytes.Buffer
	w := warnings{&b}
	w.warn("decoder", "is another")
	if b.String() != "headrace: warning: is another\n" {
		t.Error(b.String())
	}
	b.Reset()
	e := events{w: &b}
	e.warn("decoder", "is another")
	if event := happened(t, b.String())[0]; event["event"] != "warning" || event["code"] != "decoder" || event["message"] != "is another" {
		t.Errorf("%v", event)
	}
}

// A name that is not UTF-8 is in JSON what Python makes of it.
func TestLossesWithAnyName(t *testing.T) {
	folder := photographs(t, "loader: {on_error: skip}")
	os.WriteFile(filepath.Join(folder, "class0", "\xff.jpg"), []byte("no picture"), 0o644)
	got := invoke(t, folder, "run", "r.yaml", "--json")
	if got.code != exitLost || !strings.Contains(got.stdout, `"key":"class0/\udcff.jpg"`) {
		t.Errorf("%+v", got)
	}
}
