package sound_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	opsound "github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// wavOf is a file of PCM with 16 bits, whose channels lie side by side.
func wavOf(rate, channels int, all []int16) []byte {
	var b bytes.Buffer
	b.WriteString("RIFF")
	binary.Write(&b, binary.LittleEndian, uint32(36+2*len(all)))
	b.WriteString("WAVEfmt ")
	binary.Write(&b, binary.LittleEndian, []uint32{16})
	binary.Write(&b, binary.LittleEndian, []uint16{1, uint16(channels)})
	binary.Write(&b, binary.LittleEndian, []uint32{uint32(rate), uint32(2 * rate * channels)})
	binary.Write(&b, binary.LittleEndian, []uint16{uint16(2 * channels), 16})
	b.WriteString("data")
	binary.Write(&b, binary.LittleEndian, uint32(2*len(all)))
	binary.Write(&b, binary.LittleEndian, all)
	return b.Bytes()
}

// ramp is samples that each tell where they are.
func ramp(n int) []int16 {
	all := make([]int16, n)
	for i := range all {
		all[i] = int16(i + 1)
	}
	return all
}

// Sample n of a window is heard n samples after its beginning; before a recording, and
// after it, there is silence.
func TestWindowsOfSeconds(t *testing.T) {
	const rate, samples = 1000, 100
	file := wavOf(rate, 1, ramp(samples))
	for _, c := range []struct {
		begin, end float64
		duration   *float64
		from, n    int
	}{
		{0, 0.1, nil, 0, 100},
		{0.01, 0.05, nil, 10, 40},
		{-0.02, 0.01, nil, -20, 30},
		{0.09, 0.12, nil, 90, 30},
		{0.5, 0.51, nil, 500, 10},
		{-0.5, -0.4, nil, -500, 100},
		{-0.01, 0.2, nil, -10, 210},
		{0.0304, 0.04, nil, 30, 10}, // to half a sample
		{0.02, 0.09, new(0.005), 20, 5},
		{0.07, 0.07, nil, 70, 0},
	} {
		args := recipe.Completed(&opsound.DecodeAudio{Duration: c.duration}).(*opsound.DecodeAudio)
		h, err := opsound.OpenHeard(bytes.NewReader(file), c.begin, c.end, args)
		if err != nil {
			t.Fatal(err)
		}
		got, want := make([]float32, h.Samples()), make([]float32, c.n)
		for i := range want {
			if at := c.from + i; at >= 0 && at < samples {
				want[i] = float32(at+1) / 32768
			}
		}
		if err := h.Read(t.Context(), got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || h.Rate() != rate || h.Channels() != 1 || h.Damaged() {
			t.Errorf("from %v to %v s, %v: %v\nwant %v", c.begin, c.end, c.duration, got, want)
		}
		h.Close()
	}
}

func TestWindowsThatAreNone(t *testing.T) {
	file := wavOf(1000, 1, ramp(10))
	args := recipe.Completed(&opsound.DecodeAudio{}).(*opsound.DecodeAudio)
	for _, edges := range [][2]float64{{math.NaN(), 1}, {0, math.NaN()}, {1, 0}, {0, math.Inf(1)}, {math.Inf(-1), 0}} {
		if h, err := opsound.OpenHeard(bytes.NewReader(file), edges[0], edges[1], args); err == nil || !strings.Contains(err.Error(), "the window begins at") {
			t.Errorf("%v: %v, %v", edges, h, err)
		}
	}
	if h, err := opsound.OpenHeard(bytes.NewReader(file), 0, 9e8, args); err == nil || !strings.Contains(err.Error(), "use a shorter one") {
		t.Errorf("28 years: %v, %v", h, err)
	}
	if h, err := opsound.OpenHeard(bytes.NewReader([]byte("no recording")), 0, 1, args); err == nil {
		t.Errorf("no recording: %v", h)
	}
}

// begins says where windows are that a later step decodes.
type begins struct{}

type window struct {
	Window [2]float64 `field:"window"`
}

func (begins) Do(_ context.Context, in struct{ ID sample.ID }) (window, error) {
	begin := float64(in.ID.Index)/100 - 0.005
	return window{[2]float64{begin, begin + 0.02}}, nil
}

var registerBegins = sync.OnceValue(func() error {
	return headrace.Register("begins", "Says where windows begin.", func() headrace.Operation[struct{ ID sample.ID }, window] { return new(begins) })
})

// The window of a sample is where one of its fields says, in files that are read and in
// those that are opened.
func TestWindowsThatAFieldSays(t *testing.T) {
	leak.Check(t)
	if err := registerBegins(); err != nil {
		t.Fatal(err)
	}
	pattern, all := recordings(t, 800, 800, 800)
	for _, content := range []bool{true, false} {
		for _, args := range []string{`"channels":2`, `"channels":2,"rate":16000,"duration":0.01`, `"channels":2,"layout":"CT"`} {
			r := loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/","content":%v}},"begins",{"decode_audio":{"window":"window","dtype":"int16",`+args+`}}`, pattern, content)
			l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Workers: new(2)}, headrace.Options{})
			n := 320
			if strings.Contains(args, "duration") {
				n = 160
			}
			index := 0
			for b := range loadertest.Epoch(t, l) {
				whole, audio := all[b.Text("key")[0]], int16s(b, "audio")
				want := make([]int16, 2*n)
				for i := range n {
					at := 160*index - 80 + i
					for c := range 2 {
						to := 2*i + c
						if strings.Contains(args, "CT") {
							to = c*n + i
						}
						if at >= 0 && at < 800 {
							want[to] = whole[2*at+c]
						}
					}
				}
				if !slices.Equal(audio, want) {
					t.Errorf("content %v, %s: recording %d has another window", content, args, index)
				}
				index++
			}
			if index != 3 {
				t.Errorf("%d recordings", index)
			}
		}
	}
}

func int16s(b *headrace.Batch, name string) []int16 {
	all, _ := b.Tensor(name)
	return unsafe.Slice((*int16)(unsafe.Pointer(unsafe.SliceData(all.Data))), len(all.Data)/2)
}
