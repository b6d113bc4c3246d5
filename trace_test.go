package headrace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// traced reads a trace: by stage, the keys of the samples that were worked on there;
// and how many batches were handed over.
func traced(t *testing.T, file []byte) (keys map[string][]string, batches int) {
	t.Helper()
	var all []struct {
		Name, Cat string
		Args      struct {
			Key   string
			Index *int64
		}
	}
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	keys = make(map[string][]string)
	for _, e := range all {
		switch {
		case e.Cat == "operation" && e.Args.Key != "" && e.Args.Index != nil:
			keys[e.Name] = append(keys[e.Name], e.Args.Key)
		case e.Cat == "hand-over":
			batches++
		}
	}
	return keys, batches
}

// A trace has every sample by its name wherever it was worked on, and every batch; also
// across runs, and where it is begun in the middle.
func TestTraceNamesEverySample(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 12)
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(1)}, Options{})
	first := drain(t, l)
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	nextOf(t, l).Release()
	l.Stop()
	stop, err := l.Trace(&file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Trace(&file); !errors.Is(err, ErrTracing) {
		t.Errorf("a second trace: %v", err)
	}
	for range 2 {
		if err := l.Start(l.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		drain(t, l)
		l.Stop()
	}
	sum, err := stop()
	if err != nil || sum.Dropped != 0 || sum.Bytes != int64(file.Len()) {
		t.Errorf("%+v, %v", sum, err)
	}
	if err := l.Start(l.Info().State, nil); err != nil { // of which nothing is in the file
		t.Fatal(err)
	}
	drain(t, l)
	keys, batches := traced(t, file.Bytes())
	if want := 2 * len(first); batches != want {
		t.Errorf("%d batches were handed over, %d in the trace", want, batches)
	}
	want := make(map[string]int)
	for _, b := range first {
		for _, r := range b {
			want[r.Key] += 2
		}
	}
	stages := l.Info().Stages
	for _, stage := range []string{stages[1].Name, stats.ShortName(stages[2].Name)} {
		got := make(map[string]int)
		for _, key := range keys[stage] {
			got[key]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s worked on %v, wanted %v; there are %v", stage, got, want, slices.Collect(maps.Keys(keys)))
		}
	}
}

// Closing the loader ends a trace, and the file is whole. A writer that fails is the
// trace's failure alone.
func TestTraceEndsWithTheLoader(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	r := augmented(t, root, `{"size":4}`)
	l, err := Open(t.Context(), r, Config{Epochs: new(1)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	stop, err := l.Trace(full)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, l); len(got) != 2 {
		t.Errorf("%d batches", len(got))
	}
	if _, err := stop(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	var file bytes.Buffer
	stop, err = l.Trace(&file)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	length := file.Len()
	traced(t, file.Bytes())
	if sum, err := stop(); err != nil || file.Len() != length || sum.Bytes != int64(length) {
		t.Errorf("%+v, %v: %d bytes, then %d", sum, err, length, file.Len())
	}
	if _, err := l.Trace(&file); err == nil {
		t.Error("a loader that is closed is traced")
	}
}

func BenchmarkTracedSpan(b *testing.B) {
	var off report.Tracing
	span := off.Hooks().Span
	for b.Loop() {
		span(pipe.Span{Stage: "decode", Items: 1})
	}
}

// A trace that nobody has stopped is an error of whoever ends the loader, and of nobody
// else.
func TestTraceOfAFullDiskIsSaidByClose(t *testing.T) {
	leak.Check(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	r := augmented(t, phototest.Folder(t, 8), `{"size":4}`)
	for _, finish := range []bool{true, false} {
		l, err := Open(t.Context(), r, Config{Epochs: new(1)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Trace(full); err != nil {
			t.Fatal(err)
		}
		if err := l.Start(l.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		if got := drain(t, l); len(got) != 2 {
			t.Errorf("%d batches", len(got))
		}
		if finish {
			if err := l.Finish(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
				t.Errorf("Finish: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Errorf("Close after Finish: %v", err)
			}
		} else if err := l.Close(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full") {
			t.Errorf("Close: %v", err)
		}
	}
}
