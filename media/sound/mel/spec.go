package mel

import (
	"errors"
	"fmt"
)

// Spec says how spectrograms are made.
type Spec struct {
	Rate   int     // samples a second
	FFT    int     // length of a transform
	Window int     // length of a frame, in the middle of a transform; with Kaldi's, at its beginning
	Hop    int     // from frame to frame, in samples
	Mels   int     // bands
	Low    float64 // Hz, where the first band begins
	High   float64 // Hz, where the last one ends; 0: half of the rate

	Scale Scale // how bands are
	Area  bool  // each band is divided by its width, as Slaney's are
	Edges Edges // what frames see before the recording and after it
	Level Level // what is written of a band's power
	kaldi bool  // frames without their mean, with pre-emphasis, under Povey's window
	short bool  // without the last frame
}

// Scale is a mapping of frequencies to mels.
type Scale int

// Slaney's is linear below 1000 Hz; HTK's is logarithmic.
const (
	Slaney Scale = iota
	HTK
)

// Edges says how a recording goes on beyond its ends, so that frames have their middle at
// multiples of the hop.
type Edges int

// Reflect mirrors it, Zero has silence. With None, the first frame begins with the first
// sample, and all are within the recording.
const (
	Reflect Edges = iota
	Zero
	None
)

// Level is a logarithm.
type Level int

// Ln is the natural logarithm. Decibel is ten times that to base 10. Range is Decibel,
// but at most 80 dB below the loudest band. Whisper's is (log10 + 4) / 4, at most 8 below
// the loudest band before that.
const (
	Ln Level = iota
	Decibel
	Range
	Whisper
)

// Presets are specs by name.
var Presets = map[string]Spec{
	"whisper": {Rate: 16000, FFT: 400, Window: 400, Hop: 160, Mels: 80, Scale: Slaney, Area: true,
		Edges: Reflect, Level: Whisper, short: true},
	"kaldi":      {Rate: 16000, FFT: 512, Window: 400, Hop: 160, Mels: 80, Low: 20, Scale: HTK, Edges: None, Level: Ln, kaldi: true},
	"librosa":    {Rate: 22050, FFT: 2048, Window: 2048, Hop: 512, Mels: 128, Scale: Slaney, Area: true, Edges: Zero, Level: Range},
	"torchaudio": {Rate: 16000, FFT: 400, Window: 400, Hop: 200, Mels: 128, Scale: HTK, Edges: Reflect, Level: Decibel},
}

// mostFFT bounds transforms: 64 times a frame of speech.
const mostFFT = 1 << 15

// Check returns an error if there is no such spectrogram.
func (s *Spec) Check() error {
	switch {
	case s.Rate < 1 || s.Rate > 1000000:
		return fmt.Errorf("rate must be from 1 to 1000000, got %d", s.Rate)
	case s.FFT < 2 || s.FFT > mostFFT:
		return fmt.Errorf("n_fft must be from 2 to %d, got %d", mostFFT, s.FFT)
	case s.Window < 2 || s.Window > s.FFT:
		return fmt.Errorf("win_length must be from 2 to n_fft=%d, got %d", s.FFT, s.Window)
	case s.Hop < 1 || s.Hop > mostFFT:
		return fmt.Errorf("hop_length must be from 1 to %d, got %d", mostFFT, s.Hop)
	case s.Mels < 1 || s.Mels > 1024:
		return fmt.Errorf("n_mels must be from 1 to 1024, got %d", s.Mels)
	case !(s.Low >= 0) || !(s.high() > s.Low) || s.high() > float64(s.Rate)/2:
		return fmt.Errorf("f_min and f_max must rise, from 0 to %g, got %g and %g", float64(s.Rate)/2, s.Low, s.high())
	}
	return nil
}

func (s *Spec) high() float64 {
	if s.High == 0 {
		return float64(s.Rate) / 2
	}
	return s.High
}

// errShort says that a recording has no frame.
var errShort = errors.New("mel: the recording is too short")

// Frames returns how many frames there are of so many samples.
func (s *Spec) Frames(samples int) (int, error) {
	n, need := 0, s.Window
	switch s.Edges {
	case None:
		n = (samples-s.Window)/s.Hop + 1
	case Reflect:
		n, need = samples/s.Hop+1, s.FFT/2+1
	case Zero:
		n, need = samples/s.Hop+1, 1
	}
	if s.short {
		n--
		need = max(need, s.Hop)
	}
	if samples < need {
		return 0, fmt.Errorf("%w: it has %d samples, a frame needs %d", errShort, samples, need)
	}
	return n, nil
}
