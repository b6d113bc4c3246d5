package coded

import (
	"encoding/binary"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mpa"
	"github.com/headrace/headrace/media/av/vorbis"
)

// counts says how many samples each packet gives, once decoded: every one as many as
// each, or those of its own. Where neither is known it reports false.
func (t *Track) counts() (each int, own []int32, ok bool) {
	if t.fixedBy > 0 {
		return t.fixedBy, nil, true
	}
	switch t.Decoder.Codec {
	case "mp3", "mp2", "mp1":
		if len(t.Packets) > 0 {
			if h, ok := mpa.Parse(t.bytes(&t.Packets[0])); ok {
				return h.Samples, nil, true
			}
		}
	case "ac3":
		return 1536, nil, true
	case "opus":
		return t.each(opusSamples)
	case "flac":
		return t.each(flacSamples)
	case "vorbis":
		return t.vorbis()
	case "alac":
		return t.alac()
	}
	if width := pcmBytes[t.Decoder.Codec] * t.Decoder.Channels; width > 0 {
		own := make([]int32, len(t.Packets))
		for i := range own {
			own[i] = t.Packets[i].size / int32(width)
		}
		return 0, own, true
	}
	return 0, nil, false
}

// each counts by what is in a packet.
func (t *Track) each(count func([]byte) int) (int, []int32, bool) {
	own := make([]int32, len(t.Packets))
	for i := range own {
		n := count(t.bytes(&t.Packets[i]))
		if n <= 0 && t.keep {
			n = t.guessed(i, own)
		}
		if n <= 0 {
			return 0, nil, false
		}
		own[i] = int32(n)
	}
	return 0, own, true
}

var pcmBytes = map[string]int{
	"pcm_u8": 1, "pcm_s8": 1, "pcm_mulaw": 1, "pcm_alaw": 1, "pcm_s16le": 2, "pcm_s16be": 2, "pcm_s24le": 3, "pcm_s24be": 3,
	"pcm_u16le": 2, "pcm_u16be": 2, "pcm_u24le": 3, "pcm_u24be": 3, "pcm_u32le": 4, "pcm_u32be": 4,
	"pcm_s32le": 4, "pcm_s32be": 4, "pcm_f32le": 4, "pcm_f32be": 4, "pcm_f64le": 8, "pcm_f64be": 8,
}

// vorbis counts the samples of packets of Vorbis.
func (t *Track) vorbis() (int, []int32, bool) {
	blocks := vorbis.NewBlocks(t.Decoder.Config)
	if blocks == nil {
		return 0, nil, false
	}
	own := make([]int32, len(t.Packets))
	for i := range own {
		n := blocks.Samples(t.bytes(&t.Packets[i]))
		if n < 0 && t.keep {
			n = t.guessed(i, own)
		}
		if n < 0 {
			return 0, nil, false
		}
		own[i] = int32(n)
	}
	return 0, own, true
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

// alac: all packets but the last have the samples that the configuration says. Its length
// is in its own header, or is the container's.
func (t *Track) alac() (int, []int32, bool) {
	each := alacEach(t.Decoder.Config)
	if each == 0 || len(t.Packets) == 0 {
		return 0, nil, false
	}
	own := make([]int32, len(t.Packets))
	for i := range own {
		own[i] = int32(each)
	}
	last := len(own) - 1
	own[last] = int32(alacSamples(t.Decoder.Config, t.bytes(&t.Packets[last])))
	if own[last] <= 0 && t.keep {
		own[last] = int32(each)
	}
	return 0, own, own[last] > 0
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

// declared is how many samples of the last packet the container says are part of the
// recording; -1 if its times are not of samples.
func (t *Track) declared() int64 {
	rate := int32(t.Decoder.Rate)
	if len(t.Packets) == 0 || t.unit.Num != 1 || rate <= 0 || t.unit.Den > 1<<20 {
		return -1
	}
	if t.unit.Den%rate != 0 && (rate%t.unit.Den != 0 || t.unit.Den < leastRate) {
		return -1
	}
	d := int64(t.Packets[len(t.Packets)-1].duration)
	if d == 0 {
		return -1
	}
	return av.Rescale(d, t.unit, av.Rational{Num: 1, Den: rate}, av.Nearest)
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

// leastRate is that of what is recorded: a track that counts slower counts no samples.
const leastRate = 8000

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
