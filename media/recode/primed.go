package recode

import (
	"bytes"
	"slices"
)

// WMA's decoders drop two frames, one more than FFmpeg's encoder needs to begin, and so
// the first frame of the recording.
var primed = []string{"wmav1", "wmav2"}

// unflushed are the codecs whose encoder ends with the last sample that it is given, not
// with the last that a decoder would get out of it, which is some hundred later.
var unflushed = []string{
	"wmav1", "wmav2", "mp2", "mp2fixed", "libtwolame", "ac3", "ac3_fixed", "eac3", "dca", "dts",
	"libspeex", "speex", "g722", "adpcm_g722", "g723_1",
}

// prime begins the recording of a codec that loses its first frame with a frame of
// silence, before time 0.
func (s *saving) prime(each int) error {
	s.each = each
	if !slices.Contains(primed, s.Codec) {
		return nil
	}
	n := s.encoder.Samples
	s.pts = -int64(n)
	return s.silence(n)
}

// flush ends the recording with the silence that brings out its last samples.
func (s *saving) flush() error {
	if s.each == 0 || !slices.Contains(unflushed, s.Codec) {
		return nil
	}
	late := s.encoder.Out.Padding
	if late == 0 { // FFmpeg's encoders of WMA and DTS do not say it
		late = s.encoder.Samples
	}
	return s.silence((late*s.From.Rate + s.encoder.Out.Rate - 1) / s.encoder.Out.Rate)
}

func (s *saving) silence(samples int) error {
	if samples == 0 {
		return nil
	}
	zero := byte(0)
	if s.From.Format == "u8" {
		zero = 128
	}
	if err := s.graph.Push(0, &s.From, bytes.Repeat([]byte{zero}, samples*s.each), samples, s.pts); err != nil {
		return err
	}
	s.pts += int64(samples)
	return s.encode()
}
