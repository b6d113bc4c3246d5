package sound_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/media/sound/mel"
)

// recordings is a folder of tones of so many samples each, of two channels.
func recordings(t *testing.T, lengths ...int) (pattern string, all map[string][]int16) {
	t.Helper()
	folder := t.TempDir()
	all = map[string][]int16{}
	for i, n := range lengths {
		samples := make([]int16, 2*n)
		for k := range samples {
			samples[k] = int16(8000 * math.Sin(float64(k/2)*float64(i+1)/20+float64(k%2)))
		}
		path := filepath.Join(folder, fmt.Sprintf("%d.wav", i))
		if err := os.WriteFile(path, wavOf(16000, 2, samples), 0o644); err != nil {
			t.Fatal(err)
		}
		all[path] = samples
	}
	return filepath.Join(folder, "*.wav"), all
}

// floatsOf are the numbers of an array.
func floatsOf(b []byte) []float32 {
	return slices.Clone(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4))
}

// turned makes columns of the rows of an array.
func turned(all []float32, columns int) (out []float32) {
	for c := range columns {
		for i := c; i < len(all); i += columns {
			out = append(out, all[i])
		}
	}
	return out
}

// A spectrogram is that of the mean of the recording's channels, whatever the type of its
// samples, in both orders of axes, in batches and one by one, by content and by path.
func TestSpectrogramsOfFiles(t *testing.T) {
	leak.Check(t)
	pattern, all := recordings(t, 1600, 1600, 1600, 1600)
	for _, c := range []struct{ content, audio, mel, rest string }{
		{`true`, `"duration":0.1`, ``, `{"batch":{"size":3}}`},
		{`false`, `"duration":0.1`, `"layout":"MT"`, `{"batch":{"size":4}}`},
		{`true`, `"short":"keep"`, `"layout":"MT"`, ``},
		{`false`, `"dtype":"int16"`, `"preset":"kaldi"`, ``},
		{`true`, `"dtype":"int16","duration":0.1`, `"preset":"kaldi","layout":"MT"`, `{"batch":{"size":2}}`},
	} {
		steps := fmt.Sprintf(`{"files":{"pattern":%%q,"root":"/","content":%s}},{"decode_audio":{"rate":16000,"channels":1,%s}},{"log_mel":{%s}}`, c.content, c.audio, c.mel)
		if c.rest != "" {
			steps += "," + c.rest
		}
		l := loadertest.Open(t, loadertest.Recipe(t, steps, pattern), headrace.Config{Epochs: new(1), Workers: new(2)}, headrace.Options{})
		n := 0
		for b := range loadertest.Epoch(t, l) {
			mels, ok := b.Tensor("mel")
			if !ok {
				t.Fatalf("%s: there is no spectrogram", steps)
			}
			size := len(mels.Data) / b.Rows()
			for i, key := range b.Text("key") {
				want := spectrogram(t, all[key], c.mel, strings.Contains(c.audio, "int16"))
				if got := floatsOf(mels.Data[i*size:][:size]); !slices.Equal(got, want) {
					t.Errorf("%s: %s has another spectrogram, of %d numbers, want %d", steps, filepath.Base(key), len(got), len(want))
				}
				n++
			}
		}
		if n != len(all) {
			t.Errorf("%s: %d recordings", steps, n)
		}
	}
}

// spectrogram makes one of samples by the package below.
func spectrogram(t *testing.T, samples []int16, args string, rounded bool) []float32 {
	t.Helper()
	preset, bands := "whisper", 80
	if strings.Contains(args, "kaldi") {
		preset = "kaldi"
	}
	mono := make([]float32, len(samples)/2)
	for i := range mono {
		mean := (float32(samples[2*i])/32768 + float32(samples[2*i+1])/32768) / 2
		if rounded {
			mean = float32(math.RoundToEven(float64(mean)*32768)) / 32768
		}
		mono[i] = mean
	}
	p, err := mel.NewPlan(mel.Presets[preset])
	if err != nil {
		t.Fatal(err)
	}
	frames, err := p.Frames(len(mono))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]float32, frames*bands)
	if err := p.Run(all, mono); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(args, "MT") {
		return turned(all, bands)
	}
	return all
}

// A recording without one frame is a bad sample, and nothing of it stays.
func TestRecordingsTooShortForAFrame(t *testing.T) {
	leak.Check(t)
	pattern, _ := recordings(t, 1600, 100, 1600)
	r := loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/"}},{"decode_audio":{"channels":1}},"log_mel"`, pattern)
	var lost []string
	o := headrace.Options{Lost: func(l headrace.Lost) {
		lost = append(lost, fmt.Sprintf("%s in %s: %v", filepath.Base(l.Key), l.Stage, l.Err))
	}}
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), OnError: headrace.Skip, Workers: new(1)}, o)
	n, _ := loadertest.RowsUntilError(t, l)
	if n != 2 || len(lost) != 1 || !strings.Contains(lost[0], "1.wav in log_mel") || !strings.Contains(lost[0], "too short") {
		t.Errorf("%d recordings came, lost are %v", n, lost)
	}
	l.Close()
	if used := l.Stats().Memory.Used; used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// Random windows are drawn by the seed: an epoch that is made again has the same ones.
func TestRandomWindowsAreDrawnBySample(t *testing.T) {
	leak.Check(t)
	pattern, all := recordings(t, 900, 1000, 1100)
	steps := `{"files":{"pattern":%q,"root":"/"}},{"decode_audio":{"rate":16000,"channels":2,"duration":0.01,"start":"random","dtype":"int16"}},{"batch":{"size":1}}`
	var epochs [2][]string
	for i := range epochs {
		l := loadertest.Open(t, loadertest.Recipe(t, steps, pattern), headrace.Config{Epochs: new(2), Workers: new(1 + i)}, headrace.Options{})
		for range 2 {
			for b := range loadertest.Epoch(t, l) {
				window, _ := b.Tensor("audio")
				epochs[i] = append(epochs[i], string(window.Data))
				whole := all[b.Text("key")[0]]
				content := unsafe.Slice((*byte)(unsafe.Pointer(&whole[0])), 2*len(whole))
				if !strings.Contains(string(content), string(window.Data)) {
					t.Errorf("%s: a window that is not in it", b.Text("key"))
				}
			}
		}
	}
	if !slices.Equal(epochs[0], epochs[1]) || len(epochs[0]) != 6 || slices.Equal(epochs[0][:3], epochs[0][3:]) {
		t.Error("windows are not drawn by seed and epoch")
	}
}
