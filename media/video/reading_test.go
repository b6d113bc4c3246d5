//go:build cgo

package video_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/video"
)

// counting is a file that counts the bytes that are read of it.
type counting struct {
	*os.File
	size, read int64
}

func (c *counting) Size() int64 { return c.size }

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.File.ReadAt(p, at)
	c.read += int64(n)
	return n, err
}

// huge is a file of more than 2 GB, nearly all of it a hole between its header and its
// packets, and the size of its index.
func huge(t *testing.T, name string) (file *counting, index int64) {
	t.Helper()
	data := slices.Clone(testvideo.Read(t, name))
	const hole = 1<<31 - 64<<10
	at := bytes.Index(data, []byte("mdat")) - 4
	moov := bytes.Index(data, []byte("moov")) - 4
	index = int64(binary.BigEndian.Uint32(data[moov:]))
	for stco := moov; ; {
		next := bytes.Index(data[stco:], []byte("stco"))
		if next < 0 {
			break
		}
		stco += next + 4
		for i := range int(binary.BigEndian.Uint32(data[stco+4:])) {
			entry := data[stco+8+4*i:]
			binary.BigEndian.PutUint32(entry, binary.BigEndian.Uint32(entry)+hole)
		}
	}
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	free := binary.BigEndian.AppendUint32(nil, hole)
	for _, part := range []struct {
		at   int64
		data []byte
	}{{0, data[:at]}, {int64(at), append(free, "free"...)}, {int64(at) + hole, data[at:]}} {
		if _, err := f.WriteAt(part.data, part.at); err != nil {
			t.Fatal(err)
		}
	}
	return &counting{File: f, size: int64(len(data)) + hole}, index
}

// A window from the middle of a file of 2 GB reads the index and the packets of its GOPs,
// and gives the frames of the small file.
func TestWindowsOfLargeFilesReadWhatTheyNeed(t *testing.T) {
	avtest.Library(t)
	const name, block = "bpyr.mp4", 4096
	small := open(t, testvideo.File(t, name))
	for _, frames := range [][]int{{40}, {26, 30, 34}, {3, 45}, {12, 13, 14}} {
		file, index := huge(t, name)
		v, err := video.Open(file, -1)
		if err != nil {
			t.Fatal(err)
		}
		var wanted int64
		for _, r := range v.Table.Runs(frames) {
			first, last := r.First, r.Last
			for last+1 < len(v.Table.Packets) && !v.Table.Packets[last+1].Key {
				last++
			}
			for i := first; i <= last; i++ {
				wanted += int64(v.Table.Packets[i].Size)
			}
		}
		got := planes(t, v, frames)
		if most := index + wanted + 2*block; file.read > most {
			t.Errorf("frames %v: %d bytes were read; the index has %d and the GOPs have %d", frames, file.read, index, wanted)
		}
		for n, want := range planes(t, small, frames) {
			if !bytes.Equal(got[n], want) {
				t.Errorf("frame %d is another", n)
			}
		}
	}
}

// A caller that stops waits for a few packets, and not for the rest of a GOP.
func TestDecodingEndsSoonAfterItsContext(t *testing.T) {
	avtest.Library(t)
	v := open(t, testvideo.File(t, "onegop.mp4"))
	var all []int
	for n := range v.Table.Line.Len() {
		all = append(all, n)
	}
	c, err := v.Clip(all)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	shown := 0
	err = c.Decode(ctx, func(int, *video.Frame) error {
		if shown++; shown == 3 {
			cancel(reason)
		}
		return nil
	})
	if !errors.Is(err, reason) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v, not the reason", err)
	}
	if shown > 3+20 {
		t.Errorf("%d of %d frames were shown, 20 after the end", shown, len(all))
	}
}

// Videos are opened and decoded again and again, half of them damaged: memory, files and
// threads stay as they are.
func TestNothingIsLeftOfVideos(t *testing.T) {
	avtest.Library(t)
	rounds := tier.Cases(1200, 4000)
	if testing.Short() || avtest.Instrumented {
		rounds = 300
	}
	whole := testvideo.Read(t, "bpyr.mp4")
	other := testvideo.Read(t, "vfr.mkv")
	rng := rand.New(rand.NewPCG(1, 2))
	one := func() {
		data := whole
		if rng.IntN(4) == 0 {
			data = other
		}
		if rng.IntN(2) == 0 {
			data = data[:rng.IntN(len(data))]
		}
		v, err := video.Open(video.Bytes(data), -1)
		if err != nil {
			return
		}
		if v.Table.Line.Len() == 0 {
			return
		}
		c, err := v.Clip([]int{rng.IntN(v.Table.Line.Len())})
		if err != nil {
			return
		}
		stop := errors.New("enough")
		err = c.Decode(t.Context(), func(int, *video.Frame) error {
			if rng.IntN(2) == 0 {
				return stop
			}
			return nil
		})
		c.Close()
		if err != nil && err != stop && !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrTruncated) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	for range rounds / 4 {
		one()
	}
	before := now(t)
	for range rounds {
		one()
	}
	after := now(t)
	if after.files > before.files || after.goroutines > before.goroutines || after.threads > before.threads+rounds/10 { // Go starts some
		t.Errorf("%+v, was %+v", after, before)
	}
	if !avtest.Instrumented && after.resident > before.resident+16<<20 {
		t.Errorf("%d bytes are resident after %d videos, %d were before", after.resident, rounds, before.resident)
	}
}

type state struct{ files, goroutines, threads, resident int }

func now(t *testing.T) state {
	t.Helper()
	runtime.GC()
	count := func(folder string) int {
		all, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return state{count("/proc/self/fd"), runtime.NumGoroutine(), count("/proc/self/task"), pages * os.Getpagesize()}
}
