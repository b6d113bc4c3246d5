package coded

import (
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mpa"
	"github.com/headrace/headrace/media/av/vorbis"
)

// PacketSamples is how many samples a packet of a stream gives, once decoded; 0 if that
// is not to be seen. Lasts is its duration by the container, in samples, more or less.
func PacketSamples(s *av.Stream, packet []byte, lasts int64) int {
	switch s.Codec {
	case "mp3", "mp2", "mp1":
		h, _ := mpa.Parse(packet)
		return h.Samples
	case "ac3":
		return 1536
	case "opus":
		return opusSamples(packet)
	case "flac":
		return flacSamples(packet)
	case "alac":
		return alacSamples(s.Config, packet)
	case "aac":
		if n := aacSamples(s.Config, s.Rate); n > 0 {
			return n
		}
		if lasts <= 0 {
			return 0
		}
		nearest := 0
		for _, n := range []int{1024, 2048, 960, 1920} { // the second with SBR
			if d := lasts - int64(n); nearest == 0 || max(d, -d) < max(lasts-int64(nearest), int64(nearest)-lasts) {
				nearest = n
			}
		}
		return nearest
	}
	if width := pcmBytes[s.Codec] * s.Channels; width > 0 {
		return len(packet) / width
	}
	return 0
}

// Layer is the codec of a stream whose first packet is given: MPEG transport streams have
// one number for all layers of MPEG audio, of which FFmpeg finds the right one late, or
// never in a short file.
func Layer(codec string, first []byte) string {
	if !IsLayer(codec) {
		return codec
	}
	if h, ok := mpa.Parse(first); ok && IsLayer(h.Codec) {
		return h.Codec
	}
	return codec
}

// IsLayer reports whether a codec is one of those that Layer tells apart.
func IsLayer(codec string) bool { return codec == "mp3" || codec == "mp2" || codec == "mp1" }

// PacketUnit is a number of samples of which every packet of a stream gives a multiple,
// by the first of them; 0: there is none but 1. The last packet may be shorter.
func PacketUnit(s *av.Stream, first []byte) int {
	switch s.Codec {
	case "flac":
		if len(first) > 1 && first[1]&1 != 0 { // blocks have sizes of their own
			return 0
		}
	case "vorbis":
		if b := vorbis.NewBlocks(s.Config); b != nil {
			return b.Unit()
		}
		return 0
	}
	if pcmBytes[s.Codec] > 0 {
		return 0
	}
	return PacketSamples(s, first, 0)
}

// Priming is how many samples at the beginning of a stream are not part of the recording,
// where containers leave it to the codec to say so.
func Priming(s *av.Stream) int {
	if s.Codec == "opus" {
		return int(preSkip(s.Config))
	}
	return int(wmaDelay(s.Codec, s.Rate))
}
