package change_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media/sound/change"
)

// The formulas are those of torchaudio.functional.add_noise, fftconvolve and pitch_shift.
// torchaudio itself is compared with in docs/rationale.md.
const formulas = `
import numpy as np, torch

def noisy(args, wave, noise):
    wave, noise = (np.frombuffer(b, "f4").astype(float) for b in (wave, noise))
    snr = 10 * np.log10((wave**2).sum() / (noise**2).sum())
    return None, (wave + noise * 10 ** ((snr - args) / 20)).astype("f4").tobytes()

def echoed(args, wave, impulse):
    wave, impulse = (np.frombuffer(b, "f4").astype(float) for b in (wave, impulse))
    impulse = impulse / np.sqrt((impulse**2).sum())
    whole, peak = np.convolve(wave, impulse), np.abs(impulse).argmax()
    return None, whole[peak:][: len(wave)].astype("f4").tobytes()

def stretched(args, wave):
    """A phase vocoder, with angles."""
    ratio, one, size = args
    wave = torch.frombuffer(bytearray(wave), dtype=torch.float32).double()
    window = torch.hann_window(size, dtype=torch.float64)
    frames = torch.stft(wave, size, size // 4, window=window, center=True, pad_mode="reflect", return_complex=True).numpy()
    frames = np.pad(frames, ((0, 0), (0, 2)))
    places = np.arange(-(-(frames.shape[1] - 2) * ratio // one))
    first, share = places * one // ratio, places * one % ratio / ratio
    moved = np.angle(frames[:, first + 1]) - np.angle(frames[:, first])
    phases = np.cumsum(np.concatenate([np.angle(frames[:, :1]), moved[:, :-1]], axis=1), axis=1)
    sizes = (1 - share) * np.abs(frames[:, first]) + share * np.abs(frames[:, first + 1])
    length = round(len(wave) * ratio / one)
    made = torch.istft(torch.from_numpy(sizes * np.exp(1j * phases)), size, size // 4, window=window, length=length)
    return None, made.float().numpy().tobytes()
`

func bytesOf(all []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(all))), 4*len(all))
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// recording returns tones and noise.
func recording(n int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 5))
	all := make([]float32, n)
	for i := range all {
		x := float64(i) / 16000
		all[i] = float32(0.3*math.Sin(2*math.Pi*440*x) + 0.2*math.Sin(2*math.Pi*1234*x*(1+x/9)) + 0.1*random.NormFloat64())
	}
	return all
}

// near compares with bytes of what is wanted.
func near(t *testing.T, what string, got []float32, wants [][]byte, within float64) {
	t.Helper()
	want := floatsOf(wants[0])
	if len(got) != len(want) {
		t.Fatalf("%s: %d samples, want %d", what, len(got), len(want))
	}
	for i, v := range got {
		if !(math.Abs(float64(v-want[i])) <= within) {
			t.Fatalf("%s: sample %d is %v, want %v", what, i, v, want[i])
		}
	}
}

func TestNoise(t *testing.T) {
	wave, noise := recording(10_001, 1), recording(10_001, 2)
	for _, snr := range []float64{-10, 0, 3.5, 40} {
		got := make([]float32, len(wave))
		change.AddNoise(got, wave, noise, snr)
		near(t, "noise", got, oracle.Run(t, formulas, "noisy", snr, nil, bytesOf(wave), bytesOf(noise)), 1e-6)
	}
	for _, silent := range [][2][]float32{{wave, make([]float32, len(wave))}, {make([]float32, len(wave)), noise}, {nil, nil}} {
		got := make([]float32, len(silent[0]))
		if change.AddNoise(got, silent[0], silent[1], 3); !slices.Equal(got, silent[0]) {
			t.Error("silence changes a recording, or is changed")
		}
	}
}

func TestEcho(t *testing.T) {
	for _, c := range [][2]int{{8000, 500}, {8000, 3000}, {500, 8000}, {1, 1}, {1, 300}, {5000, 1}} {
		wave, impulse := recording(c[0], 3), recording(c[1], 4)
		for i := range impulse {
			impulse[i] *= float32(math.Exp(-float64(i) / 200))
		}
		impulse[c[1]/3] = 2
		e, got := change.NewEcho(impulse, len(wave)), make([]float32, len(wave))
		want := oracle.Run(t, formulas, "echoed", nil, nil, bytesOf(wave), bytesOf(impulse))
		for range 2 { // the memory is used again
			e.Run(got, wave)
			near(t, "echo", got, want, 1e-6)
		}
	}
	wave, got := recording(99, 3), make([]float32, 99)
	if change.NewEcho(make([]float32, 5), 99).Run(got, wave); !slices.Equal(got, wave) {
		t.Error("a silent impulse changes a recording")
	}
	change.NewEcho(nil, 99).Run(got, wave)
	change.NewEcho([]float32{1}, 0).Run(nil, nil)
}

func TestStretching(t *testing.T) {
	for _, c := range []struct{ ratio, size, n int }{
		{change.PitchRatio(4), 512, 9000}, {change.PitchRatio(-3.2), 512, 9001}, {480, 512, 4096}, {120, 256, 4099},
		{change.PitchRatio(1), 64, 999}, {700, 512, 700}, {31, 512, 9000}, {300, 512, 257},
	} {
		p, err := change.NewPitch(c.ratio, c.size)
		if err != nil {
			t.Fatal(err)
		}
		wave := recording(c.n, 6)
		want := oracle.Run(t, formulas, "stretched", []int{c.ratio, change.PitchSteps, c.size}, nil, bytesOf(wave))
		near(t, "stretched", p.Stretched(wave), want, 1e-5)
	}
}

// A tone becomes the tone that many semitones higher, as loud and as long.
func TestPitch(t *testing.T) {
	for _, semitones := range []float64{-12, -5, 0, 0.5, 7, 12} {
		ratio := change.PitchRatio(semitones)
		p, err := change.NewPitch(ratio, 512)
		if err != nil {
			t.Fatal(err)
		}
		wave, got := make([]float32, 16000), make([]float32, 16000)
		for i := range wave { // of a cosine the mirrored beginning is the tone itself
			wave[i] = float32(0.5 * math.Cos(2*math.Pi*500*float64(i)/16000))
		}
		p.Run(got, wave)
		if semitones == 0 && !slices.Equal(got, wave) {
			t.Error("a pitch that stays changes samples")
		}
		crossings, first, last, energy := 0, 0, 0, 0.0
		for i, v := range got[1:] {
			energy += float64(v) * float64(v)
			if got[i] < 0 && v >= 0 {
				if crossings++; crossings == 1 {
					first = i
				}
				last = i
			}
		}
		hz := float64(crossings-1) / float64(last-first) * 16000
		if want := 500 * math.Exp2(semitones/12); math.Abs(hz/want-1) > 0.005 {
			t.Errorf("%v semitones: %v Hz, want %v", semitones, hz, want)
		}
		if loud := math.Sqrt(energy / 16000); math.Abs(loud-0.5/math.Sqrt2) > 0.02 {
			t.Errorf("%v semitones: as loud as %v, want %v", semitones, loud, 0.5/math.Sqrt2)
		}
	}
	for n := range 20 { // of next to nothing there comes as much
		p, _ := change.NewPitch(300, 512)
		got := make([]float32, n)
		p.Run(got, recording(n, 1))
	}
	for _, bad := range [][2]int{{0, 512}, {240, 510}, {240, 0}} {
		if _, err := change.NewPitch(bad[0], bad[1]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

func BenchmarkPitch(b *testing.B) {
	p, _ := change.NewPitch(300, 512)
	wave, to := recording(480_000, 1), make([]float32, 480_000)
	for b.Loop() {
		p.Run(to, wave)
	}
}

func BenchmarkEcho(b *testing.B) {
	impulse := recording(16_000, 2)
	wave, to := recording(480_000, 1), make([]float32, 480_000)
	for b.Loop() {
		change.NewEcho(impulse, len(wave)).Run(to, wave)
	}
}
