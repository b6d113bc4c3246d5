//go:build cgo && !asan && !race && !msan

package hostile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

// A decoder that gets no memory from the system says that, and blames no image. It is
// tried in a process of its own, in which nothing can be mapped any more, with a
// image whose coefficients need more than C has left over; but for sanitizers, which
// need addresses of their own.
func TestDecodersWithoutMemory(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestDecoderWithoutMemory$")
	child.Env = append(os.Environ(), "HEADRACE_TEST_NO_MEMORY=1")
	if told, err := child.CombinedOutput(); err != nil || !strings.Contains(string(told), "no memory: true") {
		t.Errorf("%v\n%s", err, told)
	}
}

// TestDecoderWithoutMemory is what the child does.
func TestDecoderWithoutMemory(t *testing.T) {
	if os.Getenv("HEADRACE_TEST_NO_MEMORY") == "" {
		return
	}
	d, err := media.DecoderFor(media.JPEG)
	if err != nil {
		t.Fatal(err)
	}
	small := testjpeg.Noise(64, 64, 1, testjpeg.Layout{Sampling: testjpeg.S420, Progressive: true})
	if _, err := attempt(d, small, nil, uses[0]); err != nil { // and threads are there
		t.Fatal(err)
	}

	data := Resized(small, media.JPEG, 6000, 5000)
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{}, nil, nil, &plan); err != nil {
		t.Fatal(err)
	}
	pixels := make([]byte, 6000*5000*3)

	// What Go itself will need it has already: it dies where it gets none.
	room := make([][]byte, 4000)
	for i := range room {
		room[i] = make([]byte, 8<<10)
	}
	clear(room)
	runtime.GC()
	debug.SetGCPercent(-1)
	limit := syscall.Rlimit{Cur: uint64(status(t, "VmSize")), Max: ^uint64(0)}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	err = d.DecodeInto(pixels, 6000*3, data, &info, &plan)
	fmt.Println("no memory:", errors.Is(err, media.ErrMemory) && errors.Is(err, syscall.ENOMEM) && kindsOf(err) == 0, err)
}
