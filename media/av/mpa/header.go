package mpa

// Header is what a frame says about itself.
type Header struct {
	Codec    string // "mp3", "mp2", "mp1" or "aac"
	Rate     int    // samples of each channel a second
	Channels int    // 0: an AAC frame says it further on
	Size     int    // bytes, with the header
	Samples  int    // of each channel

	version, layer int
}

// Need is how many bytes Parse needs to see.
const Need = 7

var rates = [4][3]int{0: {11025, 12000, 8000}, 2: {22050, 24000, 16000}, 3: {44100, 48000, 32000}}

// kilobits are those of a second, by version 1 or later, and layer from I on.
var kilobits = [2][3][15]int{
	{
		{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	},
	{
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
	},
}

var aacRates = [...]int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// AACRate is the rate that AAC has by its number (ISO 14496-3, table 1.18); 0: there is
// none of that number.
func AACRate(n int) int {
	if n < 0 || n >= len(aacRates) {
		return 0
	}
	return aacRates[n]
}

// Parse reads the header of a frame. It reports whether there is one: frames of free
// format, which do not say their length, are none.
func Parse(b []byte) (Header, bool) {
	if len(b) < Need || b[0] != 0xFF || b[1]&0xE0 != 0xE0 {
		return Header{}, false
	}
	version, layer := int(b[1]>>3&3), int(b[1]>>1&3)
	if layer == 0 {
		return adts(b)
	}
	bits, rate := int(b[2]>>4), int(b[2]>>2&3)
	if version == 1 || bits == 0 || bits == 15 || rate == 3 {
		return Header{}, false
	}

	layer = 4 - layer
	h := Header{Rate: rates[version][rate], Channels: 2, version: version, layer: layer}
	if b[3]>>6 == 3 {
		h.Channels = 1
	}
	later := 0
	if version != 3 {
		later = 1
	}
	rateBits, padding := 1000*kilobits[later][layer-1][bits], int(b[2]>>1&1)
	switch layer {
	case 1:
		h.Codec, h.Samples, h.Size = "mp1", 384, (12*rateBits/h.Rate+padding)*4
	case 2:
		h.Codec, h.Samples, h.Size = "mp2", 1152, 144*rateBits/h.Rate+padding
	default:
		h.Codec, h.Samples = "mp3", 1152>>later
		h.Size = h.Samples/8*rateBits/h.Rate + padding
	}
	return h, h.Size > 4
}

// adts reads the header of an AAC frame.
func adts(b []byte) (Header, bool) {
	rate := AACRate(int(b[2] >> 2 & 15))
	if b[1]&0xF6 != 0xF0 || rate == 0 {
		return Header{}, false
	}
	h := Header{
		Codec: "aac", Rate: rate, Channels: int(b[2]&1)<<2 | int(b[3]>>6),
		Size:    int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5]>>5),
		Samples: 1024 * (int(b[6]&3) + 1),
	}
	if h.Channels == 7 {
		h.Channels = 8
	}
	return h, h.Size > Need
}

// follows reports whether a frame can come after one of the same stream.
func (h Header) follows(first Header) bool {
	return h.Codec == first.Codec && h.Rate == first.Rate && h.version == first.version
}
