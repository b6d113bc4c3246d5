package hostile

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"

	_ "github.com/headrace/headrace/media/avif"
	_ "github.com/headrace/headrace/media/jpeg"
	_ "github.com/headrace/headrace/media/spng"
	_ "github.com/headrace/headrace/media/stills"
	_ "github.com/headrace/headrace/media/tiff"
	_ "github.com/headrace/headrace/media/turbo"
	_ "github.com/headrace/headrace/media/webp"
)

// A job is an image and what is done with it, by the decoder that a program gets.
type job struct {
	name    string
	data    []byte
	decoder media.Decoder
	use     use
	want    []byte
	fails   bool
}

// jobs are intact images of all formats that have a decoder here, and as many that
// are cut.
func jobs(t *testing.T) []job {
	t.Helper()
	var all []job
	for format := range seeds {
		d, err := media.DecoderFor(format)
		if err != nil {
			continue
		}
		for i, s := range Seeds(t, format) {
			if _, err := attempt(d, s.Data, nil, uses[0]); unsupported(err) {
				continue
			}
			for k := range 2 {
				u := uses[(i+k)%len(uses)]
				all = append(all, job{name: format + ", " + s.Name + ", " + u.name, data: s.Data, decoder: d, use: u},
					job{name: "a quarter of " + format + ", " + s.Name, data: s.Data[:len(s.Data)/4], decoder: d, use: u, fails: true})
			}
		}
	}
	for i := range all {
		p, err := attempt(all[i].decoder, all[i].data, nil, all[i].use)
		if (err != nil) != all[i].fails {
			t.Fatalf("%s: %v", all[i].name, err)
		}
		all[i].want = p.Data
	}
	return all
}

func (j job) run() error {
	p, err := attempt(j.decoder, j.data, nil, j.use)
	if (err != nil) != j.fails || !bytes.Equal(p.Data, j.want) {
		return fmt.Errorf("%s: other pixels than before, or %v", j.name, err)
	}
	return nil
}

// Goroutines that decode at once, images of all formats, good ones and bad ones, each
// get what one alone gets.
func TestConcurrently(t *testing.T) {
	all := jobs(t)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 3 * len(all) {
				if err := all[(i*(2*g+1)+g)%len(all)].run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// Thousands of decodes, half of which fail, leave no memory, no descriptor and no
// goroutine after.
func TestNothingLeaks(t *testing.T) {
	all := jobs(t)
	decode := func(n int) {
		for i := range n {
			if err := all[i%len(all)].run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	decode(tier.Cases(500, 2000)) // until everything that is kept for the next image is there
	memory, files, routines := settled(t), openFiles(t), runtime.NumGoroutine()
	decode(tier.Cases(2000, 10_000))
	if more := settled(t) - memory; more > 3<<20 && !instrumented {
		t.Errorf("%d KiB more are resident", more>>10)
	}
	if n := openFiles(t); n != files {
		t.Errorf("%d descriptors, %d before", n, files)
	}
	if n := runtime.NumGoroutine(); n != routines {
		t.Errorf("%d goroutines, %d before", n, routines)
	}
}

// settled is the resident memory without what Go's collector could give back.
func settled(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	return status(t, "VmRSS")
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
