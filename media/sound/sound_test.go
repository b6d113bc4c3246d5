package sound

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// memory is a recording of any samples.
type memory struct {
	info Info
	all  []float32
}

func (m *memory) Info() Info { return m.info }
func (m *memory) Close()     {}
func (m *memory) Read(to []float32, from int64) error {
	copy(to, m.all[from*int64(m.info.Channels):])
	return nil
}

func tone(rate int, hertz float64, samples int) *memory {
	m := &memory{info: Info{Rate: rate, Channels: 1, Samples: int64(samples)}}
	for i := range samples {
		m.all = append(m.all, float32(math.Sin(2*math.Pi*hertz*float64(i)/float64(rate))))
	}
	return m
}

// A window is that slice of the whole, to the bit, wherever it begins and however long it
// is, and however many samples are made at once.
func TestWindowsTile(t *testing.T) {
	usual := pieces
	defer func() { pieces = usual }()
	rapid.Check(t, func(t *rapid.T) {
		channels := rapid.IntRange(1, 3).Draw(t, "channels")
		rates := []int{8000, 11025, 16000, 22050, 44100, 48000}
		from, to := rapid.SampledFrom(rates).Draw(t, "from"), rapid.SampledFrom(rates).Draw(t, "to")
		samples := rapid.IntRange(1, 3000).Draw(t, "samples")
		m := &memory{info: Info{Rate: from, Channels: channels, Samples: int64(samples)}, all: rapid.SliceOfN(rapid.Float32Range(-1, 1), samples*channels, samples*channels).Draw(t, "all")}
		w, err := NewWindow(m, to, rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "to channels"))
		if err != nil {
			t.Fatal(err)
		}
		whole := make([]float32, int(w.Samples())*w.Channels())
		pieces = rapid.SampledFrom([]int64{1, 3, 40, 999, usual}).Draw(t, "pieces")
		if err := w.Read(whole, 0); err != nil {
			t.Fatal(err)
		}
		if want := int64(math.Ceil(float64(samples) * float64(to) / float64(from))); w.Samples() != want {
			t.Fatalf("%d samples, want %d", w.Samples(), want)
		}
		pieces = usual
		begin := rapid.Int64Range(0, w.Samples()).Draw(t, "begin")
		part := make([]float32, int(rapid.Int64Range(0, w.Samples()-begin).Draw(t, "length"))*w.Channels())
		if err := w.Read(part, begin); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(part, whole[int(begin)*w.Channels():][:len(part)]) {
			t.Fatal("a window differs from the whole")
		}
	})
}

// Tones below the pass band come out as they are, and those above half of the lower rate
// are 110 dB down.
func TestTheFilter(t *testing.T) {
	for _, rates := range [][2]int{{48000, 16000}, {44100, 16000}, {16000, 24000}, {16000, 48000}, {44100, 48000}, {8000, 44100}} {
		from, to := rates[0], rates[1]
		lower := float64(min(from, to)) / 2
		for _, hertz := range []float64{0.01, 0.3, 0.7, 0.9, 1.001, 1.1, 1.4} {
			if hertz*lower >= float64(from)/2 {
				continue
			}
			w, err := NewWindow(tone(from, hertz*lower, 3*from/10), to, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, w.Samples())
			if err := w.Read(got, 0); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i := to / 10; i < to/5; i++ { // far from both ends
				want := 0.0
				if hertz < 1 {
					want = math.Sin(2 * math.Pi * hertz * lower * float64(i) / float64(to))
				}
				worst = max(worst, math.Abs(float64(got[i])-want))
			}
			limit := math.Pow(10, -110.0/20)
			if hertz < 1 {
				limit = math.Pow(10, 0.01/20) - 1 // a hundredth of a dB
			}
			if worst > limit {
				t.Errorf("%d to %d, %.3f of the lower Nyquist frequency: off by %.3g (%.1f dB)", from, to, hertz, worst, 20*math.Log10(worst))
			}
		}
	}
}

func TestRatesThatHaveLittleInCommon(t *testing.T) {
	if _, err := NewWindow(tone(44101, 10, 100), 16000, 0); err == nil {
		t.Error("resampled")
	}
	if _, err := NewWindow(&memory{info: Info{Rate: 8000, Channels: 2}}, 0, 3); err == nil {
		t.Error("mixed")
	}
}

func TestStereoOfSurround(t *testing.T) {
	// FFmpeg's weights of 5.1: centre, and what is after, 3 dB down, all scaled by 1 /
	// (1 + 2 / √2).
	m := newMixer(6, 2, 0)
	out := make([]float32, 2)
	m.mix(out, []float32{1, 0, 0, 0, 0, 0})
	if want := float32(1 / (1 + math.Sqrt2)); math.Abs(float64(out[0]-want)) > 1e-6 || out[1] != 0 {
		t.Error(out)
	}
	m.mix(out, []float32{0, 0, 1, 1, 0, 0})
	if want := float32(math.Sqrt2 / 2 / (1 + math.Sqrt2)); math.Abs(float64(out[0]-want)) > 1e-6 || out[0] != out[1] {
		t.Error(out)
	}
}

func BenchmarkResample(b *testing.B) {
	for _, rates := range [][2]int{{48000, 16000}, {44100, 16000}, {16000, 24000}} {
		b.Run(fmt.Sprint(rates), func(b *testing.B) {
			w, err := NewWindow(tone(rates[0], 440, rates[0]*57/10), rates[1], 0)
			if err != nil {
				b.Fatal(err)
			}
			to := make([]float32, w.Samples())
			for b.Loop() {
				w.Read(to, 0)
			}
		})
	}
}
