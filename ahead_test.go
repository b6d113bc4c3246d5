//go:build cgo && !headrace_debug

package headrace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/op/core"
	"golang.org/x/sys/unix"
)

// Steps whose functions are in testdata/python/ahead.py: of numbers large arrays, and
// of these numbers again.
const (
	largeThings = `"gives":{"n":{"dtype":"int64"},"big":{"dtype":"float32","shape":[256,1024]}}`
	smallThings = `{"map":{"function":"ahead:%s","gives":{"n":{"dtype":"int64"},"mean":{"dtype":"float64"}}}%s}`

	large      = 1 << 20 // bytes of one
	largeAhead = large
)

func openAhead(t *testing.T, steps string, c Config, environment ...string) *Loader {
	t.Helper()
	c.Epochs = new(1)
	return openLoader(t, parseRecipe(t, "%s", steps), c, Options{Python: pythonHere(t, environment...)})
}

// Before a function is called that makes any number of samples, there is room for those
// that nobody has taken.
func TestRoomIsReservedBeforeTheCall(t *testing.T) {
	leak.Check(t)
	for steps, calls := range map[string][]string{
		numbersUpTo(1) + `{"flat_map":{"function":"ahead:several",` + largeThings + `}}`: {"begun"},
		numbersUpTo(1) + `{"aggregate":{"function":"ahead:Sums",` + largeThings + `}}`:   {"begun", "flushed"},
		`{"source":{"function":"ahead:Stream",` + largeThings + `}}`:                     {"begun"},
	} {
		folder := t.TempDir()
		for _, name := range calls {
			if err := errors.Join(unix.Mkfifo(filepath.Join(folder, name), 0o600), unix.Mkfifo(filepath.Join(folder, name+".on"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		l := openAhead(t, steps+","+fmt.Sprintf(smallThings, "small", "")+`,{"batch":{"size":1}}`, Config{}, "AHEAD_FOLDER="+folder)
		batches := make(chan int)
		go func() {
			n := 0
			for b, err := range l.All(t.Context()) {
				if err != nil {
					t.Error(err)
					break
				}
				b.Release()
				n++
			}
			batches <- n
		}()
		for _, name := range calls {
			await(t, filepath.Join(folder, name), os.O_RDONLY)
			if n := l.Budget().ByPurpose()[core.ForDecoder] + l.Budget().ByPurpose()[core.ForFiles]; n < largeAhead {
				t.Errorf("%s, %s: %d bytes are reserved, where %d may be made", steps, name, n, largeAhead)
			}
			await(t, filepath.Join(folder, name+".on"), os.O_WRONLY)
		}
		if n := <-batches; n < 2 {
			t.Errorf("%s: %d came", steps, n)
		}
		nothingHeld(t, l)
	}
}

// await waits until a worker is at the other end of a FIFO.
func await(t *testing.T, fifo string, way int) {
	t.Helper()
	f, err := os.OpenFile(fifo, way, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// However little memory there is, and in whatever order samples come: who waits for
// room waits only where that ends, and nothing is held at the end, whatever fails.
func TestNobodyWaitsForRoomForEver(t *testing.T) {
	leak.Check(t)
	const (
		flat = `{"flat_map":{"function":"ahead:some","workers":3,` + largeThings + `}}`
		two  = `{"flat_map":{"function":"ahead:two","workers":3,` + largeThings + `}}`
		twos = `{"aggregate":{"function":"ahead:Twos",` + largeThings + `}}`
	)
	small, picky := fmt.Sprintf(smallThings, "small", ""), fmt.Sprintf(smallThings, "picky", `,"failures":{"on_error":"replace","max_errors":100}`)
	for what, c := range map[string]struct {
		steps  string
		memory int64
		rows   int // of 16 samples flat makes 23, of 11 it makes 16
	}{
		"both":          {numbersUpTo(16) + flat + "," + twos + "," + small, 4 << 10, 23},
		"after a merge": {`{"merge":{"of":[[` + justNumbers(16) + `],[` + justNumbers(11) + `]]}},` + flat + "," + twos + "," + small, 4 << 10, 39},
		"in a merge":    {`{"merge":{"of":[[` + numbersUpTo(16) + flat + `],[` + numbersUpTo(12) + twos + `]]}},` + small, 4 << 10, 35},
		// Those that take others' places wait for one worker, and have bytes that the
		// sample may wait for that this works on.
		"iterated": {`{"source":{"function":"ahead:Stream",` + largeThings + `}},` + small, 4 << 10, 40},
		"replaced": {numbersUpTo(60) + two + "," + picky, 2 * large, 120},
	} {
		for _, order := range []Order{InputOrder, CompletionOrder} {
			if order == CompletionOrder && what != "both" && !tier.Whole() {
				continue
			}
			config := Config{Order: order, OnError: Skip, MaxErrors: ErrorCount(100), Memory: new(c.memory)}
			l := openObject(t, c.steps+`,{"batch":{"size":2}}`, config, Options{})
			rows := 0
			for _, batch := range numbersOfEpoch(t, l, "n") {
				rows += len(batch)
			}
			if rows != c.rows {
				t.Errorf("%s, %s: %d came, want %d", what, order, rows, c.rows)
			}
			if s := l.Budget().Stats(); s.Forced == 0 || s.Peak < largeAhead {
				t.Errorf("%s, %s: %+v", what, order, s)
			}
			nothingHeld(t, l)
		}
	}
}

func justNumbers(n int) string { return strings.TrimSuffix(numbersUpTo(n), ",") }

// A run that ends while samples wait for room lets go of all of it.
func TestRunsEndWhileRoomIsWaitedFor(t *testing.T) {
	leak.Check(t)
	for _, steps := range []string{
		numbersUpTo(40) + `{"flat_map":{"function":"ahead:several","workers":3,` + largeThings + `}}`,
		numbersUpTo(40) + `{"aggregate":{"function":"ahead:Sums",` + largeThings + `}}`,
		`{"source":{"function":"ahead:Stream",` + largeThings + `}}`,
	} {
		l := openAhead(t, steps+","+fmt.Sprintf(smallThings, "small", "")+`,{"batch":{"size":1}}`, Config{Memory: new(int64(7 * large))})
		for range 3 {
			nextOf(t, l).Release()
		}
		nothingHeld(t, l)
	}
}
