package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
)

// frugal checks that a decoder does not take more memory than the header gave reason to
// expect.
func frugal(t *testing.T, d media.Decoder, files []File) {
	for i, f := range files {
		info, err := media.Probe(f.Data)
		expected := int64(48 << 20) // what the runtime and the C library take and keep by the way
		if err == nil {
			expected += info.WorkingBytes()
		}
		either := uses[1:3]
		if !tier.Whole() {
			either = either[i%2:][:1]
		}
		for _, u := range either {
			var bad string
			took := MemoryOf(t, func() { _, bad, _ = misbehaviour(d, f.Data, nil, u) })
			if bad != "" {
				t.Errorf("%s, %s: %s", f.Name, u.name, bad)
			}
			if took > expected && !instrumented {
				t.Errorf("%s, %s: %d MiB, %d MiB were to be expected", f.Name, u.name, took>>20, expected>>20)
			}
		}
	}
}

// MemoryOf is by how much the resident memory of the process grew at most while f ran.
func MemoryOf(t testing.TB, f func()) int64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // garbage that waits for the collector is no need of f's, and its amount is chance
	runtime.GC()                                     // a pool holds what was put back for one collection more
	debug.FreeOSMemory()
	// 5 sets the largest size so far to the size now.
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before := status(t, "VmRSS")
	f()
	return status(t, "VmHWM") - before
}

func status(t testing.TB, name string) (bytesOf int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte(name+":"))
	if _, err := fmt.Sscanf(string(text), "%d kB", &bytesOf); err != nil {
		t.Fatal(err)
	}
	return bytesOf << 10
}

func unsupported(err error) bool { return errors.Is(err, media.ErrUnsupported) }
