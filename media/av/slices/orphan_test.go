package slices

import "testing"

func TestOrphans(t *testing.T) {
	group := func(flags byte) []byte { return []byte{0, 0, 1, 0xB3, 1, 2, 0, 0, 1, 0xB8, 0, 8, 0, flags, 0, 0, 1, 0} }
	unit := func(kind byte) []byte { return []byte{0, 0, 1, kind << 1, 1, 0x80} }
	for _, c := range []struct {
		codec       string
		key, packet []byte
		want        bool
	}{
		{"h264", nil, nil, true},
		{"mpeg4", nil, nil, true},
		{"mpeg2video", group(0), nil, true},
		{"mpeg2video", group(0x40), nil, false},
		{"mpeg1video", group(0x20), nil, true},
		{"mpeg2video", group(0x40)[:13], nil, true}, // it ends before it says so
		{"hevc", nil, unit(9), true},
		{"hevc", nil, unit(8), true},
		{"hevc", nil, unit(7), false},
		{"hevc", nil, nil, false},
		{"hevc", nil, []byte{0, 0, 1}, false},
	} {
		if got := Orphan(c.codec, nil)(c.key, c.packet); got != c.want {
			t.Errorf("%s %x %x: %v", c.codec, c.key, c.packet, got)
		}
	}
	if Orphan("vp9", nil) != nil {
		t.Error("vp9 has none")
	}
}
