package coded

import (
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
		return t.each(opusSamples, 1)
	case "flac":
		return t.each(flacSamples, 1)
	case "vorbis":
		if blocks := vorbis.NewBlocks(t.Decoder.Config); blocks != nil {
			return t.each(blocks.Samples, 0) // the first packet gives none
		}
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

// each counts by what is in a packet, if every one gives that many or more.
func (t *Track) each(count func([]byte) int, least int) (int, []int32, bool) {
	own := make([]int32, len(t.Packets))
	for i := range own {
		n := count(t.bytes(&t.Packets[i]))
		if n < least && t.keep {
			n = t.guessed(i, own)
		}
		if n < least {
			return 0, nil, false
		}
		own[i] = int32(n)
	}
	return 0, own, true
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

// leastRate is that of what is recorded: a track that counts slower counts no samples.
const leastRate = 8000
