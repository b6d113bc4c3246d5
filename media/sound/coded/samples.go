package coded

import (
	"encoding/binary"

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

var pcmBytes = map[string]int{
	"pcm_u8": 1, "pcm_s8": 1, "pcm_mulaw": 1, "pcm_alaw": 1, "pcm_s16le": 2, "pcm_s16be": 2, "pcm_s24le": 3, "pcm_s24be": 3,
	"pcm_u16le": 2, "pcm_u16be": 2, "pcm_u24le": 3, "pcm_u24be": 3, "pcm_u32le": 4, "pcm_u32be": 4,
	"pcm_s32le": 4, "pcm_s32be": 4, "pcm_f32le": 4, "pcm_f32be": 4, "pcm_f64le": 8, "pcm_f64be": 8,
}

// opusSamples reads the first byte of a packet of Opus (RFC 6716, 3.1), at 48 kHz.
func opusSamples(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	config, frames := b[0]>>3, 1
	switch b[0] & 3 {
	case 1, 2:
		frames = 2
	case 3:
		if len(b) < 2 {
			return 0
		}
		frames = int(b[1] & 63)
	}
	switch {
	case config >= 16:
		return frames * (120 << (config & 3))
	case config >= 12:
		return frames * (480 << (config & 1))
	case config&3 == 3:
		return frames * 2880
	}
	return frames * (480 << (config & 3))
}

// opusRate is how many samples a second decoders of Opus give.
const opusRate = 48000

// preSkip is how many samples come before the recording, by the header of Opus (RFC
// 7845).
func preSkip(config []byte) int64 {
	if len(config) < 12 || string(config[:8]) != "OpusHead" {
		return 0
	}
	return int64(binary.LittleEndian.Uint16(config[10:]))
}

// flacSamples reads the header of a frame of FLAC (RFC 9639, 9.1).
func flacSamples(b []byte) int {
	if len(b) < 6 || b[0] != 0xFF || b[1]&0xFE != 0xF8 {
		return 0
	}
	code := b[2] >> 4
	switch {
	case code == 1:
		return 192
	case code >= 2 && code <= 5:
		return 576 << (code - 2)
	case code >= 8:
		return 256 << (code - 8)
	case code == 0:
		return 0
	}
	at := 5 // after a number as UTF-8 has it
	for bit := byte(0x40); b[4]&0x80 != 0 && b[4]&bit != 0 && bit > 1; bit >>= 1 {
		at++
	}
	switch {
	case code == 6 && len(b) > at:
		return int(b[at]) + 1
	case code == 7 && len(b) > at+1:
		return int(binary.BigEndian.Uint16(b[at:])) + 1
	}
	return 0
}

// alacEach is how many samples a packet of ALAC gives that does not say it itself.
func alacEach(config []byte) int {
	if len(config) < 16 {
		return 0
	}
	if each := binary.BigEndian.Uint32(config[12:]); each <= 1<<20 {
		return int(each)
	}
	return 0
}

// alacSamples reads the header of a packet of ALAC. It returns 0 where that is none.
func alacSamples(config, b []byte) int {
	if len(b) < 8 || b[0]>>5 > 1 { // an element of one channel or of two comes first
		return 0
	}
	if b[2]>>4&1 != 0 {
		return max(0, int(int32(binary.BigEndian.Uint64(b)<<23>>32))) // after 23 bits
	}
	return alacEach(config)
}

// wmaDelay is how many samples a decoder of WMA gives before the first: two of its
// frames.
func wmaDelay(codec string, rate int) int64 {
	first := codec == "wmav1"
	switch {
	case !first && codec != "wmav2":
		return 0
	case rate <= 16000:
		return 2 << 9
	case rate <= 22050 || first && rate <= 32000:
		return 2 << 10
	}
	return 2 << 11
}
