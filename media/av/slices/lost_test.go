package slices

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
)

// avcFiles are the files of H.264 whose packets are whole.
var avcFiles = []string{"bpyr.mp4", "onegop.mp4", "opengop.mp4", "refresh.mp4", "intra.mp4", "g2.mp4", "interlaced.mp4", "weighted.mp4", "tenavc.mp4", "vfr.mp4", "frag.mp4"}

// Nothing is lost in a sound file, wherever decoding begins, and with or without what can
// be dropped.
func TestNothingIsLost(t *testing.T) {
	for _, name := range append(slices.Clone(avcFiles), "hevc.mp4", "hevcopen.mp4", "tenbit.mp4", "hevcslow.mp4", "hevclayers.mp4") {
		table, all := packets(t, name)
		codec := table.Stream.Codec
		for first := range all {
			if !table.Packets[first].Key {
				continue
			}
			lost, sparse := Lost(codec, table.Stream.Config), Lost(codec, table.Stream.Config)
			droppable := Droppable(codec, table.Stream.Config)
			for i, p := range all[first:] {
				if lost(p) {
					t.Fatalf("%s: from packet %d on, one is said to be lost in front of %d", name, first, first+i)
				}
				if !droppable(p) && sparse(p) {
					t.Fatalf("%s: from packet %d on, without those that can be dropped, one is said to be lost in front of %d", name, first, first+i)
				}
			}
		}
	}
}

// Each packet that others need is missed by the next one, unless everything begins again
// there.
func TestLostPacketsAreMissed(t *testing.T) {
	for _, name := range avcFiles {
		table, all := packets(t, name)
		droppable := Droppable("h264", table.Stream.Config)
		missed := 0
		for gone := 1; gone < len(all)-1; gone++ {
			if droppable(all[gone]) {
				continue
			}
			lost := Lost("h264", table.Stream.Config)
			for _, p := range all[:gone] {
				lost(p)
			}
			if instant(all[gone+1]) {
				continue
			}
			if instant(all[gone]) {
				continue // numbers begin again with it, and nobody knows what they would be
			}
			if !lost(all[gone+1]) {
				t.Errorf("%s: packet %d is gone, and %d does not miss it", name, gone, gone+1)
			}
			missed++
		}
		if missed == 0 && name != "intra.mp4" && name != "g2.mp4" {
			t.Errorf("%s: no packet was missed", name)
		}
	}
}

// instant reports whether a packet has a slice of an IDR picture.
func instant(packet []byte) bool {
	for len(packet) > 0 {
		unit, rest, ok := unitsOf(4)(packet)
		if !ok {
			return false
		}
		if len(unit) > 0 && unit[0]&31 == 5 {
			return true
		}
		packet = rest
	}
	return false
}

// unitOf makes a unit of a header and a text of bits; blanks mean nothing.
func unitOf(header byte, text string) []byte {
	unit, at := []byte{header}, 0
	for _, c := range text + "1" {
		if c == ' ' {
			continue
		}
		if at%8 == 0 {
			unit = append(unit, 0)
		}
		unit[len(unit)-1] |= byte(c-'0') << (7 - at%8)
		at++
	}
	return unit
}

// A picture that forgets all references counts as number 0 for those after it.
func TestReferencesForgotten(t *testing.T) {
	// Baseline; set 0; 4 bits of numbers; order 2; one reference; no gaps; 1×1; frames.
	sequence := unitOf(0x67, "01000010 00000000 00011110 1 1 011 010 0 1 1 1")
	// Set 0 of sequence 0; one reference in each list.
	picture := unitOf(0x68, "1 1 0 0 1 1 1 0 00 1 1 1 0 0 0")
	var config []byte
	for _, unit := range [][]byte{sequence, picture} {
		config = append(append(config, 0, 0, 1), unit...)
	}
	packet := func(unit []byte) []byte { return append([]byte{0, 0, 1}, unit...) }
	// A slice of a P picture from the first block on, of set 0; its number; neither lists
	// nor marks, or marks that forget all.
	plain := func(number string) []byte { return packet(unitOf(0x41, "1 1 1 "+number+" 0 0 0")) }
	forget := func(number string) []byte { return packet(unitOf(0x41, "1 1 1 "+number+" 0 0 1 00110 1")) }

	for _, of := range []struct {
		packets [][]byte
		want    bool // of the last one
	}{
		{[][]byte{plain("0101"), plain("0110")}, false},
		{[][]byte{plain("0101"), plain("0111")}, true},
		{[][]byte{plain("1111"), plain("0000")}, false},
		{[][]byte{plain("1111"), plain("0001")}, true},
		{[][]byte{plain("0101"), forget("0110"), plain("0001")}, false},
		{[][]byte{plain("0101"), forget("0110"), plain("0111")}, true},
		{[][]byte{plain("0101"), packet(unitOf(0x65, "1 011 1 0000 1 0 0")), plain("0001")}, false},
		// A slice without its sets says nothing, and what follows is not compared.
		{[][]byte{plain("0101"), packet(unitOf(0x41, "1 1 010 0000")), plain("1001")}, false},
	} {
		lost := Lost("h264", config)
		got := false
		for _, p := range of.packets {
			got = lost(p)
		}
		if got != of.want {
			t.Errorf("%x: %t, want %t", of.packets, got, of.want)
		}
	}
	for _, codec := range []string{"av1", "vp9"} {
		if Lost(codec, nil) != nil {
			t.Errorf("packets of %s are followed", codec)
		}
	}
}

// ffmpeg says that it could not find a reference of a picture when, and only when, one is
// lost.
func TestLostReferencesOfHEVC(t *testing.T) {
	step := tier.Cases(11, 5)
	for _, name := range []string{"hevc.mp4", "hevcopen.mp4", "hevcslow.mp4"} {
		table, all := packets(t, name)
		droppable := Droppable("hevc", table.Stream.Config)
		found := 0
		for gone := 1; gone < len(all); gone += step {
			lost := Lost("hevc", table.Stream.Config)
			got := false
			for i, p := range all {
				got = i != gone && lost(p) || got
			}
			if got && droppable(all[gone]) {
				t.Errorf("%s: packet %d can be dropped, but is missed", name, gone)
			}
			part := filepath.Join(t.TempDir(), "part.mkv")
			ffmpeg(t, "-i", testvideo.File(t, name), "-c", "copy", "-bsf:v", fmt.Sprintf("noise=drop=eq(n\\,%d)", gone), part)
			out, err := exec.Command("ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-threads", "1", "-i", part, "-f", "null", "-").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if want := bytes.Contains(out, []byte("Could not find ref")); got != want {
				t.Errorf("%s without packet %d: something is lost: %t; ffmpeg says %q", name, gone, got, out)
			}
			if got {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: nothing was missed", name)
		}
	}
}

func FuzzLost(f *testing.F) {
	for _, name := range []string{"bpyr.mp4", "interlaced.mp4", "weighted.mp4"} {
		table, all := packets(f, name)
		f.Add(false, table.Stream.Config, all[1][:min(len(all[1]), 200)], all[2][:min(len(all[2]), 200)])
	}
	table, all := packets(f, "hevcslow.mp4")
	f.Add(true, table.Stream.Config, all[0][:min(len(all[0]), 200)], all[1][:min(len(all[1]), 200)])
	f.Add(false, []byte{}, testvideo.Read(f, "bpyr.mp4")[:64], []byte{0, 0, 1, 0x67})
	f.Fuzz(func(t *testing.T, hevc bool, config, first, second []byte) {
		codec := "h264"
		if hevc {
			codec = "hevc"
			Lost(codec, config)(second)
		}
		lost := Lost(codec, config)
		if lost(first) && !hevc { // there a packet may have several pictures
			t.Error("something is lost in front of the first packet")
		}
		lost(second)
	})
}
