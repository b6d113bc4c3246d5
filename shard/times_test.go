package shard_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/arrowfile"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/tensor"
)

// frames is a table of episodes with times.
func frames(t *testing.T, episodes []int64, times []float64) *shard.Dataset {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.arrow")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := arrowfile.NewWriter(f, []arrowfile.Column{{Name: "episode", DType: tensor.Int64}, {Name: "t", DType: tensor.Float64}})
	if err := errors.Join(w.AddRows(len(times), [][]byte{bytesOf(t, episodes), bytesOf(t, times)}), w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HEADRACE_CACHE", t.TempDir())
	d, err := shard.Open(t.Context(), []string{path}, shard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func bytesOf(t *testing.T, numbers any) []byte {
	t.Helper()
	b, err := binary.Append(nil, binary.LittleEndian, numbers)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// nearest looks at all rows of a group.
func nearest(times []float64, i int, seconds float64) (at int, beyond bool) {
	for j := range times {
		if math.Abs(times[j]-times[i]-seconds) < math.Abs(times[at]-times[i]-seconds) {
			at = j
		}
	}
	if last := len(times) - 1; last > 0 {
		before, after := times[1]-times[0], times[last]-times[last-1]
		d := times[i] + seconds
		beyond = times[0]-d > before/2+1e-6 || d-times[last] > after/2+1e-6
	} else {
		beyond = math.Abs(seconds) > 1e-6
	}
	return at, beyond
}

func TestTheNearestRowInTimeIsFound(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var episodes []int64
	var times []float64
	starts := []int{0}
	for e := range 40 {
		now := 100 * draw.Float64()
		for range []int{1, 2, 63, 64, 65, 200}[draw.IntN(6)] {
			episodes, times = append(episodes, int64(e%3)), append(times, now)
			now += []float64{0, 0.1, 0.1, 0.25, 3}[draw.IntN(5)]
		}
		starts = append(starts, len(times))
	}
	d := frames(t, episodes, times)
	groups, err := d.Groups(t.Context(), "episode", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Times(t.Context(), "t", groups)
	if err != nil {
		t.Fatal(err)
	}

	f := all.Finder()
	for range 5000 {
		i := draw.IntN(len(times))
		from, end := groups.Around(int64(i))
		if !slices.Contains(starts, int(from)) || !slices.Contains(starts, int(end)) || int(from) > i || i >= int(end) {
			t.Fatalf("row %d is in the group %d to %d", i, from, end)
		}
		seconds := []float64{0.1, -0.1, 0.07, -3, 40, -40}[draw.IntN(6)]
		at, beyond, err := f.Near(int64(i), seconds, from, end)
		if err != nil {
			t.Fatal(err)
		}
		want, pad := nearest(times[from:end], i-int(from), seconds)
		if int(at-from) != want || beyond != pad {
			t.Fatalf("%v seconds after row %d of %v: row %d, %v; want %d, %v", seconds, i-int(from), times[from:end],
				at-from, beyond, want, pad)
		}
	}
	if n := testing.AllocsPerRun(100, func() { f.Near(70, 1, 0, 3) }); n > 0 {
		t.Errorf("a search allocates %v times", n)
	}
}

func TestTimesThatAreNotInOrder(t *testing.T) {
	episodes, nan := []int64{0, 0, 1, 1}, math.NaN()
	for says, times := range map[string][]float64{
		`"t" goes back in time`: {0, 1, 5, 4}, `"t" is NaN`: {0, 1, nan, 3}, `"t" is +Inf`: {0, math.Inf(1), 1, 2},
	} {
		d := frames(t, episodes, times)
		groups, err := d.Groups(t.Context(), "episode", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = d.Times(t.Context(), "t", groups); !errors.Is(err, shard.ErrUnsupported) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %s", times, err, says)
		}
	}
}
