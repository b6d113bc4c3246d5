package pipetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A refusal is a testing.TB that keeps the first fatal message instead of ending the
// test.
type refusal struct {
	testing.TB
	message string
}

func (r *refusal) Helper() {}

func (r *refusal) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	panic(r)
}

func refused[T any](t *testing.T, f pipe.Flow[T], ordered bool, parts func(T) []string) string {
	r := &refusal{TB: t}
	func() {
		defer func() {
			if got := recover(); got != nil && got != any(r) {
				panic(got)
			}
		}()
		Resume(r, f, pipe.Config{}, ordered, parts)
	}()
	return r.message
}

func print(v int) []string { return []string{fmt.Sprint(v)} }

func TestResumeAcceptsAnExactPipeline(t *testing.T) {
	if m := refused(t, pipe.From("numbers", Numbers{N: 5}), true, print); m != "" {
		t.Error(m)
	}
	if m := refused(t, pipe.From("numbers", Numbers{N: 5}), false, print); m != "" {
		t.Error(m)
	}
}

// A source that does not depend on its position alone is found out, by what comes
// another time and by what does not come.
func TestResumeRefusesWhatIsNotExact(t *testing.T) {
	var made atomic.Int64
	stateful := pipe.From("numbers", Numbers{N: 5, Value: func(int, int64) int { return int(made.Add(1)) }})
	for _, ordered := range []bool{false, true} {
		if m := refused(t, stateful, ordered, print); !strings.Contains(m, "instead of") {
			t.Errorf("ordered %v: %q", ordered, m)
		}
	}
	forgetful := pipe.Map(pipe.From("numbers", Numbers{N: 5}), func(_ context.Context, v int) (int, error) {
		if made.Add(1) > 12 {
			return 0, pipe.Skip
		}
		return v, nil
	}, pipe.Opts{Name: "map", Ordered: true})
	made.Store(0)
	if m := refused(t, forgetful, true, print); !strings.Contains(m, "instead of") {
		t.Errorf("%q", m)
	}
}

func TestOwnerFindsFaults(t *testing.T) {
	var o Owner[string]
	o.Made("a")
	o.Made("b")
	o.Gone("a")
	o.Gone("a")
	if f := o.Faults(); len(f) != 2 || o.Held() != 1 {
		t.Errorf("%q", f)
	}
}
