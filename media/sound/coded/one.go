package coded

import (
	"headrace/media/av"
	"headrace/media/av/mpa"
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
	case "aac":
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

// Priming is how many samples at the beginning of a stream are not part of the recording,
// where containers leave it to the codec to say so.
func Priming(s *av.Stream) int {
	if s.Codec == "opus" {
		return int(preSkip(s.Config))
	}
	return 0
}
