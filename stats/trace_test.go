package stats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
	"github.com/headrace/headrace/stats"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An event is one of a file, as encoding/json reads it.
type event struct {
	Ph, Name, Cat, S string
	PID, TID         int
	Ts, Dur          float64
	Args             map[string]any
	BindID           string `json:"bind_id"`
	FlowIn           bool   `json:"flow_in"`
	FlowOut          bool   `json:"flow_out"`
}

// events reads a file that is whole.
func events(t testing.TB, file []byte) (all []event) {
	t.Helper()
	j := json.NewDecoder(bytes.NewReader(file))
	j.DisallowUnknownFields()
	if err := j.Decode(&all); err != nil {
		t.Fatalf("%v\n%.2000s", err, file)
	}
	return all
}

// threads are the names of threads by their numbers.
func threads(all []event) map[int]string {
	names := make(map[int]string)
	for _, e := range all {
		if e.Ph == "M" && e.Name == "thread_name" {
			names[e.TID] = e.Args["name"].(string)
		}
	}
	return names
}

// A trace of a run has every operation with its sample, every wait and every hand-over,
// at its time, on the thread of its worker.
func TestTraceOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		trace := stats.NewTrace(&file, stats.TraceOptions{
			Name:   func(v any) (string, int64) { n, _ := v.(int); return fmt.Sprintf("n\xff%d\"\n", n), int64(n) },
			Gauges: func() []stats.Gauge { return []stats.Gauge{{Name: "queue", Unit: "ready", Value: 2.5}} },
		})
		slow := func(ctx context.Context, v int) (int, error) {
			pipetest.Sleep(ctx, 1500*time.Millisecond)
			if v == 1 {
				return 0, errors.New("bad \"one\"\n")
			}
			return v, nil
		}
		merged := pipe.Merge([]pipe.Flow[int]{pipe.From("numbers", pipetest.Numbers{N: 3})},
			pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin})
		f := pipe.Map(pipe.Map(merged, slow, pipe.Opts{Name: "read", Ordered: true}), slow, pipe.Opts{Name: "decode", Ordered: true})
		run, err := pipe.Start(t.Context(), f, pipe.Config{Hooks: pipe.Hooks{Span: trace.Span, Stage: func(i pipe.StageInfo) func(pipe.StageStats) { trace.Stage(i); return nil }}, Epoch: 4, Failures: pipe.Policy{Skip: true, Count: -1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range run.All() {
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		run.Close()
		summary, err := trace.Close()
		all := events(t, file.Bytes())
		if err != nil || summary.Dropped != 0 || summary.Bytes != int64(file.Len()) || summary.Events != int64(len(all)) {
			t.Errorf("%+v, %v; the file has %d bytes, %d events", summary, err, file.Len(), len(all))
		}
		var lines []string
		names := threads(all)
		for _, e := range all {
			if e.PID != os.Getpid() {
				t.Errorf("%+v", e)
			}
			args, _ := json.Marshal(e.Args)
			lines = append(lines, fmt.Sprintf("%s %s: %s %s %v+%v %s %s %v %v", e.Ph, names[e.TID],
				e.Cat, e.Name, e.Ts, e.Dur, args, e.BindID, e.FlowIn, e.FlowOut))
		}
		for _, want := range []string{
			`X read 0: operation read 0+1.5e+06 {"epoch":4,"index":0,"key":"n�0\"\n","position":0,"source":"numbers"} 0x40000000000 false true`,
			`X read 0: operation read 1.5e+06+1.5e+06 {"epoch":4,"error":"bad \"one\"\n","index":1,"key":"n�1\"\n","position":1,"source":"numbers"} 0x40000000001 false true`,
			`X decode 0: operation decode 1.5e+06+1.5e+06 {"epoch":4,"index":0,"key":"n�0\"\n","position":0,"source":"numbers"} 0x40000000000 true true`,
			`X decode 0: wait starved 0+1.5e+06 null  false false`,
			`X consumer: wait starved 0+3e+06 null  false false`,
			`X consumer: hand-over hand-over 3e+06+0 {"epoch":4,"index":0,"key":"n�0\"\n","position":0,"source":"numbers"} 0x8000040000000000 true false`,
			`X consumer: consumer consuming 3e+06+1e+06 null  false false`,
			`C :  queue 0+0 {"ready":2.5}  false false`,
			`i :  trace 0+0 {"began":"2000-01-01T00:00:00Z"}  false false`,
			`i :  end of trace 7e+06+0 {"dropped":0}  false false`,
			`M :  process_name 0+0 {"name":"headrace"}  false false`,
		} {
			if !slices.Contains(lines, want) {
				t.Errorf("%s is missing in\n%s", want, strings.Join(lines, "\n"))
			}
		}
		if n := strings.Count(file.String(), `"ph":"C"`); n != 1 {
			t.Errorf("a gauge that does not change is told %d times", n)
		}
	})
}

// Whatever is reported comes back: times to the nanosecond, and all texts that are UTF-8.
func TestTraceKeepsWhatItIsTold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringN(0, -1, 300)
		began := time.Now()
		var told []pipe.Span
		for range rapid.IntRange(0, 40).Draw(rt, "spans") {
			s := pipe.Span{
				Stage: text.Draw(rt, "stage"), Worker: rapid.IntRange(0, 3).Draw(rt, "worker"),
				Kind:  pipe.SpanKind(rapid.IntRange(0, 6).Draw(rt, "kind")),
				Begin: began.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "begin"))),
				Took:  time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "took")),
				Items: rapid.IntRange(0, 5).Draw(rt, "items"),
			}
			if rapid.Bool().Draw(rt, "item") {
				s.Item, s.Source = text.Draw(rt, "key"), "s"+text.Draw(rt, "source")
				s.Epoch, s.Pos = rapid.IntRange(0, math.MaxInt32).Draw(rt, "epoch"), rapid.Int64Range(0, 1<<48-1).Draw(rt, "pos")
			}
			switch rapid.IntRange(0, 2).Draw(rt, "fails") {
			case 1:
				s.Err = errors.New(text.Draw(rt, "error"))
			case 2:
				s.Err = pipe.Skip
			}
			told = append(told, s)
		}
		var file bytes.Buffer
		synctest.Test(t, func(*testing.T) {
			trace := stats.NewTrace(&file, stats.TraceOptions{Name: func(v any) (string, int64) { s, _ := v.(string); return s, -1 }})
			at := time.Now()
			for _, s := range told {
				s.Begin = at.Add(s.Begin.Sub(began))
				trace.Span(s)
			}
			if s, err := trace.Close(); err != nil || s.Dropped != 0 {
				rt.Fatalf("%+v, %v", s, err)
			}
		})
		all := events(t, file.Bytes())
		names := threads(all)
		all = slices.DeleteFunc(all, func(e event) bool { return e.Ph != "X" })
		begun := make(map[string]bool)
		told = slices.DeleteFunc(told, func(s pipe.Span) bool { // what a worker does before its first item
			idle := slices.Contains([]pipe.SpanKind{pipe.Starved, pipe.Blocked, pipe.Gated, pipe.Queued}, s.Kind) ||
				s.Kind == pipe.Work && s.Item == nil && s.Items == 0
			worker := fmt.Sprint(s.Worker, " ", s.Stage)
			begun[worker] = begun[worker] || s.Worker == 0 || !idle
			return !begun[worker]
		})
		if len(all) != len(told) {
			rt.Fatalf("%d of %d spans", len(all), len(told))
		}
		byTrack := func(a, b string) int { return strings.Compare(a, b) }
		var want, got []string
		for _, s := range told {
			thread := fmt.Sprint(stats.ShortName(s.Stage), " ", s.Worker)
			if s.Stage == "" {
				thread = "consumer"
			}
			failure := ""
			if s.Err != nil {
				failure = s.Err.Error()
			}
			key, _ := s.Item.(string)
			want = append(want, fmt.Sprintf("%s %d %d %q %q %q", thread, s.Begin.Sub(began), s.Took, key, s.Source, failure))
		}
		for _, e := range all {
			key, _ := e.Args["key"].(string)
			source, _ := e.Args["source"].(string)
			failure, _ := e.Args["error"].(string)
			if e.Args["dropped"] == true {
				failure = pipe.Skip.Error()
			}
			got = append(got, fmt.Sprintf("%s %.0f %.0f %q %q %q", names[e.TID], e.Ts*1000, e.Dur*1000, key, source, failure))
		}
		slices.SortFunc(want, byTrack)
		slices.SortFunc(got, byTrack)
		for i := range want {
			if want[i] != got[i] && !strings.Contains(want[i], "\\ufffd") {
				rt.Fatalf("%s\n%s", want[i], got[i])
			}
		}
	})
}

// stuck is a writer that waits.
type stuck struct {
	bytes.Buffer
	wait chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.wait
	return s.Buffer.Write(b)
}

// Who tells of spans does not wait for a writer that hangs: what does not fit into the
// memory is dropped and counted, and the file says so.
func TestTraceDropsWhatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{wait: make(chan struct{})}
		const memory = 256 << 10
		trace := stats.NewTrace(w, stats.TraceOptions{Memory: memory})
		const workers, each = 4, 2000
		var all sync.WaitGroup
		for k := range workers {
			all.Go(func() {
				for range each {
					trace.Span(pipe.Span{Stage: "stage", Worker: k, Begin: time.Now(), Source: "numbers"})
				}
			})
		}
		all.Wait() // else synctest reports a deadlock
		close(w.wait)
		s, err := trace.Close()
		told := 0
		for _, e := range events(t, w.Bytes()) {
			switch {
			case e.Ph == "X":
				told++
			case e.Name == "end of trace" && e.Args["dropped"] != float64(s.Dropped):
				t.Errorf("%v, %+v", e.Args, s)
			}
		}
		if err != nil || s.Dropped == 0 || int64(told)+s.Dropped != workers*each || w.Len() > memory+10_000 {
			t.Errorf("%d told, %+v, %v, %d bytes", told, s, err, w.Len())
		}
	})
}

// However many workers there are, their spans fit into the memory: what is kept for
// them does not depend on how many they are.
func TestTraceOfManyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		trace := stats.NewTrace(&file, stats.TraceOptions{})
		const workers = 5000
		for k := range workers {
			trace.Span(pipe.Span{Stage: "map", Worker: k, Kind: pipe.Starved, Begin: time.Now()})
			if k%2 == 0 {
				trace.Span(pipe.Span{Stage: "map", Worker: k, Kind: pipe.Operation, Begin: time.Now(), Items: 1})
			}
		}
		s, err := trace.Close()
		spans := slices.DeleteFunc(events(t, file.Bytes()), func(e event) bool { return e.Ph != "X" })
		if err != nil || s.Dropped != 0 || len(spans) != workers/2+1 {
			t.Errorf("%+v, %v, %d spans", s, err, len(spans))
		}
	})
}

// A disk that is full is an error of Close; what was reported since is counted as
// dropped.
func TestTraceOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	trace := stats.NewTrace(full, stats.TraceOptions{})
	for range 10 {
		trace.Span(pipe.Span{Stage: "stage", Begin: time.Now()})
	}
	s, err := trace.Close()
	if !errors.Is(err, syscall.ENOSPC) || s.Events != 0 || s.Dropped < 10 {
		t.Errorf("%+v, %v", s, err)
	}
	if again, err := trace.Close(); again != s || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%+v, %v", again, err)
	}
	trace.Span(pipe.Span{Stage: "stage", Begin: time.Now()})
	trace.Span(pipe.Span{Stage: "another", Begin: time.Now()})
}

// Wherever a process ends, what it has written is whole but for the bracket; and it
// writes at least every tenth of a second.
func TestTraceOfAProcessThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "trace.json")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		trace := stats.NewTrace(f, stats.TraceOptions{})
		defer trace.Close()
		for i := range 100 {
			trace.Span(pipe.Span{Stage: fmt.Sprint("stage ", i%3), Worker: i % 2, Begin: time.Now(), Took: time.Millisecond})
			time.Sleep(21 * time.Millisecond)
			synctest.Wait()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			spans := 0
			for _, e := range events(t, append(text, ']')) {
				if e.Ph == "X" {
					spans++
				}
			}
			if spans < i+1-5 {
				t.Fatalf("%d of %d spans are in the file", spans, i+1)
			}
		}
	})
}

// A trace that is begun in the middle has the rest of what had begun before, and
// nothing else of that.
func TestTraceBegunInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		time.Sleep(time.Second)
		var file bytes.Buffer
		trace := stats.NewTrace(&file, stats.TraceOptions{})
		trace.Span(pipe.Span{Stage: "stage", Begin: before, Took: 500 * time.Millisecond})
		trace.Span(pipe.Span{Stage: "stage", Begin: before, Took: 1500 * time.Millisecond})
		trace.Close()
		all := slices.DeleteFunc(events(t, file.Bytes()), func(e event) bool { return e.Ph != "X" })
		if len(all) != 1 || all[0].Ts != 0 || all[0].Dur != 500_000 {
			t.Errorf("%+v", all)
		}
	})
}

func BenchmarkTrace(b *testing.B) {
	trace := stats.NewTrace(io.Discard, stats.TraceOptions{Name: func(any) (string,
		int64) {
		return "data/train/n01440764/n01440764_10026.JPEG", 12345
	}})
	s := pipe.Span{Stage: "decode_image", Begin: time.Now(), Took: 812345, Items: 1, Item: b, Source: "files", Epoch: 1, Pos: 123456}
	b.ReportAllocs()
	for b.Loop() {
		trace.Span(s)
	}
	sum, _ := trace.Close()
	b.ReportMetric(float64(sum.Bytes)/float64(sum.Events), "B/event")
	b.ReportMetric(float64(sum.Dropped)/float64(b.N), "dropped")
}
