package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// traceFile reads a trace: how many of its events are operations with a sample's name,
// and how many batches were handed over.
func traceFile(t *testing.T, text []byte) (operations, batches int) {
	t.Helper()
	var all []struct {
		Ph, Name, Cat string
		Args          map[string]any
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	for _, e := range all {
		key, _ := e.Args["key"].(string)
		switch {
		case e.Cat == "operation" && strings.HasSuffix(key, ".jpg") && e.Name != "files":
			operations++
		case e.Cat == "hand-over":
			batches++
		}
	}
	return operations, batches
}

func TestRunWritesATrace(t *testing.T) {
	folder := photographs(t, "")
	name := filepath.Join(folder, "trace.json")
	if err := os.WriteFile(name, bytes.Repeat([]byte("old"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	got := invoke(t, folder, "run", "r.yaml", "--trace", "trace.json", "--epochs", "2")
	if got.code != 0 || !strings.Contains(got.stdout, "Wrote the trace trace.json: ") || !strings.Contains(got.stdout, "https://ui.perfetto.dev") {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if operations, batches := traceFile(t, text); operations != 2*2*20 || batches != 2*3 {
		t.Errorf("%d operations on samples, %d batches", operations, batches)
	}
	got = invoke(t, folder, "run", "r.yaml", "--trace", "trace.json", "--json")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	var end struct{ Trace traceEvent }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Trace.File != "trace.json" || end.Trace.Events < 40 || end.Trace.Bytes < 1000 {
		t.Errorf("%+v, %v", end, err)
	}
}

// A file that cannot be written is reported before anything runs, one on a full disk at
// the end, with all else that there is to say.
func TestRunWithATraceThatCannotBeWritten(t *testing.T) {
	folder := photographs(t, "")
	for name, want := range map[string]string{
		"none/trace.json": "headrace: --trace: open none/trace.json: no such file or directory\n",
		".":               "headrace: --trace: open .: is a directory\n",
	} {
		if got := invoke(t, folder, "run", "r.yaml", "--trace", name); got.code != exitUsage || got.stderr != want || got.stdout != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := invoke(t, folder, "run", "r.yaml", "--trace", "/dev/full")
	if got.code != exitFailed || !strings.Contains(got.stderr, "headrace: --trace: write /dev/full: no space left on device; the file system is full: free some space, or write elsewhere\n") || !strings.Contains(got.stdout, "20 samples in") {
		t.Errorf("%+v", got)
	}
	if s, err := os.Stat("/dev/full"); err != nil || s.Mode().IsRegular() {
		t.Errorf("%v, %v", s, err)
	}
	// A run that does not begin leaves an older trace as it is, and no new one.
	old := filepath.Join(folder, "old.json")
	if err := os.WriteFile(old, []byte("[]"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"old.json", "new.json"} {
		if got := invoke(t, folder, "run", "r.yaml", "--trace", name, "--memory", "1"); got.code != exitUsage {
			t.Errorf("%+v", got)
		}
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "[]" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "new.json")); err == nil {
		t.Error("a run that does not begin leaves a trace")
	}
}

// What a run has written can be read when it was interrupted. When it was killed, the
// bracket is missing, as the format allows, and the last line may be cut, because
// SIGKILL ends a write in its middle.
func TestTraceOfARunThatIsStopped(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		folder := photographs(t, "loader: {epochs: 1000000}")
		name := filepath.Join(folder, "trace.json")
		c := exec.Command(program(t), "run", "r.yaml", "--trace", "trace.json")
		c.Dir = folder
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill() })
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if s, err := os.Stat(name); err == nil && s.Size() > 1_000_000 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("nothing is written")
			}
		}
		c.Process.Signal(signal)
		c.Wait()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if whole := bytes.HasSuffix(text, []byte("\n]\n")); whole != (signal == syscall.SIGINT) {
			t.Errorf("%v: the file ends in %q", signal, text[len(text)-20:])
		} else if !whole {
			text = append(text[:bytes.LastIndex(text, []byte(",\n"))], ']')
		}
		if operations, batches := traceFile(t, text); operations < 100 || batches < 10 {
			t.Errorf("%v: %d operations on samples, %d batches", signal, operations, batches)
		}
	}
}
