package store_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/node"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// namings are ways in which buckets have names, each with about so many in a folder.
var namings = map[string]func(i int) string{
	"numbers": func(i int) string { return fmt.Sprintf("b/img/%08d.jpg", i) },
	"folders": func(i int) string { return fmt.Sprintf("b/n%05d/n%05d_%d.JPEG", i/1300, i/1300, 1_000_000+i) },
	"hashes": func(i int) string { // spread evenly, with the number in the end
		return fmt.Sprintf("b/%09x-é", uint64(i)*(1<<36/1_000_000))
	},
	"beyond": func(i int) string { return fmt.Sprintf("b/é/%07d", i) },
}

// TestAMillionObjects are listed in a tenth of the time that page after page takes, in
// their order, with few requests more.
func TestAMillionObjects(t *testing.T) {
	if testing.Short() {
		return // a second for each
	}
	for name, naming := range namings {
		synctest.Test(t, func(t *testing.T) {
			m := &storetest.Many{Total: 1_000_000, Name: naming, Pause: 50 * time.Millisecond}
			begun := time.Now()
			table, err := store.Find(t.Context(), m, "", "b/", []string{""})
			if err != nil {
				t.Fatal(name, err)
			}
			took, alone := time.Since(begun), 1000*50*time.Millisecond
			t.Logf("%s: %v, %d pages", name, took, m.Pages())
			if took > alone/10 || m.Pages() > 1300 || table.Len() != m.Total {
				t.Errorf("%s: %d objects in %v, %d pages", name, table.Len(), took, m.Pages())
			}
			for i := range table.Len() {
				if table.Key(i) != naming(i) {
					t.Fatalf("%s: object %d is %q", name, i, table.Key(i))
				}
			}
			for _, i := range []int{0, 1, 5000, 999_999} {
				o, err := m.Stat(t.Context(), naming(i))
				if err != nil || table.Check(i, o) != nil {
					t.Errorf("%s: %v, %v", name, err, table.Check(i, o))
				}
				if o.Version += "x"; table.Check(i, o) == nil {
					t.Errorf("%s: another version of %s is taken for the one that was listed", name, o.Name)
				}
			}
		})
	}
}

// TestNoOrder: a service that lists in no order, and from no name on, is listed page by
// page, and then sorted.
func TestNoOrder(t *testing.T) {
	for _, total := range []int{900, 20_000} {
		m := &storetest.Many{Total: total, Name: namings["folders"], IsLoose: true}
		table, err := store.Find(t.Context(), m, "", "b/**/*.JPEG", nil)
		if err != nil || table.Len() != total {
			t.Fatal(table, err)
		}
		for i := range total {
			o, err := m.Stat(t.Context(), table.Key(i))
			if table.Key(i) != m.Name(i) || err != nil || table.Check(i, o) != nil {
				t.Fatalf("object %d is %q, %v", i, table.Key(i), err)
			}
		}
	}
}

// folders lists as services with real folders do: all below a folder together, wherever
// the bytes of other names would have them.
type folders struct {
	storetest.Many // whose pages and objects it has none of
	names          []string
	isLate         bool // it begins a name too late
}

func byFolders(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// ObjectsAfter implements [store.Ranged].
func (f *folders) ObjectsAfter(_ context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		isLate := f.isLate && after != ""
		for _, name := range f.names {
			if !strings.HasPrefix(name, prefix) || byFolders(name, after) <= 0 {
				continue
			}
			if !isLate && !yield(store.Object{Name: name, Version: "1"}, nil) {
				return
			}
			isLate = false
		}
	}
}

// Objects implements [store.Store].
func (f *folders) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return f.ObjectsAfter(ctx, prefix, "")
}

// TestServicesWithAnotherOrder loses no name, wherever a listing is divided: in the order
// of folders, or if a service begins elsewhere than it should.
func TestServicesWithAnotherOrder(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		all := map[string]bool{}
		parts := []string{"a", "b/", "!", "+", "-", "0", "k/", "z"}[draw.IntN(4):]
		for len(all) < 12_000 {
			name := "b/"
			for range 8 + draw.IntN(3) {
				name += parts[draw.IntN(len(parts))]
			}
			all[name+"x"] = true
		}
		f := &folders{names: slices.SortedFunc(maps.Keys(all), byFolders), isLate: round%4 == 0}
		if f.isLate {
			slices.Sort(f.names)
		}
		table, err := store.Find(t.Context(), f, "", "b/", []string{""})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range slices.Sorted(maps.Keys(all)) {
			if i >= table.Len() || table.Key(i) != want {
				t.Fatalf("%d of %d names, and number %d is not %q", table.Len(), len(all), i, want)
			}
		}
	}
}

// TestSmallListingsAreNotDivided: one page takes one request.
func TestSmallListingsAreNotDivided(t *testing.T) {
	m := &storetest.Many{Total: 3900, Name: namings["numbers"]}
	if table, err := store.Find(t.Context(), m, "", "b/*/*", nil); err != nil || table.Len() != 3900 || m.Pages() > 6 {
		t.Errorf("%v, %d pages", err, m.Pages())
	}
}

// BenchmarkTenMillionObjects has no pauses: it is the price of the listing here.
func BenchmarkTenMillionObjects(b *testing.B) {
	for _, isLoose := range []bool{false, true} {
		b.Run(map[bool]string{false: "ordered", true: "loose"}[isLoose], func(b *testing.B) {
			for b.Loop() {
				m := &storetest.Many{Total: 10_000_000, Name: namings["numbers"], IsLoose: isLoose}
				table, err := store.Find(b.Context(), m, "", "b/", []string{".jpg"})
				if err != nil || table.Len() != m.Total {
					b.Fatal(err)
				}
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				b.ReportMetric(float64(now.Sys)/(1<<20), "MB-most")
				runtime.GC()
				runtime.ReadMemStats(&now)
				b.ReportMetric(float64(now.HeapAlloc)/float64(m.Total), "B/object")
				runtime.KeepAlive(table)
			}
		})
	}
}

// TestProcessesListOnce: of those that list the same at the same time, one does, and all
// have its versions; what was listed before is listed again.
func TestProcessesListOnce(t *testing.T) {
	place, err := node.Open(filepath.Join(t.TempDir(), "node"))
	if err != nil {
		t.Fatal(err)
	}
	defer place.Use()()
	m := &storetest.Many{Total: 30_000, Name: namings["folders"], Pause: 10 * time.Millisecond}
	list := func(pattern string, suffixes ...string) (*store.Table, error) {
		return store.Find(t.Context(), m, "", pattern, suffixes)
	}
	if _, err := list("b/", ".JPEG"); err != nil {
		t.Fatal(err)
	}
	alone := m.Pages()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			table, err := list("b/", ".JPEG")
			if err != nil || table.Len() != m.Total {
				t.Error(err)
				return
			}
			for _, i := range []int{0, 12_345, 29_999} {
				o, err := m.Stat(t.Context(), m.Name(i))
				if table.Key(i) != o.Name || err != nil || table.Check(i, o) != nil {
					t.Errorf("%q, %v", table.Key(i), err)
				}
			}
		})
	}
	all.Wait()
	if n := m.Pages() - alone; n > alone*3/2 {
		t.Errorf("%d pages by four, %d by one", n, alone)
	}
	for range 2 {
		all.Go(func() {
			if _, err := list("b/", ".png"); !errors.Is(err, store.ErrNoFiles) || !strings.Contains(err.Error(), "30000 others") {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
