package wav

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"
	"unsafe"
)

// coding makes numbers from -1 to 1 of samples.
type coding func(to []float32, from []byte)

// codings are those that are known, by code and bytes of a sample; of the second kind,
// numbers have their highest byte first.
var codings = [2]map[int]map[int]coding{{
	codePCM:   {1: pcm8, 2: pcm16, 3: pcm24, 4: pcm32},
	codeFloat: {4: float, 8: double},
	codeALaw:  {1: aLaw},
	codeMuLaw: {1: muLaw},
}, {
	codePCM:   {1: pcm8, 2: pcm16Big, 3: pcm24Big, 4: pcm32Big},
	codeFloat: {4: floatBig, 8: doubleBig},
	codeALaw:  {1: aLaw},
	codeMuLaw: {1: muLaw},
}}

// codingOf returns nil if there is none.
func codingOf(code, width int, big bool) coding {
	if big {
		return codings[1][code][width]
	}
	return codings[0][code][width]
}

// Read implements sound.Stream.
func (f *File) Read(to []float32, from int64) error {
	n := int64(f.info.Channels)
	if len(to) == 0 {
		return nil
	}
	if from < 0 || int64(len(to))%n != 0 || from > f.info.Samples-int64(len(to))/n {
		return fmt.Errorf("wav: samples %d to %d are asked for, of %d", from, from+int64(len(to))/n, f.info.Samples)
	}
	for _, p := range f.parts {
		if from >= p.samples {
			from -= p.samples
			continue
		}
		k := min(int64(len(to)), (p.samples-from)*n)
		if err := f.read(to[:k], p.at+from*n*int64(f.width)); err != nil {
			return err
		}
		if to, from = to[k:], 0; len(to) == 0 {
			break
		}
	}
	return nil
}

// read decodes samples from a place in the file on.
func (f *File) read(to []float32, at int64) error {
	file := f.content.File()
	if file == nil {
		coded, err := f.content.Bytes(at, len(to)*f.width)
		f.coding(to, coded)
		return err
	}
	piece := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(piece)
	for len(to) > 0 {
		k := min(len(to), pieceSize/f.width)
		coded := piece[:k*f.width]
		if _, err := file.ReadAt(coded, at); err == io.EOF {
			return fmt.Errorf("%w: it became shorter while it was read", errWAV)
		} else if err != nil {
			return err
		}
		f.coding(to[:k], coded)
		to, at = to[k:], at+int64(len(coded))
	}
	return nil
}

// pieceSize is how many bytes of a file are read at once: the processor's cache has room
// for them until they are converted.
const pieceSize = 64 << 10

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

func pcm8(to []float32, from []byte) {
	for i := range to {
		to[i] = float32(int(from[i])-128) / 128
	}
}

// pcm16 takes four at a time: a load and a test of bounds for each would take longer than
// the conversion.
func pcm16(to []float32, from []byte) {
	from = from[:2*len(to)]
	for len(to) >= 4 {
		four, v := to[:4], binary.LittleEndian.Uint64(from)
		four[0] = float32(int16(v)) / (1 << 15)
		four[1] = float32(int16(v>>16)) / (1 << 15)
		four[2] = float32(int16(v>>32)) / (1 << 15)
		four[3] = float32(int64(v)>>48) / (1 << 15)
		to, from = to[4:], from[8:]
	}
	for i := range to {
		to[i] = float32(int16(binary.LittleEndian.Uint16(from[2*i:]))) / (1 << 15)
	}
}

func pcm24(to []float32, from []byte) {
	from = from[:3*len(to)]
	for i := range to {
		b := from[3*i : 3*i+3]
		to[i] = float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
	}
}

func pcm32(to []float32, from []byte) {
	from = from[:4*len(to)]
	for len(to) >= 2 {
		two, v := to[:2], binary.LittleEndian.Uint64(from)
		two[0] = float32(int32(v)) / (1 << 31)
		two[1] = float32(int64(v)>>32) / (1 << 31)
		to, from = to[2:], from[8:]
	}
	if len(to) > 0 {
		to[0] = float32(int32(binary.LittleEndian.Uint32(from))) / (1 << 31)
	}
}

func float(to []float32, from []byte) {
	if len(to) > 0 { // they are what the machine has
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&to[0])), 4*len(to)), from)
	}
}

func double(to []float32, from []byte) {
	from = from[:8*len(to)]
	for i := range to {
		to[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:])))
	}
}

// signed8 is PCM of 8 bits in files that are not WAV.
func signed8(to []float32, from []byte) {
	for i := range to {
		to[i] = float32(int8(from[i])) / 128
	}
}

func pcm16Big(to []float32, from []byte) {
	from = from[:2*len(to)]
	for i := range to {
		to[i] = float32(int16(binary.BigEndian.Uint16(from[2*i:]))) / (1 << 15)
	}
}

func pcm24Big(to []float32, from []byte) {
	from = from[:3*len(to)]
	for i := range to {
		b := from[3*i : 3*i+3]
		to[i] = float32(int32(uint32(b[2])<<8|uint32(b[1])<<16|uint32(b[0])<<24)>>8) / (1 << 23)
	}
}

func pcm32Big(to []float32, from []byte) {
	from = from[:4*len(to)]
	for i := range to {
		to[i] = float32(int32(binary.BigEndian.Uint32(from[4*i:]))) / (1 << 31)
	}
}

func floatBig(to []float32, from []byte) {
	from = from[:4*len(to)]
	for i := range to {
		to[i] = math.Float32frombits(binary.BigEndian.Uint32(from[4*i:]))
	}
}

func doubleBig(to []float32, from []byte) {
	from = from[:8*len(to)]
	for i := range to {
		to[i] = float32(math.Float64frombits(binary.BigEndian.Uint64(from[8*i:])))
	}
}

// rightAligned is PCM whose samples are the lowest bytes of larger numbers.
func rightAligned(width, wide int) coding {
	unused := 8 * (4 - width)
	scale := float32(int64(1) << (8*width - 1))
	return func(to []float32, from []byte) {
		var number [4]byte
		for i := range to {
			copy(number[:], from[wide*i:][:width])
			to[i] = float32(int32(binary.LittleEndian.Uint32(number[:])<<unused)>>unused) / scale
		}
	}
}

// aLaw and muLaw are the codings of ITU-T G.711, by table.
func aLaw(to []float32, from []byte)  { look(&aLawed, to, from) }
func muLaw(to []float32, from []byte) { look(&muLawed, to, from) }

func look(table *[256]float32, to []float32, from []byte) {
	for i := range to {
		to[i] = table[from[i]]
	}
}

var aLawed, muLawed = g711()

func g711() (a, mu [256]float32) {
	for i := range 256 {
		v := i ^ 0x55
		n := v&15<<4 + 8
		if segment := v >> 4 & 7; segment > 0 {
			n = (n + 256) << (segment - 1)
		}
		if v&128 == 0 {
			n = -n
		}
		a[i] = float32(n) / (1 << 15)

		v = ^i & 255
		n = (v&15<<3+132)<<(v>>4&7) - 132
		if v&128 != 0 {
			n = -n
		}
		mu[i] = float32(n) / (1 << 15)
	}
	return a, mu
}
