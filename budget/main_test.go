package budget

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now acquires what must be granted at once.
func now(t testing.TB, b *Budget, order uint64, n int64) Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), order, "test", n)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantEmpty fails where anything was left behind.
func wantEmpty(t interface {
	Helper()
	Fatalf(string, ...any)
}, b *Budget) {
	t.Helper()
	s := b.Stats()
	if s.Used != 0 || s.Waiting != 0 {
		t.Fatalf("left behind: %+v", s)
	}
	for i, l := range b.lanes {
		if l.holders.len() != 0 || len(l.holders.free) != len(l.holders.records) || l.waiters.len() != 0 {
			t.Fatalf("left behind in lane %d: %d holders, %d records of %d free", i, l.holders.len(),
				len(l.holders.free), len(l.holders.records))
		}
	}
	for _, p := range s.Purposes {
		if p.Used != 0 {
			t.Fatalf("left behind: %+v", p)
		}
	}
}
