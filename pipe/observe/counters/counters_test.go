package counters_test

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/pipe/observe/counters"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Read int64 `json:"read" counter:"bytes" doc:"bytes read"`
	Open int64 `json:"open" gauge:"files" doc:"files that are open"`
}

type embedded struct {
	Kept int64 `json:"kept" counter:"frames" doc:"frames kept"`
}

type all struct {
	embedded
	Name    string        `json:"name" doc:"who"`
	Took    time.Duration `json:"took_ns" counter:"ns" doc:"time taken"`
	Threads int           `json:"threads" gauge:"threads" doc:"threads, now"`
	Known   *int64        `json:"known,omitempty" counter:"bytes" doc:"bytes, if the system tells"`
	Held    *int64        `json:"held,omitempty" gauge:"bytes" doc:"bytes held, if the system tells"`
	Mean    float64       `json:"mean" gauge:"items" doc:"items, on average"`
	Inner   inner         `json:"inner"`
	Far     *inner        `json:"far,omitempty"`
	Secret  int64         `json:"-"`
	List    []inner       `json:"list"`
}

func reading(n int64) all {
	return all{
		embedded: embedded{Kept: n}, Name: "a", Took: time.Duration(2 * n), Threads: int(n), Known: new(3 * n), Held: new(n), Mean: float64(n),
		Inner: inner{4 * n, n}, Far: &inner{5 * n, n}, Secret: n, List: []inner{{n, n}},
	}
}

var compare = cmp.AllowUnexported(all{})

func TestCountersAreSubtracted(t *testing.T) {
	got := reading(10)
	counters.Add(&got, -1, reading(3))
	want := reading(10)
	want.Kept, want.Took, want.Known, want.Inner.Read, want.Far.Read = 7, 14, new(int64(21)), 28, 35
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Error(diff)
	}
}

// The value that is added to shares its pointers with others.
func TestPointersOfOthersStay(t *testing.T) {
	first := reading(10)
	second := first
	counters.Add(&second, 1, reading(1))
	counters.Merge(&second, reading(1))
	if diff := cmp.Diff(reading(10), first, compare); diff != "" {
		t.Error(diff)
	}
}

func TestClocksAlone(t *testing.T) {
	got := reading(10)
	counters.AddClocks(&got, -1, reading(3))
	want := reading(10)
	want.Took = 14
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Error(diff)
	}
}

func TestMergeAddsGauges(t *testing.T) {
	got := reading(10)
	counters.Merge(&got, reading(3))
	want := reading(13)
	want.Secret, want.List = 10, got.List
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownStaysUnknown(t *testing.T) {
	for name, unknown := range map[string]func(*all){
		"a number": func(a *all) { a.Known = nil },
		"a struct": func(a *all) { a.Far = nil },
	} {
		one, other := reading(10), reading(3)
		unknown(&other)
		counters.Add(&one, -1, other)
		again := reading(10)
		unknown(&again)
		counters.Add(&again, -1, reading(3))
		for _, got := range []all{one, again} {
			if (got.Known == nil) == (got.Far == nil) {
				t.Errorf("%s: the sum has %v and %v", name, got.Known, got.Far)
			}
		}
	}
}

func TestLoadWhileOthersAdd(t *testing.T) {
	type live struct {
		embedded
		Inner inner
	}
	var s live
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 1000 {
				atomic.AddInt64(&s.Kept, 1)
				atomic.AddInt64(&s.Inner.Read, 2)
			}
		})
	}
	for last := int64(0); last < 4000; {
		now := counters.Load(&s)
		if now.Kept < last {
			t.Fatalf("%d after %d", now.Kept, last)
		}
		last = now.Kept
	}
	workers.Wait()
	if got := counters.Load(&s); got.Kept != 4000 || got.Inner.Read != 8000 {
		t.Errorf("%+v", got)
	}
}

func TestFigures(t *testing.T) {
	want := []counters.Figure{
		{"kept", counters.CounterKind, "frames", "frames kept"},
		{"name", counters.LabelKind, "", "who"},
		{"took_ns", counters.CounterKind, "ns", "time taken"},
		{"threads", counters.GaugeKind, "threads", "threads, now"},
		{"known", counters.CounterKind, "bytes", "bytes, if the system tells"},
		{"held", counters.GaugeKind, "bytes", "bytes held, if the system tells"},
		{"mean", counters.GaugeKind, "items", "items, on average"},
		{"inner", counters.LabelKind, "", ""},
		{"far", counters.LabelKind, "", ""},
		{"list", counters.LabelKind, "", ""},
	}
	if diff := cmp.Diff(want, counters.Of(reflect.TypeFor[all]())); diff != "" {
		t.Error(diff)
	}
}
