package serve

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/wire"
)

// bounded is a task with more keys.
func bounded(keys string) string { return strings.Replace(decodeBatch, "{", "{"+keys+",", 1) }

// unsized is one for which images say how large the result is.
var unsized = strings.NewReplacer(`"width":24`, `"width":0`, `"height":16`, `"height":0`).Replace(decodeBatch)

// hollow makes a file of so many bytes that takes nothing on the disk but its beginning.
func hollow(t *testing.T, begin []byte, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hollow")
	if err := os.WriteFile(path, begin, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesOfHolesAreFailuresOfTheirInput(t *testing.T) {
	good := photographs(t, 1)[0]
	c := start(t).io(wire.IO{Protocol: wire.Version})
	for name, path := range map[string]string{
		"zeros":     hollow(t, nil, 1<<40),
		"a header":  hollow(t, content(t, good)[:600], 1<<40),
		"below it":  hollow(t, []byte("no image"), 1<<30-1),
		"endless":   "/dev/zero",
		"a folder":  t.TempDir(),
		"of a size": "/proc/self/status",
	} {
		for _, what := range []string{decodeBatch, unsized} {
			done, failures := c.task(what, good, path)
			if len(failures) != 1 || failures[0].Index == nil || *failures[0].Index != 1 || done.Flags&wire.HasResult == 0 {
				t.Errorf("%s: %+v, %+v", name, done, failures)
				continue
			}
			c.giveBack(done)
		}
	}
	for most, fails := range map[int64]bool{1: true, int64(len(content(t, good))) - 1: true, int64(len(content(t, good))): false} {
		_, failures := c.task(bounded(fmt.Sprintf(`"max_bytes":%d`, most)), good)
		if fails != (len(failures) == 1) || fails && !strings.Contains(failures[0].Message, fmt.Sprintf("the limit is %d", most)) {
			t.Errorf("%d bytes: %+v", most, failures)
		}
	}
}

// bitmap is a BMP of zeros.
func bitmap(width, height int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(append([]byte("BM"), make([]byte, 8)...), 54)
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, 40), uint32(width)), uint32(height))
	b = le.AppendUint16(le.AppendUint16(b, 1), 24)
	return append(append(b, make([]byte, 24)...), make([]byte, (width*3+3)/4*4*height)...)
}

func TestPixelsHaveALimit(t *testing.T) {
	c := start(t).io(wire.IO{Protocol: wire.Version})
	for most, fails := range map[int]bool{99: true, 100: false} {
		_, failures := c.task(bounded(fmt.Sprintf(`"max_pixels":%d`, most)), bitmap(10, 10))
		if fails != (len(failures) == 1) || fails && !strings.Contains(failures[0].Message, "10×10 pixels; the limit is 99, raise it with max_pixels") {
			t.Errorf("%d pixels: %+v", most, failures)
		}
	}
	for _, keys := range []string{`"max_pixels":-1`, `"max_pixels":178956971`, `"max_bytes":-1`, `"time_limit":-1`, `"time_limit":1e300`} {
		if _, failures := c.task(bounded(keys), bitmap(4, 4)); len(failures) != 1 || failures[0].Code != wire.CodeRecipe {
			t.Errorf("%s: %+v", keys, failures)
		}
	}
}

// counting tells how many decode at once.
type counting struct {
	slow time.Duration
	mu   *sync.Mutex
	now  *int
	most *atomic.Int64
}

func (counting) Name() string { return "counting" }

func (d counting) DecodeInto(dst []byte, _ int, _ []byte, _ *media.Info, _ *media.Plan) error {
	d.mu.Lock()
	*d.now++
	d.most.Store(max(d.most.Load(), int64(*d.now)))
	d.mu.Unlock()
	time.Sleep(d.slow)
	d.mu.Lock()
	*d.now--
	d.mu.Unlock()
	dst[0] = 77
	return nil
}

func count(t *testing.T, slow time.Duration) (most *atomic.Int64) {
	t.Helper()
	before, err := media.DecoderFor(media.BMP)
	if err != nil {
		t.Fatal(err)
	}
	most = new(atomic.Int64)
	media.Register(media.BMP, counting{slow, new(sync.Mutex), new(int), most})
	t.Cleanup(func() { media.Register(media.BMP, before) })
	return most
}

// Images that each take more than there is are decoded one after the other; small ones
// beside each other.
func TestDecodersWaitForMemory(t *testing.T) {
	most := count(t, 5*time.Millisecond)
	e := &engine{ioEngine: ioEngine{gate: headrace.NewGate(), cpus: 8}}
	e.memory.limit = 1 << 20
	h := startWith(t, e)
	large := bitmap(800, 500)
	var clients sync.WaitGroup
	for range 3 {
		c := h.io(wire.IO{Protocol: wire.Version})
		clients.Go(func() {
			for _, what := range []string{decodeBatch, unsized} {
				done, failures := c.task(what, large, large, large, large)
				if len(failures) != 0 || done.Flags&wire.HasResult == 0 {
					t.Errorf("%+v", failures)
				}
				c.giveBack(done)
			}
		})
	}
	clients.Wait()
	if most.Load() != 1 {
		t.Errorf("%d were decoded at once", most.Load())
	}
	if e.memory.kept.Load() != 0 {
		t.Errorf("%d bytes are still kept", e.memory.kept.Load())
	}
	c := h.io(wire.IO{Protocol: wire.Version})
	g, err := e.memory.ask(t.Context(), 1) // all has been given back: nobody is waited for
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	if _, failures := c.task(decodeBatch, bitmap(8, 8), bitmap(8, 8)); len(failures) != 0 {
		t.Errorf("%+v", failures)
	}
}

// What takes too long is given up, and writes nowhere that anybody sees.
func TestATimeLimitIsTheFailureOfItsInput(t *testing.T) {
	count(t, 300*time.Millisecond)
	h := start(t)
	c := h.io(wire.IO{Protocol: wire.Version})
	good := photographs(t, 1)[0]
	path := filepath.Join(t.TempDir(), "slow.bmp")
	if err := os.WriteFile(path, bitmap(24, 16), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, slow := range []any{bitmap(24, 16), path} {
		for _, what := range []string{`"time_limit":0.02`, `"time_limit":0.000000001`} {
			done, failures := c.task(bounded(what), slow)
			if len(failures) != 1 || !strings.Contains(failures[0].Message, "time_limit") {
				t.Fatalf("%s: %+v", what, failures)
			}
			pixels := slices.Clone(c.bytes(done))
			time.Sleep(400 * time.Millisecond)
			if !slices.Equal(pixels, c.bytes(done)) || pixels[0] != 0 {
				t.Error("an array that the client has was written to")
			}
			c.giveBack(done)
		}
	}
	if done, failures := c.task(bounded(`"time_limit":100`), good, path); len(failures) != 0 || c.bytes(done)[24*16*3] != 77 {
		t.Errorf("%+v", failures)
	}
}
