package slices

import (
	"bytes"
	"testing"
)

// avcc is a configuration whose units have a length of so many bytes.
func avcc(length byte) []byte { return []byte{1, 100, 0, 30, 0xfc | length - 1, 0xe0, 0} }

func hvcc(layers byte) []byte {
	c := make([]byte, 23)
	c[0], c[21] = 1, layers<<3|3
	return c
}

func TestVerdicts(t *testing.T) {
	for _, of := range []struct {
		codec  string
		config []byte
		packet string
		want   bool
	}{
		// H.264: a slice that others need not, one that they need, parameters, damage.
		{"h264", avcc(4), "\x00\x00\x00\x02\x01\xff", true},
		{"h264", avcc(2), "\x00\x02\x01\xff", true},
		{"h264", avcc(4), "\x00\x00\x00\x02\x41\xff", false},
		{"h264", avcc(4), "\x00\x00\x00\x01\x06\x00\x00\x00\x02\x01\xff", true},
		{"h264", avcc(4), "\x00\x00\x00\x01\x06", false},
		{"h264", avcc(4), "\x00\x00\x00\x01\x67\x00\x00\x00\x02\x01\xff", false},
		{"h264", avcc(4), "\x00\x00\x00\x02\x01\xff\x00\x00\x00\x02\x41\xff", false},
		{"h264", avcc(4), "\x00\x00\x00\x03\x01\xff", false},
		{"h264", avcc(4), "\x00\x00\x00\x02\x01\xff\x00", false},
		{"h264", avcc(4), "", false},
		{"h264", nil, "\x00\x00\x00\x01\x09\xf0\x00\x00\x01\x01\xff", true},
		{"h264", nil, "\x00\x00\x01\x41\xff", false},
		{"h264", nil, "\x01\xff", false},

		// HEVC: TRAIL_N, TRAIL_R, RASL_N, IDR; of a lower layer, and where layers are
		// unknown.
		{"hevc", hvcc(1), "\x00\x00\x00\x03\x00\x01\xff", true},
		{"hevc", hvcc(1), "\x00\x00\x00\x03\x02\x01\xff", false},
		{"hevc", hvcc(1), "\x00\x00\x00\x03\x10\x01\xff", true},
		{"hevc", hvcc(1), "\x00\x00\x00\x03\x28\x01\xff", false},
		{"hevc", hvcc(2), "\x00\x00\x00\x03\x00\x01\xff", false},
		{"hevc", hvcc(2), "\x00\x00\x00\x03\x04\x02\xff", true},
		{"hevc", hvcc(0), "\x00\x00\x00\x03\x00\x00\xff", false},
		{"hevc", []byte("\x00\x00\x00\x01\x40\x01\x0c\x01"), "\x00\x00\x01\x00\x01\xff", true},
		{"hevc", []byte("\x00\x00\x00\x01\x40\x01\x0c\x03"), "\x00\x00\x01\x00\x01\xff", false},

		// MPEG-2: a B picture, a P picture, a B picture after a sequence header.
		{"mpeg2video", nil, "\x00\x00\x01\x00\x00\x18\x00\x00\x01\x01\xff", true},
		{"mpeg2video", nil, "\x00\x00\x01\x00\x00\x10\x00\x00\x01\x01\xff", false},
		{"mpeg2video", nil, "\x00\x00\x01\xb3\x00\x00\x01\x00\x00\x18", false},

		// MPEG-4: B, P, both in one packet.
		{"mpeg4", nil, "\x00\x00\x01\xb6\x80", true},
		{"mpeg4", nil, "\x00\x00\x01\xb6\x40", false},
		{"mpeg4", nil, "\x00\x00\x01\xb6\x40\x00\x00\x01\xb6\x80", false},

		// AV1 without a sequence header.
		{"av1", nil, "\x12\x00\x32\x02\x20\x00", false},
		{"av1", nil, "", false},
	} {
		if got := Droppable(of.codec, of.config)([]byte(of.packet)); got != of.want {
			t.Errorf("%s %x: %t, want %t", of.codec, of.packet, got, of.want)
		}
	}
	for _, codec := range []string{"vp8", "vp9", "mjpeg", ""} {
		if Droppable(codec, nil) != nil {
			t.Errorf("packets of %q are looked at", codec)
		}
	}
}

var codecs = []string{"h264", "hevc", "mpeg2video", "mpeg4", "av1"}

func FuzzDroppable(f *testing.F) {
	for i, name := range []string{"bpyr.mp4", "hevcopen.mp4", "mpeg2.mp4", "mpeg4.mp4", "av1.mp4"} {
		table, all := packets(f, name)
		for _, p := range all[:4] {
			f.Add(uint8(i), table.Stream.Config, p[:min(len(p), 300)])
		}
	}
	f.Fuzz(func(t *testing.T, codec uint8, config, packet []byte) {
		droppable := Droppable(codecs[int(codec)%len(codecs)], config)
		before := bytes.Clone(packet)
		first := droppable(packet)
		if !bytes.Equal(before, packet) {
			t.Error("the packet was changed")
		}
		if droppable(packet) != first && codecs[int(codec)%len(codecs)] != "av1" {
			t.Error("the same packet has two verdicts")
		}
		if first && len(packet) < 2 {
			t.Errorf("%x can be dropped", packet)
		}
	})
}
