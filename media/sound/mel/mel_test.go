package mel

import (
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
)

// A tone is loudest in the band around its frequency, for all presets.
func TestTones(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(Presets)) {
		p, err := NewPlan(Presets[name])
		if err != nil {
			t.Fatal(err)
		}
		samples := make([]float32, p.Rate)
		for i := range samples {
			samples[i] = float32(0.5 * math.Sin(2*math.Pi*1000*float64(i)/float64(p.Rate)))
		}
		frames, err := p.Frames(len(samples))
		if err != nil {
			t.Fatal(err)
		}
		to := make([]float32, frames*p.Mels)
		if err := p.Run(to, samples); err != nil {
			t.Fatal(err)
		}
		row, best := to[frames/2*p.Mels:][:p.Mels], 0
		for m, v := range row {
			if v > row[best] {
				best = m
			}
		}
		step := (p.mel(p.high()) - p.mel(p.Low)) / float64(p.Mels+1)
		if at := p.mel(p.Low) + step*float64(best+1); math.Abs(at-p.mel(1000)) > step {
			t.Errorf("%s: loudest in band %d, at %.0f Hz", name, best, p.hertz(at))
		}
	}
}

// Silence has no logarithm, and is the least that a preset has, in every band alike.
func TestSilence(t *testing.T) {
	for name, spec := range Presets {
		p, err := NewPlan(spec)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := p.Frames(p.Rate)
		if err != nil {
			t.Fatal(err)
		}
		to := make([]float32, frames*p.Mels)
		if err := p.Run(to, make([]float32, p.Rate)); err != nil {
			t.Fatal(err)
		}
		least, most := slices.Min(to), slices.Max(to)
		if least != most || math.IsInf(float64(least), 0) || math.IsNaN(float64(least)) {
			t.Errorf("%s: from %v to %v", name, least, most)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, change := range []func(*Spec){
		func(s *Spec) { s.FFT = 1 }, func(s *Spec) { s.FFT = 1 << 20 }, func(s *Spec) { s.Hop = 0 }, func(s *Spec) { s.Mels = 0 },
		func(s *Spec) { s.Window = 401 }, func(s *Spec) { s.High = 9000 }, func(s *Spec) { s.Low = 8000 }, func(s *Spec) { s.Rate = 0 },
	} {
		s := Presets["whisper"]
		change(&s)
		if _, err := NewPlan(s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
	p, err := NewPlan(Presets["whisper"])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(nil, make([]float32, 200)); !errors.Is(err, errShort) {
		t.Error(err)
	}
	if err := p.Run(make([]float32, 80), make([]float32, 400)); err == nil {
		t.Error("too little room")
	}
}

func BenchmarkWhisper(b *testing.B) {
	p, _ := NewPlan(Presets["whisper"])
	samples := make([]float32, 30*p.Rate)
	for i := range samples {
		samples[i] = float32(i%97) / 97
	}
	to := make([]float32, 3000*80)
	for b.Loop() {
		p.Run(to, samples)
	}
}
